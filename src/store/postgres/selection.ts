import type { EntityId } from '../../entity.ts'
import type { Lane } from '../../lane.ts'
import { type ClaimRequest, type ClaimRun, ceilingOf } from '../../store.ts'
import { type Candidate, Candidates, type Reading } from './candidates.ts'
import type { Session } from './database.ts'
import type { Desk } from './desk.ts'
import type { Facts } from './facts.ts'
import { laneColumns, laneOf, letsThrough } from './lane-row.ts'
import { type Line, runKey } from './line.ts'
import { type EntityRow, moreOf, waits } from './row.ts'
import { keyOf, type Served } from './served.ts'
import { type PoolColumns, type Stock, shareKey } from './stock.ts'

const avoidedLanesMax = 10_000

export interface Pick {
  readonly row: EntityRow
  readonly bytes: number
  readonly served: Served
}

/** Why a row cannot run now, and so in which line it stands from now on. */
export type Aside =
  | { readonly kind: 'lane'; readonly row: EntityRow; readonly served: Served }
  /** The worker leaves it to others, which find it in the line of its lane. */
  | { readonly kind: 'avoided'; readonly row: EntityRow; readonly served: Served }
  | { readonly kind: 'hold'; readonly row: EntityRow; readonly served: Served; readonly hold: number }
  | { readonly kind: 'pool' | 'label'; readonly row: EntityRow; readonly served: Served; readonly pool: string }

interface Limit {
  readonly name: string
  readonly ceiling: number
}

/** What a claim may have, judged row by row as the lines give them. Whatever is stopped is noted as standing aside. */
export class Selection {
  readonly #desk: Desk
  readonly #session: Session
  readonly #facts: Facts
  readonly #stock: Stock
  readonly #request: ClaimRequest
  readonly #lines: readonly Line[]
  readonly #lanes = new Map<number, Lane>()
  readonly #asides = new Map<EntityId, Aside>()
  readonly #empty: Line[] = []
  readonly served: readonly Served[]
  #cut = false
  #isExhausted = false
  #areOpen = false
  /** For the first that are read of those that are not suspects. */
  #ahead: Reading | null
  #emptied: Candidates<Served> | null = null

  constructor(
    desk: Desk,
    session: Session,
    facts: Facts,
    stock: Stock,
    request: ClaimRequest,
    served: readonly Served[],
    lines: readonly Line[],
    ahead: Reading | null,
  ) {
    this.#ahead = ahead
    this.#desk = desk
    this.#session = session
    this.#facts = facts
    this.#stock = stock
    this.#request = request
    this.served = served
    this.#lines = lines
  }

