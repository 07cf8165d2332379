import type { z } from 'zod'
import type { Tolerance } from './job-data.ts'
import type { ReducerDefinition, StepDefinition } from './step.ts'

/** What a handler is told of the end of a job. */
export interface JobEnding {
  readonly id: number
  readonly definition: string
  readonly version: number
  readonly state: 'completed' | 'failed' | 'cancelled'
  readonly generation: number
  readonly parameters: unknown
  readonly report: unknown
  readonly errorMessage: string | null
  readonly errorCount: number
  readonly startTime: number | null
  readonly endTime: number | null
}

export interface HandlerContext {
  /** The same however often this end is told: whoever receives it twice can know. */
  readonly key: string
  readonly attempt: number
  readonly signal: AbortSignal
}

export type JobHandler = (ending: JobEnding, context: HandlerContext) => void | Promise<void>

export interface Retention {
  readonly completedMs?: number
  readonly failedMs?: number
  readonly cancelledMs?: number
}

export interface JobHead<S extends z.ZodType> {
  readonly id: string
  /** Versions live side by side: running jobs stay on theirs, new ones take the newest. */
  readonly version: number
  readonly description?: string
  readonly parameters: S
  /** How many chunks may fail, in number or per cent of a step, before the job does. Default none. */
  readonly tolerance?: Tolerance
  /** How long jobs are kept, with all their chunks, by outcome. Default for ever. */
  readonly retention?: Retention
  readonly onCompleted?: JobHandler
  /** For failed and cancelled jobs. */
  readonly onFailed?: JobHandler
}

/** A job as the family runs it. */
export interface JobDefinition<P = unknown, In = unknown> {
  readonly id: string
  readonly version: number
  readonly description: string
  readonly parameters: z.ZodType<P, In>
  readonly steps: readonly StepDefinition[]
  readonly reduction: ReducerDefinition | null
  readonly tolerance: Tolerance
  readonly retention: Retention
  readonly onCompleted: JobHandler | null
  readonly onFailed: JobHandler | null
}
