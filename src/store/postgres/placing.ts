import { rankOf } from '../../rank.ts'
import { letsThrough } from './lane-row.ts'
import type { LaneRow } from './lanes.ts'
import type { Ledger } from './ledger.ts'
import type { Line, Run } from './line.ts'
import { type EntityRow, isRun, moreOf, plans, waits } from './row.ts'

/** The word of the edge that was requested; 0: none. */
export function edgeOf(ledger: Ledger, row: EntityRow): number {
  if (row.more === null) return 0
  const { request } = moreOf(row)
  return request ? ledger.dictionary.word(request.edge) : 0
}

/** Puts a row that nobody has leased where it waits: in a line, by time, or nowhere. */
export function place(ledger: Ledger, row: EntityRow, lane: LaneRow, edge: number): void {
  row.owner = null
  row.line = null
  row.rank = null
  row.plan = planOf(row, ledger.now)
  if (row.plan !== null || !isRun(row.wait)) return
  row.line = ledger.lines.enter(lineFor(ledger, row, lane, edge))
  row.rank = rankOf(row.at ?? 0, row.priority, ledger.limits.ageingMs)
}

/** What a lease leaves of its wait: who runs stands in no line, but may still have a timer. */
export function placeLeased(row: EntityRow, worker: number, now: number): void {
  row.owner = worker
  row.line = null
  row.rank = null
  row.plan = isRun(row.wait) ? null : planOf(row, now)
}

function planOf({ wait, at, settled }: EntityRow, now: number): number | null {
  if (at === null) return null
  switch (wait) {
    case waits.run:
    case waits.gatedRun:
      return at > now ? plans.run : null
    case waits.children:
      return settled ? null : plans.look
    case waits.time:
      return plans.timer
    case waits.purge:
      return plans.purge
    default:
      return null
  }
}

function lineFor(ledger: Ledger, row: EntityRow, lane: LaneRow, edge: number): Line {
  const run: Run = { machine: row.machine, state: row.state, edge }
  const gated = row.wait === waits.gatedRun
  const { lines, limits, stagings } = ledger
  const suspect = row.suspect > 0
  if (stagings.isOpen(row.staging)) return lines.ofLane(run, lane.id, lane.lane, gated, row.staging, suspect)
  const small = lane.lane.parent === null || lane.size <= limits.laneSharedMax
  return small && letsThrough(lane.lane, gated)
    ? lines.shared(run, suspect)
    : lines.ofLane(run, lane.id, lane.lane, gated, null, suspect)
}
