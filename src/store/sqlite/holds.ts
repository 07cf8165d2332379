import { SluiceError } from '../../errors.ts'
import {
  type Hold,
  type HoldActor,
  type Holdable,
  isActive,
  type LabelNames,
  latestFirst,
  pastHoldsMax,
  stops,
} from '../../hold.ts'
import { type HoldChange, nobody } from '../../store.ts'
import type { Database, Row } from './database.ts'

/** The standing orders. There are few, so that all are kept in memory. */
export class Holds {
  readonly #database: Database
  #holds: readonly Hold[] | null = null

  constructor(database: Database) {
    this.#database = database
    database.onForget(() => {
      this.#holds = null
    })
  }

  standing(now: number): readonly Hold[] {
    const holds = this.#all()
    return holds.every((hold) => isActive(hold, now)) ? holds : holds.filter((hold) => isActive(hold, now))
  }

  stands(id: number, now: number): boolean {
    return this.#all().some((hold) => hold.id === id && isActive(hold, now))
  }

  over(entity: Holdable, holdable: boolean, labelNames: LabelNames, now: number): readonly Hold[] {
    return this.#all().filter((hold) => stops(hold, entity, holdable, labelNames, now))
  }

  /** When the next one ends by itself: what it held may be claimed from then on. */
  nextEnd(now: number): number | null {
    const ends = this.standing(now).flatMap(({ until }) => until ?? [])
    return ends.length > 0 ? Math.min(...ends) : null
  }

  /** Those that have ended; one whose time is over may still stand in the table of the others. */
  past(limit: number, now: number): readonly Hold[] {
    const expired = this.#all()
      .filter((hold) => !isActive(hold, now))
      .map((hold) => ({ ...hold, ended: { at: hold.until ?? now, by: null } }))
    const rows = this.#database.all(`${selectPast} ORDER BY ended_at DESC, id DESC LIMIT ?`, limit)
    const ended = rows.map((row) => ({
      ...holdOf(row),
      ended: { at: row[7] as number, by: row[8] === null ? null : actorOf(row[8] as string) },
    }))
    return [...expired, ...ended].sort(latestFirst).slice(0, limit)
  }

  change(change: HoldChange, now: number): void {
    this.#bury(now)
    if ('lift' in change) {
      // Lifting twice is no fault: the answer of the first may have been lost.
      this.#database.run(`${bury} ?, ? FROM hold WHERE id = ?`, now, actorText(change.by ?? nobody), change.lift)
      this.#database.run('DELETE FROM hold WHERE id = ?', change.lift)
      return
    }
    const { set: scope, reason, owner, until, by = nobody } = change
    if (Object.values(scope).every((part) => part === undefined)) {
      throw new SluiceError('invalid', 'A hold must name a machine, a state, a parent, an entity or a label.', {
        scope,
      })
    }
    const id = this.#database.take('hold', 1)
    this.#database.run(
      'INSERT INTO hold (id, scope, reason, owner, until, since, set_by) VALUES (?, ?, ?, ?, ?, ?, ?)',
      id,
      JSON.stringify(scope),
      reason,
      owner,
      until,
      now,
      actorText(by),
    )
  }

  /** What has ended by itself goes where the ended ones are, of which only so many are kept. */
  #bury(now: number): void {
    this.#holds = null
    this.#database.run(`${bury} until, NULL FROM hold WHERE until <= ?`, now)
    this.#database.run('DELETE FROM hold WHERE until <= ?', now)
    this.#database.run(
      `DELETE FROM past_hold WHERE id IN (SELECT id FROM past_hold ORDER BY ended_at DESC, id DESC LIMIT -1 OFFSET ${pastHoldsMax})`,
    )
  }

  #all(): readonly Hold[] {
    this.#holds ??= this.#database
      .all('SELECT id, scope, reason, owner, until, since, set_by FROM hold ORDER BY id')
      .map(holdOf)
    return this.#holds
  }
}

const selectPast = 'SELECT id, scope, reason, owner, until, since, set_by, ended_at, ended_by FROM past_hold'
const bury = `INSERT OR REPLACE INTO past_hold (id, scope, reason, owner, until, since, set_by, ended_at, ended_by)
  SELECT id, scope, reason, owner, until, since, set_by,`

function holdOf([id, scope, reason, owner, until, since, by]: Row): Hold {
  return {
    id: id as number,
    scope: JSON.parse(scope as string),
    reason: reason as string,
    owner: owner as string,
    until: until as number | null,
    since: since as number,
    by: by === null ? nobody : actorOf(by as string),
    ended: null,
  }
}

function actorText({ actor, role, reason, requestId }: HoldActor): string {
  return JSON.stringify([actor, role, reason, requestId])
}

function actorOf(text: string): HoldActor {
  const [actor, role, reason, requestId] = JSON.parse(text)
  return { actor, role, reason, requestId }
}
