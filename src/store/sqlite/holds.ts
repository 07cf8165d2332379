import { SluiceError } from '../../errors.ts'
import { type Hold, type Holdable, isActive, type LabelNames, stops } from '../../hold.ts'
import type { HoldChange } from '../../store.ts'
import type { Database } from './database.ts'

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

  change(change: HoldChange, now: number): void {
    this.#holds = null
    this.#database.run('DELETE FROM hold WHERE until <= ?', now)
    if ('lift' in change) {
      // Lifting twice is no fault: the answer of the first may have been lost.
      this.#database.run('DELETE FROM hold WHERE id = ?', change.lift)
      return
    }
    const { set: scope, reason, owner, until } = change
    if (Object.values(scope).every((part) => part === undefined)) {
      throw new SluiceError('invalid', 'A hold must name a machine, a state, a parent, an entity or a label.', {
        scope,
      })
    }
    const id = this.#database.take('hold', 1)
    this.#database.run(
      'INSERT INTO hold (id, scope, reason, owner, until, since) VALUES (?, ?, ?, ?, ?, ?)',
      id,
      JSON.stringify(scope),
      reason,
      owner,
      until,
      now,
    )
  }

  #all(): readonly Hold[] {
    this.#holds ??= this.#database
      .all('SELECT id, scope, reason, owner, until, since FROM hold ORDER BY id')
      .map(([id, scope, reason, owner, until, since]) => ({
        id: id as number,
        scope: JSON.parse(scope as string),
        reason: reason as string,
        owner: owner as string,
        until: until as number | null,
        since: since as number,
      }))
    return this.#holds
  }
}
