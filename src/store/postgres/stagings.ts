import type { EntityId } from '../../entity.ts'
import type { LaneFigure } from '../../lane.ts'
import type { Session } from './database.ts'
import { Missing } from './need.ts'
import { copyOf, countStaged, lanesText, type Staging } from './staging.ts'
import type { Stock } from './stock.ts'

/** What sources have staged and not published, in one decision. A staged row is unseen for as long as its staging stands. */
export class Stagings {
  readonly #stock: Stock
  readonly #open: Set<number>
  readonly #bySource = new Map<EntityId, Staging | null>()
  readonly #dirty = new Set<Staging>()
  readonly #closed: number[] = []
  readonly #newId: () => number

  constructor(stock: Stock, open: ReadonlySet<number>, newId: () => number) {
    this.#stock = stock
    this.#open = new Set(open)
    this.#newId = newId
  }

  /** Whether a row with this staging is unseen. */
  isOpen(staging: number | null): boolean {
    return staging !== null && this.#open.has(staging)
  }

  of(source: EntityId): Staging | null {
    const known = this.#bySource.get(source)
    if (known !== undefined) return known
    const read = this.#stock.stagings.get(source)
    if (read === undefined) throw new Missing({ kind: 'staging', source })
    const staging = read && copyOf(read)
    this.#bySource.set(source, staging)
    return staging
  }

  make(source: EntityId): Staging {
    const known = this.of(source)
    if (known) return known
    const staging: Staging = { id: this.#newId(), source, births: [], lanes: new Map() }
    this.#bySource.set(source, staging)
    this.#open.add(staging.id)
    this.#dirty.add(staging)
    return staging
  }

  born(staging: Staging, id: EntityId): void {
    const last = staging.births.at(-1)
    if (last && last[0] + last[1] === id) last[1] += 1
    else staging.births.push([id, 1])
    this.#dirty.add(staging)
  }

  add(staging: Staging, lane: number, machine: number, watches: readonly string[], figure: LaneFigure): void {
    let staged = staging.lanes.get(lane)
    if (!staged) {
      staged = { lane, machine, watches: [], figures: [] }
      staging.lanes.set(lane, staged)
    }
    const news = watches.filter((state) => !staged.watches.includes(state))
    if (news.length > 0) staged.watches = [...staged.watches, ...news]
    countStaged(staged, figure, 1)
    this.#dirty.add(staging)
  }

  /** It was replaced by its source's next attempt, or dropped. */
  take(staging: Staging, lane: number, figure: LaneFigure): void {
    const staged = staging.lanes.get(lane)
    if (staged) countStaged(staged, figure, -1)
    this.#dirty.add(staging)
  }

  /** From now on its rows are seen. */
  close(staging: Staging): void {
    this.#closed.push(staging.id)
    this.#dirty.delete(staging)
    this.#bySource.set(staging.source, null)
    this.#open.delete(staging.id)
  }

  flush(session: Session): void {
    if (this.#closed.length > 0) session.send('DELETE FROM staging WHERE id = ANY($1::int8[])', [this.#closed])
    for (const staging of this.#dirty) {
      session.send(
        `INSERT INTO staging (id, source, births, lanes) VALUES ($1, $2, $3, $4)
         ON CONFLICT (id) DO UPDATE SET births = excluded.births, lanes = excluded.lanes`,
        [staging.id, staging.source, JSON.stringify(staging.births), lanesText(staging)],
      )
    }
  }
}
