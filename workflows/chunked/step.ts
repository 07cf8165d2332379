import type { Logger } from 'pino'
import type { Backoff } from 'sluice'
import type { z } from 'zod'
import type { StepOutcome } from './outcome.ts'

/** The job as its steps see it. */
export interface StepJob<P = unknown> {
  readonly id: number
  readonly definition: string
  readonly version: number
  readonly parameters: P
  readonly collection: string | null
  /** Files and folders that its parameters name must lie below these, links resolved; null: any place will do. */
  readonly roots: readonly string[] | null
}

/** What one run of a step is given. */
export interface StepDetails<P = unknown, I = unknown> {
  readonly job: StepJob<P>
  readonly parameters: P
  /** The chunk's data; null in the first step. */
  readonly data: I
  readonly chunk: {
    readonly id: number
    readonly step: string
    readonly errorCount: number
    readonly pollAttempts: number
  }
  /** 1 for the first. */
  readonly attempt: number
  /** The same over attempts, new after a rerun: hand it to whatever has effects outside. */
  readonly idempotencyKey: string
  /** Aborted when the job is cancelled, the time is over, the lease is lost or the process stops. */
  readonly signal: AbortSignal
  readonly log: Logger
  /** Where the last checkpoint said to go on; null at the beginning. */
  readonly cursor: unknown
  /** Makes what was given out so far durable (still unseen), and says where to go on after a crash. */
  checkpoint(cursor: unknown): Promise<void>
  /** For people: shown with the chunk while it runs. */
  progress(value: unknown): void
  /** The store's time. */
  now(): number
  /** A file that the job was started with. */
  attachment(name: string): AsyncIterable<Uint8Array>
}

/** What a step gives out. All of it appears with the completion of its chunk, once, or not at all. */
export interface Sink<O = unknown> {
  /** Data for the next step; for the reducer, if that comes next. Await it: it slows down who gives out faster than can be written. */
  accept(data: O): Promise<void>
  /** Data for a later step than the next. */
  acceptFor(stepId: string, data: unknown): Promise<void>
  /** Something odd that fails nothing: kept with the chunk and counted for the job. */
  warn(message: string): void
  /** An error that the step got over by itself: a warning that counts as an error. */
  recoveredError(message: string): void
}

export interface Polling {
  /** Between two looks, unless the step says otherwise. Default one minute. */
  readonly everyMs?: number
  /** Before the first look. Default none. */
  readonly firstAfterMs?: number
  /** How long a chunk may poll, from its first poll on. Default one day. */
  readonly deadlineMs?: number
}

export interface Retry {
  /** Attempts in all, the first included. Default 4. */
  readonly attemptsMax?: number
  readonly backoff?: Partial<Backoff>
}

export interface StepSettings {
  readonly description?: string
  /** Its chunks wait until every step before it is complete. */
  readonly gated?: boolean
  /** Its chunks are born waiting to be looked at. Any step may poll; this says that it usually does. */
  readonly polling?: boolean | Polling
  readonly retry?: Retry
  /** How many of its chunks run at once, over all jobs of this definition's version and all processes. Default no limit. */
  readonly concurrency?: number
  /** A run that takes longer is dropped, and counts as an attempt. Default one hour. */
  readonly timeoutMs?: number
  /** Its share of the job's progress, between 0 and 1. Steps without one share what is left. */
  readonly weight?: number
}

// biome-ignore lint/suspicious/noConfusingVoidType: a step that has nothing to say is done.
type Said = StepOutcome | void

export type StepRun<P, I, O> = (details: StepDetails<P, I>, sink: Sink<O>) => Said | Promise<Said>

export interface FirstStep<P, O> extends StepSettings {
  readonly id: string
  /** Types and checks what it gives out. Without it, it gives nothing out. */
  readonly output?: z.ZodType<O>
  readonly run: StepRun<P, null, O>
}

export interface LaterStep<P, I, O, C extends number | undefined> extends StepSettings {
  readonly id: string
  /** Gathers what the step before gives out: a chunk then holds a list of up to so many. */
  readonly chunkSize?: C
  readonly output?: z.ZodType<O>
  readonly run: StepRun<P, C extends number ? readonly I[] : I, O>
}

/** Where a reducer is, and what it is for. */
export interface ReducerDetails<P = unknown>
  extends Pick<StepDetails<P>, 'job' | 'parameters' | 'signal' | 'log' | 'idempotencyKey' | 'now'> {
  /** Outputs taken in so far. */
  readonly count: number
}

/**
 * Folds all that the last step gave out, in the order of (source, ordinal), into one report. The accumulator is saved now and then, so it
 * must be plain data: after a crash the reduction goes on from there.
 */
export interface Reducer<P, I, A, R> extends Pick<StepSettings, 'description' | 'retry' | 'timeoutMs' | 'weight'> {
  readonly id: string
  initial(details: ReducerDetails<P>): A
  consume(accumulator: A, output: I, details: ReducerDetails<P>): A | Promise<A>
  /** Default: the accumulator itself. */
  report?(accumulator: A, details: ReducerDetails<P>): R | Promise<R>
}

/** A step without its types, as the family runs it. */
export interface StepDefinition extends StepSettings {
  readonly id: string
  readonly chunkSize: number | null
  /** Null: it gives nothing out. */
  readonly output: z.ZodType | null
  readonly run: StepRun<unknown, unknown, unknown>
}

export type ReducerDefinition = Reducer<unknown, unknown, unknown, unknown>
