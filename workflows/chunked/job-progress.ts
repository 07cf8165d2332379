import type { Lane } from 'sluice'
import type { JobData } from './job-data.ts'
import { stepIndex } from './judgement.ts'

/** One step, or the reducer, of a job: counts are those of this moment. */
export interface StepProgress {
  readonly id: string
  readonly kind: 'step' | 'reducer'
  readonly gated: boolean
  /** Behind a shut gate or not reached; worked on; all settled. */
  readonly phase: 'waiting' | 'running' | 'complete'
  /** Chunks by state. Behind an open gate they are ready. */
  readonly chunks: Readonly<Record<string, number>>
  readonly total: number
  readonly settled: number
  readonly failed: number
  readonly records: number
  /** Attempts that ended in an error. */
  readonly errors: number
  readonly warnings: number
  /** When it became the job's current step. */
  readonly since: number | null
  /** Chunks settled per second, since then. */
  readonly ratePerSecond: number | null
  readonly etaMs: number | null
  readonly percent: number
  readonly weight: number | null
}

export function stepProgress(
  data: JobData,
  lanes: readonly Lane[],
  isSettled: boolean,
  now: number,
): readonly StepProgress[] {
  const { plan } = data
  const all = [
    ...plan.steps.map((step) => ({ ...step, kind: 'step' as const })),
    ...(plan.reducer === null
      ? []
      : [{ id: plan.reducer, gated: true, weight: plan.reducerWeight, kind: 'reducer' as const }]),
  ]
  const current =
    data.currentStep === plan.reducer && plan.reducer !== null ? plan.steps.length : stepIndex(plan, data.currentStep)
  const isOver = data.currentStep === null && data.startTime !== null
  return all.map(({ id, gated, weight, kind }, index) => {
    const lane = lanes.find((one) => one.name === id)
    const { total, settled, failed } = figuresOf(lane)
    // Only what cannot get any more chunks is complete: no step before it has open ones.
    const isComplete = total === settled && (isOver || index < current)
    const since = (Object.hasOwn(data.stepTimes, id) ? data.stepTimes[id] : null) ?? null
    const elapsedMs = since === null ? 0 : (data.endTime ?? now) - since
    const ratePerSecond = settled === 0 || elapsedMs <= 0 ? null : (settled * 1_000) / elapsedMs
    const left = total - settled
    return {
      id,
      kind,
      gated,
      phase: isComplete ? 'complete' : settled > 0 || index === current || isWorking(lane) ? 'running' : 'waiting',
      chunks: shown(lane),
      total,
      settled,
      failed,
      records: lane?.sums.records ?? 0,
      errors: lane?.sums.errors ?? 0,
      warnings: lane?.sums.warnings ?? 0,
      since,
      ratePerSecond,
      etaMs: left === 0 || isSettled ? 0 : ratePerSecond === null ? null : Math.ceil((left / ratePerSecond) * 1_000),
      percent:
        isComplete && failed === 0 ? 100 : total === 0 ? 0 : Math.floor(((settled - failed) / total) * 10_000) / 100,
      weight,
    }
  })
}

function isWorking(lane: Lane | undefined): boolean {
  return ['queued', 'in_progress', 'error'].some((state) => (lane?.counts[state] ?? 0) > 0)
}

function figuresOf(lane: Lane | undefined) {
  const total = lane?.total ?? 0
  return { total, settled: total - (lane?.open ?? 0), failed: lane?.counts.failed ?? 0 }
}

function shown(lane: Lane | undefined): Readonly<Record<string, number>> {
  if (!lane) return {}
  const { gate_waiting: waiting, ...counts } = lane.counts
  if (waiting === undefined || lane.gate === 'shut') return lane.counts
  return { ...counts, ready: (counts.ready ?? 0) + waiting }
}

/**
 * Weighted steps count by their weight; the others share what is left, chunk by chunk. Failed chunks are not done. Never 100 before the job is completed,
 * whatever rounding says.
 */
export function percentOf(steps: readonly StepProgress[], isCompleted: boolean): number {
  if (isCompleted) return 100
  const weighted = steps.filter(({ weight }) => weight !== null)
  const others = steps.filter(({ weight }) => weight === null)
  const weights = weighted.reduce((sum, { weight }) => sum + (weight ?? 0), 0)
  const own = weighted.reduce((sum, { weight, percent }) => sum + (weight ?? 0) * percent, 0)
  const total = others.reduce((sum, step) => sum + step.total, 0)
  const done = others.reduce((sum, { settled, failed }) => sum + settled - failed, 0)
  const rest = others.length === 0 ? 0 : (1 - weights) * (total === 0 ? 0 : (done / total) * 100)
  // Without other steps the weights are all there is, whether or not they add up to 1.
  const percent = others.length === 0 && weights > 0 ? own / weights : own + rest
  return Math.min(99.99, Math.floor(percent * 100) / 100)
}

/** What every view of a job's progress says. */
export function jobProgress(
  { data, state }: { readonly data: JobData; readonly state: string },
  lanes: readonly Lane[],
  now: number,
): { readonly percent: number; readonly etaMs: number | null } {
  const isSettled = ['completed', 'failed', 'cancelled'].includes(state)
  const steps = stepProgress(data, lanes, isSettled, now)
  // Nobody knows how much there is before the first step has said so.
  const isKnown = data.startTime !== null && steps.some(({ total }) => total > 0)
  return { percent: percentOf(steps, state === 'completed'), etaMs: isSettled ? 0 : isKnown ? etaOf(steps) : null }
}

/** Of the steps that are not complete; null if one of them cannot tell. */
export function etaOf(steps: readonly StepProgress[]): number | null {
  const open = steps.filter(({ phase, kind }) => phase !== 'complete' && kind === 'step')
  let sum = 0
  for (const { etaMs } of open) {
    if (etaMs === null) return null
    sum += etaMs
  }
  return sum
}