  get asides(): readonly Aside[] {
    return [...this.#asides.values()]
  }

  /** Something was left unread because enough had been put aside: there may be more to claim. */
  get cut(): boolean {
    return this.#cut
  }

  /** All lines were read to their ends, and whoever stood there was taken. */
  get isExhausted(): boolean {
    return this.#isExhausted
  }

  /** The claim is saved: the next one may begin behind it. */
  raiseFloors(): void {
    this.#emptied?.raiseFloors()
  }

  get empty(): readonly Line[] {
    return this.#empty
  }

  laneOf(row: EntityRow): Lane {
    return this.#lanes.get(row.lane)!
  }

  get hasSuspectLines(): boolean {
    return this.#lines.some(({ suspect }) => suspect)
  }

  ordinary(): Promise<readonly Pick[]> {
    return this.#pick(this.served, false)
  }

  /** The first suspects in rank order, of all runs or of one. */
  suspects(
    max: number,
    served: Served | null = null,
    but: ReadonlySet<EntityId> | null = null,
  ): Promise<readonly Pick[]> {
    return this.#pick(served ? [served] : this.served, true, max, but)
  }

  async #pick(
    served: readonly Served[],
    suspect: boolean,
    max = Number.POSITIVE_INFINITY,
    but: ReadonlySet<EntityId> | null = null,
  ): Promise<readonly Pick[]> {
    const { limits } = this.#desk
    const rowsMax = Math.min(max, this.#request.limit, limits.claimMax)
    const bytesMax = Math.min(this.#request.bytes, limits.claimBytesMax)
    const picks: Pick[] = []
    if (rowsMax < 1) return picks
    const candidates = await this.#open(served, suspect, rowsMax)
    const units = new Map<string, number>()
    const taken = new Map<Served, number>()
    const { avoid } = this.#request
    let passed = 0
    let bytes = 0
    for (;;) {
      const next = candidates.next()
      if (!next) {
        const [hasMore] = await Promise.all([candidates.refill(), this.#guessLanes()])
        if (!hasMore) break
        await this.#know(candidates.ahead())
        continue
      }
      const { row, line, tag } = next
      const { run } = tag
      if (this.#asides.has(row.id) || but?.has(row.id)) continue
      if (this.#facts.purging.size > 0 && (await this.#isPurging(row))) continue
      if (run.pool && this.#roomLeft(units, run.pool, row.id) < 1) {
        candidates.end(tag)
        continue
      }
      if (avoid && this.#isAvoided(row.lane, avoid)) {
        // A line of their own is passed by as a whole. Others are left soon, as more of them may follow.
        passed += 1
        if (line.kind === 'lane') this.#leave(row.lane)
        if (line.kind === 'lane' || passed > limits.asideMax) candidates.endLine(line)
        else if (line.kind === 'shared' && this.#asides.size < limits.asideMax) {
          this.#asides.set(row.id, { kind: 'avoided', row, served: tag })
          this.#stock.rows.set(row.id, row)
        }
        continue
      }
      const labelled = labelPool(row, run)
      const isFull = labelled !== null && this.#roomLeft(units, labelled, row.id) < 1
      const aside =
        this.#asideOf(row, tag) ?? (isFull ? ({ kind: 'label', row, served: tag, pool: labelled.name } as const) : null)
      if (aside && isSamePlace(aside, line)) {
        // All that stand in this line wait for the same pool, which this claim has just filled.
        candidates.endLine(line)
        continue
      }
      if (aside) {
        if (this.#asides.size >= limits.asideMax) {
          this.#cut = true
          break
        }
        this.#asides.set(row.id, aside)
        this.#stock.rows.set(row.id, row)
        continue
      }
      // The first is taken whatever its size: it must run some time.
      if (picks.length > 0 && bytes + next.bytes > bytesMax) break
      bytes += next.bytes
      if (run.pool) units.set(run.pool.name, (units.get(run.pool.name) ?? 0) + 1)
      if (labelled) units.set(labelled.name, (units.get(labelled.name) ?? 0) + 1)
      picks.push({ row, bytes: next.bytes, served: tag })
      if (picks.length >= rowsMax) break
      if (served.length > 1 || run.limit < rowsMax) {
        const count = (taken.get(tag) ?? 0) + 1
        taken.set(tag, count)
        if (count >= run.limit) candidates.end(tag)
      }
    }
    this.#empty.push(...candidates.empty)
    this.#isExhausted = this.#areOpen && candidates.all === picks.length
    if (!suspect && candidates.given === picks.length) this.#emptied = candidates
    return picks
  }

  async #open(served: readonly Served[], suspect: boolean, rowsMax: number): Promise<Candidates<Served>> {
    const byRun = new Map(served.filter(({ run }) => run.limit > 0).map((one) => [runKey(one), one]))
    const lines = this.#lines.flatMap((line) => {
      const tag = byRun.get(runKey(line))
      return tag && line.suspect === suspect ? [{ line, tag }] : []
    })
    const pools = [
      ...lines.flatMap(({ line }) => line.pool ?? []),
      ...served.flatMap(({ run }) => run.pool?.name ?? []),
    ]
    await this.#knowPools(pools)
    const open = lines.filter(({ line, tag }) => this.#isOpen(line, tag))
    this.#areOpen = open.length === this.#lines.length
    const { floors, clock } = this.#desk
    const ahead = suspect ? null : this.#ahead
    if (!suspect) this.#desk.linesLately = { served: keyOf(this.served), lines: open.map(({ line }) => line.id) }
    return new Candidates(this.#session, floors, clock.now(), open, rowsMax, ahead)
  }

  /** Everything that judging these rows will ask for, in one round trip. */
  async #know(ahead: Iterable<Candidate<Served>>): Promise<void> {
    const lanes = new Set<number>()
    const pools = new Set<string>()
    const shares: { pool: string; entity: EntityId }[] = []
    for (const { row, tag } of ahead) {
      if (!this.#isKnown(row.lane)) lanes.add(row.lane)
      for (const pool of [tag.run.pool, labelPool(row, tag.run)]) {
        if (!pool) continue
        pools.add(pool.name)
        if (!this.#stock.shares.has(shareKey(pool.name, row.id))) shares.push({ pool: pool.name, entity: row.id })
      }
      if (row.more === null) continue
      const { pool } = moreOf(row)
      if (pool !== undefined) pools.add(pool)
    }
    await Promise.all([
      this.#knowPools(pools),
      shares.length > 0 ? this.#stock.loadShares(shares) : undefined,
      lanes.size > 0 ? this.#knowLanes([...lanes]) : undefined,
    ])
  }

  async #knowPools(names: Iterable<string>): Promise<void> {
    const unknown = [...new Set(names)].filter((name) => !this.#stock.pools.has(name))
    if (unknown.length > 0) await this.#stock.loadPools(unknown)
  }

  /** Most are of the lanes that the last ones were of: those are asked for together with the rows. */
  #guessLanes(): Promise<void> | undefined {
    const lanes = this.#desk.lanesLately.filter((id) => !this.#isKnown(id))
    return lanes.length > 0 ? this.#knowLanes(lanes) : undefined
  }

  /** Only to judge by: whoever puts a row aside for its lane's sake asks again, under the lane's lock. */
  async #knowLanes(ids: readonly number[]): Promise<void> {
    const found = await this.#session.all(`SELECT ${laneColumns} FROM lane WHERE id = ANY($1::int8[])`, [ids])
    for (const row of found) {
      const { id, lane } = laneOf(row, this.#desk.dictionary)
      this.#lanes.set(id, lane)
      if (lane.parent === null) this.#desk.rootLanes.set(id, lane)
    }
  }

  /** Nobody gives orders over a lane of roots: as far as judging goes it is always what it was. */
  #isKnown(id: number): boolean {
    if (this.#lanes.has(id)) return true
    const root = this.#desk.rootLanes.get(id)
    if (root) this.#lanes.set(id, root)
    return root !== undefined
  }

  /** A line of what waits for a full pool, or for a hold to end, is passed by as a whole. */
  #isOpen(line: Line, { run }: Served): boolean {
    const { avoid } = this.#request
    if (avoid?.has(this.#desk.avoidedLanes.get(line.lane ?? 0) ?? 0)) return false
    const { pool } = run
    if (pool && this.#room(pool, null) < 1) return false
    if (line.hold !== null)
      return line.holdable !== run.holdable || !this.#facts.holds.stands(line.hold, this.#facts.now)
    if (line.pool === null) return true
    if (line.kind === 'pool') return this.#hasRoom(line.pool)
    // The limit may have been changed or dropped since they were put aside: then they are judged anew.
    const { poolPer } = run
    if (!poolPer || !line.pool.startsWith(`${poolPer.name}/`)) return true
    const ceiling = ceilingOf(poolPer, line.pool.slice(poolPer.name.length + 1))
    return this.#room({ name: line.pool, ceiling }, null) >= 1
  }

  /** Known before anybody stands at its head the next time: then the line is not read at all. */
  #leave(lane: number): void {
    const { avoidedLanes } = this.#desk
    if (avoidedLanes.size >= avoidedLanesMax) avoidedLanes.clear()
    avoidedLanes.set(lane, this.#lanes.get(lane)!.parent!)
  }

  #isAvoided(lane: number, avoid: ReadonlySet<EntityId>): boolean {
    const { parent } = this.#lanes.get(lane)!
    return parent !== null && avoid.has(parent)
  }

  #asideOf(row: EntityRow, served: Served): Aside | null {
    const lane = this.laneOf(row)
    if (!letsThrough(lane, row.wait === waits.gatedRun)) return { kind: 'lane', row, served }
    const { holds, now } = this.#facts
    const { dictionary } = this.#desk
    if (holds.standing(now).length > 0) {
      const { machine, holdable, passes } = served.run
      const labels = [row.label0, row.label1, row.label2, row.label3]
      const state = dictionary.text(row.state)
      const held = { id: row.id, machine, state, parent: lane.parent, labels, passes }
      const [hold] = holds.over(held, holdable, dictionary.labelNames, now)
      if (hold) return { kind: 'hold', row, served, hold: hold.id }
    }
    if (row.more === null) return null
    const { pool } = moreOf(row)
    return pool !== undefined && !this.#hasRoom(pool) ? { kind: 'pool', row, served, pool } : null
  }

  #pool(name: string): PoolColumns | null {
    return this.#stock.pools.get(name) ?? null
  }

  #hasRoom(name: string): boolean {
    const pool = this.#pool(name)
    return !pool || pool.taken < pool.ceiling
  }

  #room({ name, ceiling }: Limit, entity: EntityId | null): number {
    const pool = this.#pool(name)
    if (!pool || pool.taken === 0) return ceiling
    const own = entity === null ? 0 : (this.#stock.shares.get(shareKey(name, entity)) ?? 0)
    return ceiling - (pool.taken - own)
  }

  /** What is left of a pool after what this claim is about to take. */
  #roomLeft(units: ReadonlyMap<string, number>, limit: Limit, entity: EntityId): number {
    return this.#room(limit, entity) - (units.get(limit.name) ?? 0)
  }

  async #isPurging(row: EntityRow): Promise<boolean> {
    const { purging } = this.#facts
    if (purging.has(row.id)) return true
    for (let above = this.laneOf(row).parent; above !== null; ) {
      if (purging.has(above)) return true
      const found = await this.#session.one(
        'SELECT lane.parent FROM entity JOIN lane ON lane.id = entity.lane WHERE entity.id = $1',
        [above],
      )
      above = found ? (found[0] as EntityId | null) : null
    }
    return false
  }
}

function isSamePlace(aside: Aside, line: Line): boolean {
  switch (aside.kind) {
    case 'lane':
    case 'avoided':
      return false
    case 'hold':
      return line.kind === 'hold' && line.hold === aside.hold && line.holdable === aside.served.run.holdable
    case 'pool':
    case 'label':
      return line.kind === aside.kind && line.pool === aside.pool
    default:
      return aside satisfies never
  }
}

/** The pool of this entity's label value, where the run is limited by one. */
export function labelPool(row: EntityRow, { poolPer }: ClaimRun): Limit | null {
  if (!poolPer) return null
  const value = [row.label0, row.label1, row.label2, row.label3][poolPer.position]
  if (value === null || value === undefined) return null
  return { name: `${poolPer.name}/${value}`, ceiling: ceilingOf(poolPer, value) }
}
