import type { EntityId } from '../../entity.ts'
import { type ClaimRequest, type ClaimRun, ceilingOf } from '../../store.ts'
import type { Ledger } from './ledger.ts'
import { MergedLines } from './line-reader.ts'
import { type Line, letsThrough, type Run, runKey } from './lines.ts'
import { type EntityRow, moreOf, waits } from './row.ts'

/** One kind of waiting that the claim serves, in the numbers of the file. */
export interface Served extends Run {
  readonly run: ClaimRun
}

export interface Pick {
  readonly row: EntityRow
  readonly served: Served
}

interface Limit {
  readonly name: string
  readonly ceiling: number
}

/**
 * What a claim may have, judged row by row as the lines give them. Whatever is stopped is noted with the line in which it
 * stands aside from now on, so that the next claim does not come across it again.
 */
export class Selection {
  readonly #ledger: Ledger
  readonly #request: ClaimRequest
  readonly #now: number
  readonly #served: readonly Served[]
  readonly #asides = new Map<EntityId, Line>()
  readonly #isHeld: boolean
  /** Of machines and states that the file has never seen: there is nothing to claim. */
  readonly #unknown: readonly ClaimRun[]
  #idle: readonly ClaimRun[] = []
  /** Something was left unread because enough had been put aside: there may be more to claim. */
  #cut = false

  constructor(ledger: Ledger, request: ClaimRequest, now: number) {
    this.#ledger = ledger
    this.#request = request
    this.#now = now
    const { served, unknown } = servedOf(ledger, request.runs)
    this.#served = served
    this.#unknown = unknown
    this.#isHeld = ledger.holds.standing(now).length > 0
  }

  get asides(): ReadonlyMap<EntityId, Line> {
    return this.#asides
  }

  get cut(): boolean {
    return this.#cut
  }

  /** Runs in whose lines the last look has found nobody. */
  get idle(): readonly ClaimRun[] {
    return this.#idle
  }

  ordinary(): readonly Pick[] {
    return this.#pick(this.#served, (line) => !line.suspect)
  }

  /** The first suspects in rank order, of all runs or of one. */
  suspects(max: number, served: Served | null = null, but: ReadonlySet<EntityId> | null = null): readonly Pick[] {
    return this.#pick(served ? [served] : this.#served, (line) => line.suspect, max, but)
  }

