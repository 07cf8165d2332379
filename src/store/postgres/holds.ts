import { SluiceError } from '../../errors.ts'
import { type Hold, type HoldActor, latestFirst, pastHoldsMax } from '../../hold.ts'
import { type HoldChange, type HoldQuery, nobody } from '../../store.ts'
import type { Session } from './database.ts'
import type { Desk } from './desk.ts'
import { actorOf, type Facts, type HoldColumns, Holds, holdOf } from './facts.ts'
import { noteTime } from './workers.ts'

const columns = 'id, scope, reason, owner, until, since, set_by'

/** The standing holds, after making or lifting one. Or so many that have ended, the latest first. */
export async function holds(desk: Desk, change?: HoldChange | HoldQuery): Promise<readonly Hold[]> {
  if (!change) return desk.read(async (_session, facts) => facts.holds.standing(facts.now))
  if ('past' in change) return desk.read((session, facts) => past(session, facts, change.past))
  check(change)
  const standing = await desk.write(async (session, { now }) => {
    bury(session, now)
    if ('lift' in change) lift(session, change, now)
    else set(session, change, now)
    noteTime(session, now)
    const rows = await session.all(`SELECT ${columns} FROM hold ORDER BY id`)
    return new Holds((rows as readonly unknown[] as readonly HoldColumns[]).map(holdOf)).standing(now)
  })
  // What was held may be claimable now.
  if ('lift' in change) desk.tell({ work: true, due: false, ended: false })
  return standing
}

function check(change: HoldChange): void {
  if ('lift' in change) return
  const { set: scope, reason, owner } = change
  if (Object.values(scope).every((part) => part === undefined)) {
    throw new SluiceError('invalid', 'A hold must name a machine, a state, a parent, an entity or a label.', {
      scope,
    })
  }
  for (const [name, text] of Object.entries({ reason, owner })) {
    if (text.includes('\u0000')) {
      throw new SluiceError('invalid', `The ${name} of a hold must not contain the character NUL.`, { field: name })
    }
  }
}

/** Those that have ended; one whose time is over may still stand in the table of the others. */
async function past(session: Session, { holds, now }: Facts, asked: number): Promise<readonly Hold[]> {
  const limit = Math.max(0, Math.min(asked, pastHoldsMax))
  const rows = await session.all(
    `SELECT ${columns}, ended_at, ended_by FROM past_hold ORDER BY ended_at DESC, id DESC LIMIT $1`,
    [limit],
  )
  const ended = rows.map((row) => {
    const [at, by] = row.slice(-2) as [number, string | null]
    return { ...holdOf(row as readonly unknown[] as HoldColumns), ended: { at, by: by === null ? null : actorOf(by) } }
  })
  const expired = holds.expired(now).map((hold) => ({ ...hold, ended: { at: hold.until ?? now, by: null } }))
  return [...expired, ...ended].sort(latestFirst).slice(0, limit)
}

/** What has ended by itself goes where the ended ones are, of which only so many are kept. */
function bury(session: Session, now: number): void {
  session.send(
    `WITH ended AS (DELETE FROM hold WHERE until <= $1 RETURNING ${columns})
     INSERT INTO past_hold (${columns}, ended_at, ended_by) SELECT ${columns}, until, NULL FROM ended ON CONFLICT (id) DO NOTHING`,
    [now],
  )
  session.send(
    `DELETE FROM past_hold WHERE id IN (SELECT id FROM past_hold ORDER BY ended_at DESC, id DESC OFFSET ${pastHoldsMax})`,
  )
}

/** Lifting twice is no fault: the answer of the first may have been lost. */
function lift(
  session: Session,
  { lift: id, by = nobody }: Extract<HoldChange, { readonly lift: number }>,
  now: number,
): void {
  if (!Number.isInteger(id) || Math.abs(id) >= 2 ** 31) return
  session.send(
    `WITH ended AS (DELETE FROM hold WHERE id = $1 RETURNING ${columns})
     INSERT INTO past_hold (${columns}, ended_at, ended_by) SELECT ${columns}, $2::int8, $3::text FROM ended ON CONFLICT (id) DO NOTHING`,
    [id, now, actorText(by)],
  )
}

function set(session: Session, change: Extract<HoldChange, { readonly set: unknown }>, now: number): void {
  const { set: scope, reason, owner, until, by = nobody } = change
  session.send(`INSERT INTO hold (${columns}) VALUES (nextval('hold_id'), $1, $2, $3, $4, $5, $6)`, [
    JSON.stringify(scope),
    reason,
    owner,
    until,
    now,
    actorText(by),
  ])
}

function actorText({ actor, role, reason, requestId }: HoldActor): string {
  return JSON.stringify([actor, role, reason, requestId])
}
