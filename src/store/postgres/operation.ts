import type { Session } from './database.ts'
import type { Question } from './facts.ts'

/** What an operation of this name answered before. */
export interface Answered {
  readonly verdicts: string
  readonly at: number
}

/**
 * What an operation's transaction asks first: whoever repeats the operation after a lost answer finds the verdicts of the first attempt. If
 * that has not ended yet, he finds nothing and does it all again, until he enters it at the end: there names are unique, so he waits, is
 * undone, and asks again. Null: it is new.
 */
export function wasDone(name: string): Question {
  return { sql: '(SELECT json_build_array(verdicts, at) FROM operation WHERE name = $1)', values: [name] }
}

export function answeredIn(answer: unknown): Answered | null {
  if (answer === null) return null
  const [verdicts, at] = answer as [string, number]
  return { verdicts, at }
}

/** Older than answers are kept: as if it had never been. */
export function forget(session: Session, name: string): void {
  session.send('DELETE FROM operation WHERE name = $1', [name])
}

/**
 * The last thing before the commit. The position is drawn now, when every lock has been got: so whatever this transaction saw, or waited
 * for, has a lower one. Before that a lock is taken that names the latest position: until the commit is seen by all, readers of the feed
 * go no further than that.
 */
export function end(
  session: Session,
  name: string | null,
  verdicts: string | null,
  changes: string,
  now: number,
): void {
  session.send(enter, [name, now, verdicts, changes])
}

/** The same without having asked for the latest time: it is as late as that one at least. */
export function enterNotBefore(session: Session, name: string, verdicts: string, changes: string, now: number): void {
  session.send(enterLate, [name, now, verdicts, changes])
}

/** The birth of one entity, whose id was drawn by the statement before. */
export function enterBirth(session: Session, name: string, now: number): void {
  session.send(enterBorn, [name, now])
}

/** One that nobody repeats, for the feed only. */
export function note(session: Session, changes: string, now: number): void {
  end(session, null, null, changes, now)
}

const feedClass = 'hashtext(current_schema())'
/** Keys of locks are small numbers: positions go round in them. */
const keys = 2 ** 31
/** Nothing comes out of the one before the lock is got, and only then the other draws. */
const enterAs = (at: string, verdicts = '$3', changes = '$4') => `WITH locked AS MATERIALIZED (
    SELECT pg_advisory_xact_lock_shared(${feedClass}, (last_value % ${keys})::int4) FROM feed_position)
  INSERT INTO operation (position, name, at, verdicts, changes)
  SELECT nextval('feed_position'), $1, ${at}, ${verdicts}, ${changes} FROM locked`
const notBefore = 'greatest($2::int8, (SELECT at FROM operation ORDER BY position DESC LIMIT 1))'
const drawn = "currval('entity_id')"
const enter = enterAs('$2::int8')
const enterLate = enterAs(notBefore)
const enterBorn = enterAs(notBefore, `'[{"kind":"saved","id":' || ${drawn} || '}]'`, `'[[0,' || ${drawn} || ',1]]'`)

/** Below it every operation is there or never will be. What is read must be read in a later snapshot. */
export async function horizon(session: Session): Promise<number> {
  // The latest position first: whoever is not seen among the locks yet will draw one beyond it.
  const [drawn, lowest] = await Promise.all([
    session.one('SELECT last_value FROM feed_position'),
    session.all(
      `SELECT objid::int8 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND granted
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND classid = (${feedClass}::int8 & 4294967295)::oid`,
    ),
  ])
  const last = drawn?.[0] as number
  const known = lowest.map(([key]) => last - ((((last - (key as number)) % keys) + keys) % keys))
  return Math.min(last, ...known) + 1
}