  #pick(
    served: readonly Served[],
    wanted: (line: Line) => boolean,
    max = Number.POSITIVE_INFINITY,
    but: ReadonlySet<EntityId> | null = null,
  ): readonly Pick[] {
    const { database, lines, limits, pools } = this.#ledger
    const rowsMax = Math.min(max, this.#request.limit, limits.claimMax)
    const bytesMax = Math.min(this.#request.bytes, limits.claimBytesMax)
    const picks: Pick[] = []
    if (rowsMax < 1) return picks
    const open = served
      .filter(({ run }) => run.limit > 0 && (!run.pool || pools.room(run.pool.name, run.pool.ceiling, null) >= 1))
      .flatMap((tag) =>
        lines
          .active(tag)
          .filter((line) => wanted(line) && this.#isOpen(line, tag))
          .map((line) => ({ line, tag })),
      )
    const merged = new MergedLines(database, open, rowsMax, bytesMax)
    for (const line of merged.empty) lines.rest(line)
    this.#noteIdle(merged.empty)
    const units = new Map<string, number>()
    const taken = new Map<Served, number>()
    const isPurging = this.#ledger.purging().size > 0
    const { avoid } = this.#request
    let passed = 0
    let bytes = 0
    for (let row = merged.next(); row; row = merged.next()) {
      const { line, tag } = merged.reader
      const { run } = tag
      if (this.#asides.has(row.id) || but?.has(row.id)) continue
      if (isPurging && this.#ledger.isPurging(row.id, row.lane)) continue
      if (run.pool && roomLeft(this.#ledger, units, run.pool, row.id) < 1) {
        merged.end(tag)
        continue
      }
      if (avoid && this.#isAvoided(row.lane, avoid)) {
        // A line of their own is passed by as a whole from now on. Others are left soon, as more of them may follow.
        passed += 1
        if (line.kind === 'lane' || passed > limits.asideMax) merged.endLine(line)
        else if (line.kind === 'shared' && this.#asides.size < limits.asideMax)
          this.#asides.set(row.id, this.#ownLine(row, tag))
        continue
      }
      const labelled = labelPool(row, run)
      const isFull = labelled !== null && roomLeft(this.#ledger, units, labelled, row.id) < 1
      const aside = this.#asideOf(row, tag) ?? (isFull ? lines.ofLabel(tag, labelled.name, line.suspect) : null)
      if (aside === line) {
        // All that stand in this line wait for the same pool, which this claim has just filled.
        merged.endLine(line)
        continue
      }
      if (aside) {
        if (this.#asides.size >= limits.asideMax) {
          this.#cut = true
          break
        }
        this.#asides.set(row.id, aside)
        continue
      }
      // The first is taken whatever its size: it must run some time.
      const size = Buffer.byteLength(row.data)
      if (picks.length > 0 && bytes + size > bytesMax) break
      bytes += size
      if (run.pool) units.set(run.pool.name, (units.get(run.pool.name) ?? 0) + 1)
      if (labelled) units.set(labelled.name, (units.get(labelled.name) ?? 0) + 1)
      picks.push({ row, served: tag })
      if (picks.length >= rowsMax) break
      if (served.length > 1 || run.limit < rowsMax) {
        const count = (taken.get(tag) ?? 0) + 1
        taken.set(tag, count)
        if (count >= run.limit) merged.end(tag)
      }
    }
    return picks
  }

  /** Some lines are never said to rest, however empty they are. */
  #noteIdle(empty: readonly Line[]): void {
    const idle = [...this.#unknown]
    for (const served of this.#served)
      if (this.#ledger.lines.active(served).every((line) => empty.includes(line))) idle.push(served.run)
    this.#idle = idle
  }

  /** A line of what waits for a full pool, or for a hold to end, is passed by as a whole. */
  #isOpen(line: Line, { run }: Served): boolean {
    const { avoid } = this.#request
    if (avoid && line.kind === 'lane' && this.#isAvoided(line.lane!, avoid)) return false
    if (line.hold !== null) return line.holdable !== run.holdable || !this.#ledger.holds.stands(line.hold, this.#now)
    if (line.pool === null) return true
    if (line.kind === 'pool') return this.#ledger.pools.hasRoom(line.pool)
    // The limit may have been changed or dropped since they were put aside: then they are judged anew.
    const { poolPer } = run
    if (!poolPer || !line.pool.startsWith(`${poolPer.name}/`)) return true
    const ceiling = ceilingOf(poolPer, line.pool.slice(poolPer.name.length + 1))
    return this.#ledger.pools.room(line.pool, ceiling, null) >= 1
  }

  #isAvoided(lane: number, avoid: ReadonlySet<EntityId>): boolean {
    const { parent } = this.#ledger.lanes.byId(lane).lane
    return parent !== null && avoid.has(parent)
  }

  /** The line of its lane, from which others take it up. */
  #ownLine(row: EntityRow, served: Served): Line {
    const { lanes, lines } = this.#ledger
    const { id, lane } = lanes.byId(row.lane)
    return lines.ofLane(served, id, lane, row.wait === waits.gatedRun, null, row.suspect > 0)
  }

  /** Where the row must stand instead. Null: nothing stops it. */
  #asideOf(row: EntityRow, served: Served): Line | null {
    const { lanes, lines, holds, pools, dictionary } = this.#ledger
    const lane = lanes.byId(row.lane)
    const gated = row.wait === waits.gatedRun
    const suspect = row.suspect > 0
    if (!letsThrough(lane.lane, gated)) return lines.ofLane(served, lane.id, lane.lane, gated, null, suspect)
    if (this.#isHeld) {
      const { machine, passes } = served.run
      const labels = [row.label0, row.label1, row.label2, row.label3]
      const state = dictionary.text(row.state)
      const held = { id: row.id, machine, state, parent: lane.lane.parent, labels, passes }
      const [hold] = holds.over(held, served.run.holdable, dictionary.labelNames, this.#now)
      if (hold) return lines.ofHold(served, hold.id, served.run.holdable, suspect)
    }
    if (row.more !== null) {
      const { pool } = moreOf(row)
      if (pool !== undefined && !pools.hasRoom(pool)) return lines.ofPool(served, pool, suspect)
    }
    return null
  }
}

function servedOf(
  ledger: Ledger,
  runs: readonly ClaimRun[],
): { readonly served: readonly Served[]; readonly unknown: readonly ClaimRun[] } {
  const served = new Map<string, Served>()
  const unknown: ClaimRun[] = []
  for (const run of runs) {
    const machine = ledger.dictionary.machineIfKnown(run.machine, run.version)
    const state = ledger.dictionary.wordIfKnown(run.state)
    const edge = run.edge === null ? 0 : ledger.dictionary.wordIfKnown(run.edge)
    if (!machine || state === null || edge === null) {
      unknown.push(run)
      continue
    }
    const one: Served = { machine: machine.id, state, edge, run }
    if (!served.has(runKey(one))) served.set(runKey(one), one)
  }
  return { served: [...served.values()], unknown }
}

/** The pool of this entity's label value, where the run is limited by one. */
export function labelPool(row: EntityRow, { poolPer }: ClaimRun): Limit | null {
  if (!poolPer) return null
  const value = [row.label0, row.label1, row.label2, row.label3][poolPer.position]
  if (value === null || value === undefined) return null
  return { name: `${poolPer.name}/${value}`, ceiling: ceilingOf(poolPer, value) }
}

/** What is left of a pool after what this claim is about to take. */
function roomLeft(ledger: Ledger, units: ReadonlyMap<string, number>, { name, ceiling }: Limit, id: EntityId): number {
  return ledger.pools.room(name, ceiling, id) - (units.get(name) ?? 0)
}
