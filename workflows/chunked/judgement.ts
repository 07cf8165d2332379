import type { Lane } from 'sluice'
import type { JobData, Plan } from './job-data.ts'

/** What becomes of a job that is under way. Exactly one of these, whatever its chunks are. */
export type Judgement =
  /** More chunks have failed than it tolerates. */
  | { readonly kind: 'failed' }
  /** Some attempt ended in an error, and the job does not say so yet. */
  | { readonly kind: 'errored' }
  /** No chunk is open. */
  | { readonly kind: 'reduce' }
  | { readonly kind: 'complete' }
  /** The steps before this one are complete, and it has open chunks. */
  | { readonly kind: 'advance'; readonly to: number }
  /** A failure was not seen yet: the job must be woken by the next one, too. */
  | { readonly kind: 'tolerate'; readonly failures: number }
  | { readonly kind: 'wait' }

export function judgeJob(data: JobData, isErrored: boolean, lanes: readonly Lane[]): Judgement {
  const { plan } = data
  const steps = plan.steps.map(({ id }) => lanes.find((lane) => lane.name === id))
  const frontier = steps.findIndex((lane) => (lane?.open ?? 0) > 0)
  if (isBeyond(plan, steps, frontier)) return { kind: 'failed' }
  if (!isErrored && errorsIn(lanes) > 0) return { kind: 'errored' }
  if (frontier < 0) return { kind: plan.reducer === null ? 'complete' : 'reduce' }
  if (frontier > stepIndex(plan, data.currentStep)) return { kind: 'advance', to: frontier }
  const failures = failuresIn(plan, lanes)
  if (failures > data.toleratedFailures) return { kind: 'tolerate', failures }
  return { kind: 'wait' }
}

export function stepIndex({ steps }: Plan, id: string | null): number {
  return steps.findIndex((step) => step.id === id)
}

/** Failed chunks of steps; the reducer's chunk is judged by itself. */
export function failuresIn({ reducer }: Plan, lanes: readonly Lane[]): number {
  return lanes.reduce((sum, lane) => sum + (lane.name === reducer ? 0 : failedIn(lane)), 0)
}

/** Attempts that ended in an error. */
export function errorsIn(lanes: readonly Lane[]): number {
  return lanes.reduce((sum, lane) => sum + (lane.sums.errors ?? 0), 0)
}

/** Why chunks failed, the most frequent reason first. */
export function failureText({ reducer, steps }: Plan, lanes: readonly Lane[]): string {
  const failing = lanes.filter((lane) => failedIn(lane) > 0)
  const said = failing.map((lane) => {
    const [reason] = Object.entries(lane.reasons).sort(([, one], [, other]) => other - one)
    const why = reason ? `: ${reason[0]}` : ''
    if (lane.name === reducer) return `The reducer ${lane.name} failed${why}`
    const count = failedIn(lane)
    return `${count} of ${lane.total} ${lane.total === 1 ? 'chunk' : 'chunks'} of step ${lane.name} failed${why}`
  })
  const order = [...steps.map(({ id }) => id), reducer]
  return said.length === 0
    ? `No step of ${order.filter(Boolean).join(', ')} has failed chunks any more`
    : said.join('; ')
}

/**
 * A share is judged once the step's number of chunks is known, which is when all steps before it are complete: before that, the first
 * failure would be a hundred per cent.
 */
function isBeyond({ tolerance }: Plan, steps: readonly (Lane | undefined)[], frontier: number): boolean {
  if ('failures' in tolerance) return steps.reduce((sum, lane) => sum + failedIn(lane), 0) > tolerance.failures
  const known = frontier < 0 ? steps : steps.slice(0, frontier + 1)
  return known.some((lane) => lane !== undefined && failedIn(lane) * 100 > tolerance.percent * lane.total)
}

function failedIn(lane: Lane | undefined): number {
  return lane?.counts.failed ?? 0
}
