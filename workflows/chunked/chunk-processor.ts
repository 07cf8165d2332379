import {
  type Context,
  defaultPolicy,
  done,
  elsewhere,
  fail as failed,
  messageOf,
  type Outcome,
  type Processor,
  poll,
  type RunPolicy,
  reasonOf,
  retry as retried,
  type Sums,
  type View,
} from 'sluice'
import type { AttachmentStore } from './attachments.ts'
import type { ChunkData } from './chunk-data.ts'
import type { Definitions, Known, KnownStep } from './definitions.ts'
import { type JobAtHand, JobsAtHand } from './jobs-at-hand.ts'
import { isOutcome, type StepOutcome } from './outcome.ts'
import { redacted, redactedText } from './redaction.ts'
import { reduce } from './reduction.ts'
import type { ChunkedLimits } from './settings.ts'
import { ChunkSink, type Saved } from './sink.ts'
import type { Polling, StepDetails, StepSettings } from './step.ts'

export interface ChunkParts {
  readonly definitions: Definitions
  readonly attachments: AttachmentStore | null
  readonly limits: ChunkedLimits
}

const pollingDefaults = { everyMs: 60_000, deadlineMs: 24 * 60 * 60_000 } as const

/** Runs the step that a chunk is for. */
export function chunkProcessor(parts: ChunkParts): Processor<ChunkData> {
  const { definitions, limits } = parts
  const jobs = new JobsAtHand(limits.jobsAtHand)
  return (context) => {
    const { data, entity } = context
    const known = definitions.find(data.definition)
    // An older process may meet a newer definition: another will know it. That is no error of the chunk.
    if (!known) return unknown(context, limits)
    const job = jobs.find(entity.parent)
    return job ? begin(parts, context, known, job) : jobs.load(context).then((job) => begin(parts, context, known, job))
  }
}

function begin(
  parts: ChunkParts,
  context: Context<ChunkData>,
  known: Known,
  job: JobAtHand,
): Outcome | Promise<Outcome> {
  const { lane } = context.entity
  if (known.reducer && lane === known.reducer.id) {
    return reduce(context, known, job, parts.limits).then((outcome) => withoutSecrets(outcome, job))
  }
  const step = known.step(lane)
  if (!step)
    return failed(
      'unknown step',
      `Job ${known.name} has no step ${lane}, though a chunk of it was made. Was the definition changed under its version?`,
    )
  return runStep(parts, context, known, step, job)
}

function unknown(context: Context<ChunkData>, { unknownMs }: ChunkedLimits): Outcome {
  const { data } = context
  const { definition } = data
  context.log.debug({ definition }, 'the definition of a job is not known here: its chunks are left to others')
  return elsewhere(unknownMs, { ...data, nextPollTimestamp: context.now() + unknownMs })
}

function runStep(
  parts: ChunkParts,
  context: Context<ChunkData>,
  known: Known,
  step: KnownStep,
  job: JobAtHand,
): Outcome | Promise<Outcome> {
  const sink = new ChunkSink(context, known, step, job, parts.limits, context.cursor as Saved | null)
  const details = new Details(context, job, sink, parts.attachments)
  let returned: unknown
  try {
    returned = step.step.run(details, sink)
  } catch (error) {
    return conclude(context, step, job, sink, thrown(error))
  }
  if (!isThenable(returned)) {
    return sink.isUsed
      ? ending(context, step, job, sink, Promise.resolve(returned))
      : conclude(context, step, job, sink, returned)
  }
  return ending(context, step, job, sink, returned)
}

async function ending(
  context: Context<ChunkData>,
  step: KnownStep,
  job: JobAtHand,
  sink: ChunkSink,
  run: PromiseLike<unknown>,
): Promise<Outcome> {
  let returned: unknown
  try {
    returned = await run
    if (sink.isUsed) await sink.close()
    else sink.end()
  } catch (error) {
    returned = thrown(error)
  }
  return conclude(context, step, job, sink, returned)
}

/** An outcome may be thrown from wherever a step is deep in its work; anything else is an error. */
function thrown(error: unknown): StepOutcome {
  return isOutcome(error) ? error : { kind: 'retry', error: messageOf(error), reason: reasonOf(error) }
}

