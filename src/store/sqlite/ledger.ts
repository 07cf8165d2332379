import type { Clock } from '../../clock.ts'
import type { Entity, EntityId } from '../../entity.ts'
import type { LaneFigure } from '../../lane.ts'
import type { Limits } from '../../limits.ts'
import type { Signal } from '../../store.ts'
import type { Database } from './database.ts'
import { Dictionary } from './dictionary.ts'
import { isRefusedValue } from './fault.ts'
import { Feed } from './feed.ts'
import { Holds } from './holds.ts'
import { Lanes } from './lanes.ts'
import { Lines } from './lines.ts'
import { Pools } from './pools.ts'
import { type EntityRow, entityOf, rowOf, selectRows, sumsOf } from './row.ts'
import { Stagings } from './stagings.ts'

/** Everything that one connection knows of its file, and the transactions in which it changes. */
export class Ledger {
  readonly database: Database
  readonly limits: Limits
  readonly dictionary: Dictionary
  readonly lanes: Lanes
  readonly lines: Lines
  readonly holds: Holds
  readonly pools: Pools
  readonly stagings: Stagings
  readonly feed: Feed
  readonly #clock: Clock
  readonly #tell: (signal: Signal) => void
  readonly #figures = new Map<number, LaneFigure>()
  #hints: Record<keyof Signal, boolean> | null = null
  #purging: ReadonlySet<EntityId> | null = null
  #existing: EntityId | null = null
  #isCareful = false
  #latestTime = 0
  #latestKnown = false

  constructor(database: Database, clock: Clock, limits: Limits, tell: (signal: Signal) => void) {
    this.database = database
    this.limits = limits
    this.#clock = clock
    this.#tell = tell
    this.dictionary = new Dictionary(database)
    this.lanes = new Lanes(database, this.dictionary, limits.reasonsMax, (hint) => this.hint(hint))
    this.lines = new Lines(database)
    this.holds = new Holds(database)
    this.pools = new Pools(database)
    this.stagings = new Stagings(database)
    this.feed = new Feed(database, this.dictionary, limits.operationMs)
    database.onForget((undone) => {
      if (undone) this.#figures.clear()
      this.#purging = null
      this.#hints = null
      this.#latestKnown = false
    })
  }

  /** One durable change. What was hinted at meanwhile is told once it is there for all to see. */
  write<Result>(work: (now: number) => Result): Result {
    const result = this.database.write(() => {
      this.#existing = null
      const result = work(this.#timeInside())
      this.flush()
      return result
    })
    this.lines.trim()
    const hints = this.#hints
    this.#hints = null
    if (hints) this.#tell(hints)
    return result
  }

  read<Result>(work: (now: number) => Result): Result {
    return this.database.read(() => work(this.#timeInside()))
  }

  flush(): void {
    this.lanes.flush()
    this.pools.flush()
    this.stagings.flush()
  }

  /**
   * A part of a write that the database may refuse for its values alone: then it is undone by itself, and the answer is
   * `refused`. What was noted before it is written first, so that it stands whatever happens.
   */
  carefully<Result>(work: () => Result, refused: Result): Result {
    this.flush()
    const noted = this.feed.noted()
    this.database.exec('SAVEPOINT one')
    this.#isCareful = true
    try {
      const result = work()
      this.flush()
      this.database.exec('RELEASE one')
      return result
    } catch (error) {
      if (!isRefusedValue(error)) throw error
      this.database.exec('ROLLBACK TO one')
      this.database.exec('RELEASE one')
      this.database.forget()
      this.feed.restore(noted)
      return refused
    } finally {
      this.#isCareful = false
    }
  }

  /** A statement that is refused must undo itself alone: what was written before it stands. */
  get isCareful(): boolean {
    return this.#isCareful
  }

  time(): number {
    this.#latestTime = Math.max(this.#latestTime, this.#clock.now())
    return this.#latestTime
  }

  /** Notes the time in the file, so that it does not step back after a restart. */
  noteTime(now: number): void {
    this.database.run("UPDATE counter SET value = ? WHERE name = 'time' AND value < ?", now, now)
  }

  hint(hint: keyof Signal): void {
    this.#hints ??= { work: false, due: false, ended: false }
    this.#hints[hint] = true
  }

  entity(row: EntityRow): Entity {
    return entityOf(row, this.lanes.byId(row.lane).lane, this.dictionary)
  }

  /** Rows as readers see them: what is staged is not there. */
  rows(ids: readonly EntityId[]): ReadonlyMap<EntityId, EntityRow> {
    const found = this.database.all(`${selectRows} WHERE id IN (SELECT value FROM json_each(?))`, JSON.stringify(ids))
    const rows = new Map<EntityId, EntityRow>()
    for (const values of found) {
      const row = rowOf(values)
      if (!this.stagings.isOpen(row.staging)) rows.set(row.id, row)
    }
    return rows
  }

  /** Asked of the same parent for every one of its children's moves. Nothing is removed in a write that moves. */
  exists(id: EntityId): boolean {
    if (this.#existing === id) return true
    if (this.database.get('SELECT 1 FROM entity WHERE id = ?', id) === undefined) return false
    this.#existing = id
    return true
  }

  /** What the row adds to its lane. Most add nothing but their state: these share one value. */
  figure(row: EntityRow): LaneFigure {
    if (row.reason !== null || row.sums !== null) {
      return {
        state: this.dictionary.text(row.state),
        settled: row.settled === 1,
        reason: row.reason,
        sums: sumsOf(row),
      }
    }
    const key = row.state * 2 + row.settled
    let figure = this.#figures.get(key)
    if (!figure) {
      figure = { state: this.dictionary.text(row.state), settled: row.settled === 1, reason: null, sums: null }
      this.#figures.set(key, figure)
    }
    return figure
  }

  /** Roots that are being purged: nothing of their trees is claimed or committed any more. */
  purging(): ReadonlySet<EntityId> {
    this.#purging ??= new Set(
      this.database.all('SELECT id FROM tombstone WHERE purged_at IS NULL').map(([id]) => id as number),
    )
    return this.#purging
  }

  forgetPurging(): void {
    this.#purging = null
  }

  isPurging(id: EntityId, lane: number): boolean {
    const purging = this.purging()
    if (purging.size === 0) return false
    if (purging.has(id)) return true
    for (let above = this.lanes.byId(lane).lane.parent; above !== null; ) {
      if (purging.has(above)) return true
      const next = this.database.number('SELECT lane FROM entity WHERE id = ?', above)
      above = next === null ? null : this.lanes.byId(next).lane.parent
    }
    return false
  }

  /** The latest time that any process has written, whatever this one's clock says. */
  #timeInside(): number {
    if (!this.#latestKnown) {
      const noted = this.database.number("SELECT value FROM counter WHERE name = 'time'") ?? 0
      this.#latestTime = Math.max(this.#latestTime, noted, this.feed.latestTime())
      this.#latestKnown = true
    }
    return this.time()
  }
}
