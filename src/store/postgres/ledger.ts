import type { EntityId } from '../../entity.ts'
import type { LaneFigure } from '../../lane.ts'
import type { Limits } from '../../limits.ts'
import type { Signal } from '../../store.ts'
import { Changes } from './changes.ts'
import type { Session } from './database.ts'
import type { Desk } from './desk.ts'
import type { Dictionary } from './dictionary.ts'
import type { Facts, Holds } from './facts.ts'
import { Lanes } from './lanes.ts'
import { Lines } from './lines.ts'
import { Missing } from './need.ts'
import { Pools } from './pools.ts'
import { type EntityRow, figureOf } from './row.ts'
import { Stagings } from './stagings.ts'
import type { Stock } from './stock.ts'
import { Writing } from './writing.ts'

/**
 * One decision over what a transaction has read. It is taken in memory, without waiting; what it changes is written at its end. If it
 * meets something that was not read, it is thrown away, and taken anew when that is there.
 */
export class Ledger {
  readonly dictionary: Dictionary
  readonly limits: Limits
  readonly facts: Facts
  readonly holds: Holds
  readonly lanes: Lanes
  readonly lines: Lines
  readonly pools: Pools
  readonly stagings: Stagings
  readonly changes = new Changes()
  readonly writing = new Writing()
  readonly #stock: Stock
  readonly #rows = new Map<EntityId, EntityRow>()
  readonly #born = new Map<string, EntityId>()
  readonly #ids: readonly EntityId[]
  readonly #hints: Record<keyof Signal, boolean> = { work: false, due: false, ended: false }
  #nextId = 0

  constructor(desk: Desk, facts: Facts, stock: Stock, ids: Ids) {
    this.dictionary = desk.dictionary
    this.limits = desk.limits
    this.facts = facts
    this.holds = facts.holds
    this.#stock = stock
    this.#ids = ids.entities
    this.lanes = new Lanes(stock, desk.dictionary, desk.limits.reasonsMax, (hint) => this.hint(hint))
    this.lines = new Lines(stock, desk.sharedLines)
    this.pools = new Pools(stock)
    let staging = 0
    this.stagings = new Stagings(stock, facts.stagings, () => ids.stagings[staging++]!)
  }

  get now(): number {
    return this.facts.now
  }

  hint(hint: keyof Signal): void {
    this.#hints[hint] = true
  }

  /** Null: there is nothing to look at. */
  hints(): Signal | null {
    const { work, due, ended } = this.#hints
    return work || due || ended ? this.#hints : null
  }

  /** A copy of its own for this decision. */
  row(id: EntityId): EntityRow | null {
    const known = this.#rows.get(id)
    if (known) return known
    const read = this.#stock.rows.get(id)
    if (read === undefined) throw new Missing({ kind: 'rows', ids: [id] })
    if (read === null) return null
    const row = { ...read }
    this.#rows.set(id, row)
    return row
  }

  /** What this source has spawned under this ordinal. */
  child(source: EntityId, ordinal: number): EntityRow | null {
    const key = `${source}/${ordinal}`
    const born = this.#born.get(key)
    if (born !== undefined) return this.#rows.get(born) ?? null
    const id = this.#stock.children.get(key)
    if (id === undefined) throw new Missing({ kind: 'children', source, ordinals: [ordinal] })
    return id === null ? null : this.row(id)
  }

  /** Rows that this source has staged from an ordinal on. */
  surplus(source: EntityId, from: number, staging: number): readonly EntityRow[] {
    const ids = this.#stock.surpluses.get(`${source}/${from}`)
    if (!ids) throw new Missing({ kind: 'surplus', source, from, staging })
    const before = ids.flatMap((id) => this.row(id) ?? [])
    const news = [...this.#born.values()].flatMap((id) => {
      const row = this.#rows.get(id)
      return row && row.source === source && row.ordinal !== null && row.ordinal >= from && row.staging === staging
        ? [row]
        : []
    })
    return [...before, ...news]
  }

  newId(): EntityId {
    const id = this.#ids[this.#nextId]
    if (id === undefined) throw new Error('More entities are born than there are numbers for.')
    this.#nextId += 1
    return id
  }

  bear(row: EntityRow): void {
    this.#rows.set(row.id, row)
    if (row.source !== null) this.#born.set(`${row.source}/${row.ordinal}`, row.id)
    this.writing.bear(row)
    if (row.key !== null) this.pools.takeKey(row.key, row.id)
  }

  /** Gone as if it had never been. */
  remove(row: EntityRow): void {
    this.writing.remove(row)
    this.#rows.delete(row.id)
    if (row.source !== null) this.#born.delete(`${row.source}/${row.ordinal}`)
  }

  isPurging(row: EntityRow): boolean {
    const { purging } = this.facts
    if (purging.size === 0) return false
    if (purging.has(row.id)) return true
    for (let above = this.lanes.byId(row.lane).lane.parent; above !== null; ) {
      if (purging.has(above)) return true
      const parent = this.row(above)
      above = parent ? this.lanes.byId(parent.lane).lane.parent : null
    }
    return false
  }

  figure(row: EntityRow): LaneFigure {
    return figureOf(row, this.dictionary)
  }

  /** One more move in its history, and in the feed. */
  record(row: EntityRow, path: number, actor: string | null, error: string | null): void {
    const rest = actor === null && error === null ? '' : `,${actor ?? 'null'},${JSON.stringify(error)}`
    // Clocks differ a little between processes; the history of an entity does not step back.
    const at = Math.max(this.now, row.changedAt)
    this.writing.record(row, `[${row.seq},${row.epoch},${row.generation},${at},${path}${rest}]\n`)
    this.changes.moved(row.id, row.seq)
  }

  /** Entities, then pools, then lanes: the order of all locks. */
  flush(session: Session): void {
    this.writing.flush(session)
    this.stagings.flush(session)
    this.lines.flush(session)
    this.pools.flush(session)
    this.lanes.flush(session)
  }
}

/** Numbers that were drawn for what a decision may bring forth. */
export interface Ids {
  readonly entities: readonly EntityId[]
  readonly stagings: readonly number[]
}

/** Takes a decision as often as it takes to read what it needs. */
export async function decided<Result>(
  stock: Stock,
  begin: () => Ledger,
  decide: (ledger: Ledger) => Result,
): Promise<{ readonly ledger: Ledger; readonly result: Result }> {
  for (let attempts = 0; ; attempts += 1) {
    const ledger = begin()
    try {
      return { ledger, result: decide(ledger) }
    } catch (error) {
      if (!(error instanceof Missing) || attempts > 10_000) throw error
      await stock.load(error.need)
    }
  }
}