function conclude(
  context: Context<ChunkData>,
  step: KnownStep,
  job: JobAtHand,
  sink: ChunkSink,
  returned: unknown,
): Outcome {
  return withoutSecrets(outcomeOf(context, step, sink, returned), job)
}

/** Messages are read by more people than secrets are meant for. */
function withoutSecrets(outcome: Outcome, { secrets }: JobAtHand): Outcome {
  if (outcome.kind !== 'retry' && outcome.kind !== 'fail') return outcome
  const { error } = outcome
  const shown = error === undefined ? outcome : { ...outcome, error: redactedText(error, secrets) }
  return shown.reason === undefined ? shown : { ...shown, reason: redactedText(shown.reason, secrets) }
}

function outcomeOf(context: Context<ChunkData>, { step }: KnownStep, sink: ChunkSink, returned: unknown): Outcome {
  const { data } = context
  if (sink.fault) return failed('bad output', sink.fault.message, data)
  if (returned === undefined) return completed(context, sink, defaultRecords(data, step))
  if (!isOutcome(returned)) {
    const what =
      typeof returned === 'object' && returned !== null ? JSON.stringify(returned).slice(0, 100) : String(returned)
    return failed(
      'no outcome',
      `Step ${step.id} returned ${what}; a step returns done(), retry(), retryLater(), fail() or nothing.`,
    )
  }
  switch (returned.kind) {
    case 'done':
      if (returned.records !== undefined && !(Number.isSafeInteger(returned.records) && returned.records >= 0)) {
        return failed(
          'no outcome',
          `Step ${step.id} said that it processed ${returned.records} records; expected a whole number from 0 on.`,
        )
      }
      return completed(context, sink, returned.records ?? defaultRecords(data, step))
    case 'retry':
      // Messages differ from one to the next, and there may be many: the reason is a phrase by which they can be counted.
      return retried(returned.error, returned.delayMs, returned.reason ?? 'attempts spent')
    case 'poll':
      return later(context, step, returned.afterMs)
    case 'fail':
      return failed(returned.reason, returned.error)
    default:
      return returned satisfies never
  }
}

/** A list is as many records as it has items; of anything else only its step knows. */
function defaultRecords({ data }: ChunkData, { chunkSize }: { chunkSize: number | null }): number {
  return chunkSize !== null && Array.isArray(data) ? data.length : 0
}

/** Most chunks end as they began, and are saved without being written again. */
function completed(context: Context<ChunkData>, sink: ChunkSink, records: number): Outcome {
  const { data } = context
  const { output, warnings, warned, recovered } = sink
  const isSame = !output && !warnings && data.nextPollTimestamp === null
  const { errorCount } = data
  const sums = records > 0 || errorCount > 0 || warned > 0 ? sumsOf(records, errorCount, sink) : undefined
  if (isSame) return done(undefined, sums)
  // Put together piece by piece: a million chunks would be copied many times over otherwise.
  const ended: Open<ChunkData> = { ...data, nextPollTimestamp: null, errorCount: errorCount + recovered }
  if (output) {
    // The reducer reads what came of it: what it was made of is not needed any more, and both may not fit into one row.
    ended.data = null
    ended.output = output
  }
  if (recovered > 0) ended.recovered = recovered
  if (warnings) {
    ended.warnings = warnings
    ended.warned = String(context.entity.parent)
  }
  return done(ended, sums)
}

type Open<T> = { -readonly [K in keyof T]: T[K] }

function sumsOf(records: number, errorCount: number, { warned, recovered }: ChunkSink): Sums {
  return {
    ...(records > 0 ? { records } : {}),
    ...(errorCount > 0 ? { errors: errorCount } : {}),
    ...(warned > 0 ? { warnings: warned } : {}),
    ...(recovered > 0 ? { recovered } : {}),
  }
}

