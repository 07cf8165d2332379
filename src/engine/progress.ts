import type { Progress } from '../control.ts'
import type { EntityId } from '../entity.ts'
import type { OwnProgress } from '../implementation.ts'
import type { Lane } from '../lane.ts'
import { outcomeOf } from '../state-outcome.ts'
import type { Rate, Rates } from './rate.ts'
import type { Registry } from './registry.ts'
import type { Services } from './services.ts'

/** What progress is told of: an entity, or what retention left of it. */
export interface Progressing {
  readonly id: EntityId
  readonly machine: string
  readonly version: number
  readonly data: string
  readonly state: string
  readonly settled: boolean
  readonly createdAt: number
  readonly changedAt: number
}

/** Counts over all lanes, how fast they grow, and when that will be all. */
export function progressOf(
  { registry, store, troubles }: Pick<Services, 'registry' | 'store' | 'troubles'>,
  entity: Progressing,
  lanes: readonly Lane[],
  rates: Rates,
): Progress {
  const now = store.time()
  const total = lanes.reduce((sum, lane) => sum + lane.total, 0)
  const open = lanes.reduce((sum, lane) => sum + lane.open, 0)
  const settled = total - open
  const own = registry
    .find(entity.machine, entity.version)
    ?.tuning.progress?.({ data: JSON.parse(entity.data), state: entity.state }, lanes, now)
  const trouble = entity.settled ? null : troubles.current()
  // A rate of the past promises nothing while nothing can be written.
  const rate = total === 0 || trouble ? null : rateOf(entity, settled, rates, now)
  const ratePerSecond = rate?.perSecond ?? null
  const eta = etaOf(entity, total, open, rate?.isStalled ? null : ratePerSecond)
  return {
    id: entity.id,
    state: entity.state,
    total,
    settled,
    open,
    counts: addUp(lanes.map((lane) => lane.counts)),
    outcomes: outcomesOf(registry, lanes),
    reasons: addUp(lanes.map((lane) => lane.reasons)),
    sums: addUp(lanes.map((lane) => lane.sums)),
    percent: own ? own.percent : percentOf(entity, total, settled),
    ratePerSecond,
    etaMs: own && !entity.settled ? ownEtaOf(own, trouble !== null || rate?.isStalled === true) : eta,
    ...(own ? around(own.etaMs, bandOf(entity, open, rate)) : bandOf(entity, open, rate)),
    trouble,
    lanes,
  }
}

/** Null: nobody can tell, as long as there are no children yet or none has settled. */
function etaOf(entity: Progressing, total: number, open: number, ratePerSecond: number | null): number | null {
  if (entity.settled || (total > 0 && open === 0)) return 0
  return total === 0 || ratePerSecond === null || ratePerSecond <= 0 ? null : Math.ceil((open / ratePerSecond) * 1_000)
}

/** The machine's own estimate goes by what has settled so far: it promises nothing while nothing settles. */
function ownEtaOf({ etaMs }: OwnProgress, isStopped: boolean): number | null {
  return isStopped ? null : etaMs
}

type Band = Pick<Progress, 'etaLowMs' | 'etaHighMs'>

/** A band holds the estimate that stands beside it; without one there is none. */
function around(etaMs: number | null, { etaLowMs, etaHighMs }: Band): Band {
  if (etaMs === null || etaLowMs === null || etaHighMs === null) return { etaLowMs: null, etaHighMs: null }
  return { etaLowMs: Math.min(etaLowMs, etaMs), etaHighMs: Math.max(etaHighMs, etaMs) }
}

/** Below it a speed counts as even, and one number says it all. */
const evenMax = 1.5

/** Between these the time left lies, going by the fastest and the slowest part of the last minute. */
function bandOf(entity: Progressing, open: number, rate: Rate | null): Pick<Progress, 'etaLowMs' | 'etaHighMs'> {
  const spread = rate?.spread
  const isEven = !spread || spread.fastest <= spread.slowest * evenMax
  if (entity.settled || open === 0 || rate?.isStalled || isEven) return { etaLowMs: null, etaHighMs: null }
  const { slowest, fastest } = spread
  return {
    etaLowMs: Math.ceil((open / fastest) * 1_000),
    // At the slowest nothing settled at all: there is no telling how long it may take.
    etaHighMs: slowest <= 0 ? null : Math.ceil((open / slowest) * 1_000),
  }
}

/** Lately, if it was asked before; the average since it was created otherwise. */
function rateOf(entity: Progressing, settled: number, rates: Rates, now: number): Rate | null {
  const lately = entity.settled ? null : rates.measure(entity.id, now, settled)
  if (lately !== null) return lately
  const elapsedMs = (entity.settled ? entity.changedAt : now) - entity.createdAt
  if (settled === 0 || elapsedMs <= 0) return null
  return { perSecond: (settled * 1_000) / elapsedMs, spread: null, isStalled: false }
}

/** A lane of a machine that is not known here counts as neutral: nothing says how its children ended. */
function outcomesOf(registry: Registry, lanes: readonly Lane[]): Progress['outcomes'] {
  const outcomes = { success: 0, failure: 0, attention: 0, neutral: 0 }
  for (const { machine: name, version, counts, total, open } of lanes) {
    const machine = registry.find(name, version)?.machine
    if (machine === undefined) outcomes.neutral += total - open
    else {
      for (const state of machine.settled) outcomes[outcomeOf(machine, state)] += counts[state] ?? 0
    }
  }
  return outcomes
}

/** Never 100 before the last one is settled, whatever rounding says. */
function percentOf(entity: Progressing, total: number, settled: number): number {
  if (total === 0) return entity.settled ? 100 : 0
  return Math.floor((settled / total) * 10_000) / 100
}

function addUp(figures: readonly Readonly<Record<string, number>>[]): Readonly<Record<string, number>> {
  const sums = new Map<string, number>()
  for (const figure of figures) {
    for (const [name, amount] of Object.entries(figure)) sums.set(name, (sums.get(name) ?? 0) + amount)
  }
  return Object.fromEntries(sums)
}
