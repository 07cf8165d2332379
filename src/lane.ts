import type { EntityId } from './entity.ts'
import type { Sums } from './outcome.ts'

/**
 * One group of a parent's children, or all roots of a machine version (parent null): one row, changed in the same
 * commit as the child's move, so that counts cannot drift.
 */
export interface Lane {
  readonly parent: EntityId | null
  readonly name: string
  readonly machine: string
  readonly version: number
  /** Children by state; states without children are left out. */
  readonly counts: Readonly<Record<string, number>>
  readonly total: number
  /** Children that are not settled. */
  readonly open: number
  /** Failures by reason, of the children that carry one now. */
  readonly reasons: Readonly<Record<string, number>>
  readonly sums: Sums
  /** Grows when `open` reaches or leaves zero, or a watched state is first entered. */
  readonly wake: number
  /** The wake number that the parent has been judged by. The parent is due while wake > seen. */
  readonly seen: number
  /** States of children that wake the parent when first entered, and those that have been. */
  readonly watches: readonly string[]
  readonly entered: readonly string[]
  /** Children in a gated state run only while the gate is open. */
  readonly gate: 'open' | 'shut'
  /** going: children are started. resting: none is started. stopped: running ones may no longer commit either. */
  readonly status: LaneStatus
}

export type LaneStatus = 'going' | 'resting' | 'stopped'

/**
 * What a child's move does to the lane's figures, or so many alike moves together. `null` from: born; `null` to: purged.
 */
export interface LaneChange {
  readonly from: LaneFigure | null
  readonly to: LaneFigure | null
  readonly times: number
}

export interface LaneFigure {
  readonly state: string
  readonly settled: boolean
  readonly reason: string | null
  readonly sums: Sums | null
}

export function emptyLane(
  parent: EntityId | null,
  name: string,
  machine: string,
  version: number,
  watches: readonly string[],
): Lane {
  return {
    parent,
    name,
    machine,
    version,
    watches,
    counts: {},
    total: 0,
    open: 0,
    reasons: {},
    sums: {},
    wake: 0,
    seen: 0,
    entered: [],
    gate: 'shut',
    status: 'going',
  }
}

/** Counted together once a lane has too many different reasons. */
export const otherReasons = 'other'

/** The reason as its lane counts it: the row keeps this one too, so that leaving the state takes back what entering added. */
export function reasonIn(lane: Lane, reason: string | null, reasonsMax: number): string | null {
  if (reason === null || Object.hasOwn(lane.reasons, reason)) return reason
  return Object.keys(lane.reasons).length < reasonsMax ? reason : otherReasons
}

/**
 * Adds the changes of a commit, one after another, and says how often the parent must look. Reaching zero and leaving
 * it again within one commit counts twice: the parent sees a number that has grown, never one that it saw before.
 */
export function changeLane(lane: Lane, changes: readonly LaneChange[]): Lane {
  const counts: Record<string, number> = { ...lane.counts }
  const reasons: Record<string, number> = { ...lane.reasons }
  const sums: Record<string, number> = { ...lane.sums }
  let { total, open, wake, entered } = lane
  for (const { from, to, times } of changes) {
    const openBefore = open
    if (from) {
      add(counts, from.state, -times)
      if (from.reason !== null) add(reasons, from.reason, -times)
      for (const [name, amount] of Object.entries(from.sums ?? {})) add(sums, name, -amount * times)
      if (!from.settled) open -= times
      if (!to) total -= times
    }
    if (to) {
      add(counts, to.state, times)
      if (to.reason !== null) add(reasons, to.reason, times)
      for (const [name, amount] of Object.entries(to.sums ?? {})) add(sums, name, amount * times)
      if (!to.settled) open += times
      if (!from) total += times
      if (lane.watches.includes(to.state) && !entered.includes(to.state)) {
        entered = [...entered, to.state]
        wake += 1
      }
    }
    // A child that is born settled was open for no time at all: its parent looks all the same.
    if ((openBefore === 0) !== (open === 0) || (!from && to?.settled && open === 0)) wake += 1
  }
  return { ...lane, counts, reasons, sums, total, open, wake, entered }
}

function add(figures: Record<string, number>, name: string, amount: number): void {
  // Reasons and names of sums are free text: 'constructor' or '__proto__' must not find what every object inherits.
  const isCounted = Object.hasOwn(figures, name)
  const sum = (isCounted ? figures[name]! : 0) + amount
  if (sum === 0) delete figures[name]
  else if (isCounted) figures[name] = sum
  else Object.defineProperty(figures, name, { value: sum, writable: true, enumerable: true, configurable: true })
}