function later(
  context: Context<ChunkData>,
  { id, polling }: StepSettings & { id: string },
  asked: number | null,
): Outcome {
  const times: Polling = typeof polling === 'object' ? polling : {}
  const afterMs = asked ?? times.everyMs ?? pollingDefaults.everyMs
  if (!Number.isFinite(afterMs) || afterMs < 0) {
    return failed('no outcome', `Step ${id} returned retryLater(${afterMs}); expected milliseconds from 0 on.`)
  }
  const { data } = context
  const now = context.now()
  const pollDeadline = data.pollDeadline ?? now + (times.deadlineMs ?? pollingDefaults.deadlineMs)
  if (now >= pollDeadline) {
    return failed('poll deadline passed', `Step ${id} has polled ${data.pollAttempts + 1} times, until its deadline.`)
  }
  // The last look is at the deadline itself.
  const at = Math.min(now + Math.max(10, afterMs), pollDeadline)
  return poll(Math.max(10, at - now), {
    ...data,
    nextPollTimestamp: at,
    pollAttempts: data.pollAttempts + 1,
    pollDeadline,
  })
}

class Details implements StepDetails {
  readonly #context: Context<ChunkData>
  readonly #at: JobAtHand
  readonly #sink: ChunkSink
  readonly #attachments: AttachmentStore | null

  constructor(context: Context<ChunkData>, at: JobAtHand, sink: ChunkSink, attachments: AttachmentStore | null) {
    this.#context = context
    this.#at = at
    this.#sink = sink
    this.#attachments = attachments
  }

  get job() {
    return this.#at.job
  }

  get parameters() {
    return this.#at.job.parameters
  }

  get data() {
    return this.#context.data.data
  }

  get chunk() {
    const { entity, data } = this.#context
    return { id: entity.id, step: entity.lane, errorCount: data.errorCount, pollAttempts: data.pollAttempts }
  }

  get attempt() {
    return this.#context.attempt
  }

  get idempotencyKey() {
    return this.#context.idempotencyKey
  }

  get signal() {
    return this.#context.signal
  }

  get log() {
    return this.#context.log
  }

  get cursor() {
    return (this.#context.cursor as Saved | null)?.cursor ?? null
  }

  get now() {
    return this.#context.now
  }

  get progress() {
    return (value: unknown) => this.#context.progress(redacted(value))
  }

  get checkpoint() {
    return async (cursor: unknown) => {
      await this.#sink.flush()
      const saved: Saved = { cursor: cursor ?? null, kept: this.#sink.kept }
      await this.#context.checkpoint(saved)
    }
  }

  get attachment() {
    return (name: string) => {
      const { attachments, attachmentFolder, job } = this.#at
      const found = attachments.find((one) => one.name === name)
      if (found && attachmentFolder !== null && this.#attachments)
        return this.#attachments.read(attachmentFolder, found)
      const names = attachments.map((one) => one.name).join(', ') || 'none'
      throw failedAttachment(job.id, name, names)
    }
  }
}

function failedAttachment(job: number, name: string, names: string): StepOutcome {
  return {
    kind: 'fail',
    reason: 'no such attachment',
    error: `Job ${job} has no attachment ${name}. It has: ${names}.`,
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

/** Attempts and times of the step that a chunk is for. */
export function chunkPolicy(
  definitions: Definitions,
): (entity: View<ChunkData>, processor: string) => RunPolicy | null {
  const policies = new Map<string, RunPolicy | null>()
  return ({ data, lane }) => {
    const name = `${data.definition}/${lane}`
    const known = policies.get(name)
    if (known !== undefined) return known
    const found = definitions.find(data.definition)
    // Whoever does not know the definition only passes its chunks on: it is not for it to say that their attempts are spent.
    if (!found) return patience
    const settings = found.reducer?.id === lane ? found.reducer : found.step(lane)?.step
    const policy = settings ? policyOf(settings) : null
    // Only what is known is kept: names come from data.
    if (settings) policies.set(name, policy)
    return policy
  }
}

const patience: RunPolicy = { attemptsMax: Number.MAX_SAFE_INTEGER }

function policyOf({ retry = {}, timeoutMs }: Pick<StepSettings, 'retry' | 'timeoutMs'>): RunPolicy | null {
  const { attemptsMax, backoff } = retry
  if (attemptsMax === undefined && backoff === undefined && timeoutMs === undefined) return null
  return {
    ...(attemptsMax === undefined ? {} : { attemptsMax }),
    ...(backoff === undefined ? {} : { backoff: { ...defaultPolicy.backoff, ...backoff } }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  }
}
