import {
  type Context,
  type Entity,
  fail as failed,
  isSluiceError,
  messageOf,
  type Outcome,
  reasonOf,
  retry as retried,
} from 'sluice'
import type { ChunkData } from './chunk-data.ts'
import type { Known } from './definitions.ts'
import type { JobAtHand } from './jobs-at-hand.ts'
import { isOutcome } from './outcome.ts'
import type { ChunkedLimits } from './settings.ts'
import type { ReducerDefinition, ReducerDetails } from './step.ts'

/** How far a reduction has come: which sources, which of their chunks, and what has become of it so far. */
interface Cursor {
  /** Position of the sources' step; -1: the job itself, which made the first chunk. */
  readonly step: number
  /** Sources up to this one are done. */
  readonly source: number
  /** Chunks of later sources up to this one are done. */
  readonly chunk: { readonly source: number; readonly ordinal: number } | null
  readonly accumulator: unknown
  readonly count: number
}

/** Chunks may be as long as their rows allow: what is in memory at once is bounded in bytes, by what the last page had. */
const pageBytes = 4 * 1024 * 1024
const firstPage = 50
const pageMax = 1_000

/**
 * Folds what the last step gave out into a report. It reads the sources of the last step's chunks page by page, and their chunks in the
 * order in which they were given out. Under one lease, with a checkpoint now and then: a crash costs what came after the last one.
 */
export async function reduce(
  context: Context<ChunkData>,
  known: Known,
  { job }: JobAtHand,
  { reduceEvery }: ChunkedLimits,
): Promise<Outcome> {
  const reducer = known.reducer as ReducerDefinition
  const { steps } = known.definition
  const details = new Details(context, job)
  const size = new PageSize()
  let saved = 0
  try {
    const begun = context.cursor as Cursor | null
    let accumulator = begun ? begun.accumulator : reducer.initial(details)
    details.count = begun?.count ?? 0
    saved = details.count
    for (let step = begun?.step ?? -1; step < steps.length - 1; step += 1) {
      const from = begun?.step === step ? begun : null
      // Sources only grow: what was done is left out wherever the pages happen to begin this time.
      let chunk = from?.chunk ?? null
      for await (const page of sourcesOf(context, job.id, steps[step]?.id ?? null, from?.source ?? 0)) {
        for await (const chunks of chunksOf(context, steps.at(-1)!.id, page.sources, chunk, size)) {
          for (const entity of chunks) {
            for (const output of (JSON.parse(entity.data) as ChunkData).output ?? []) {
              const next = reducer.consume(accumulator, output, details)
              accumulator = next instanceof Promise ? await next : next
              details.count += 1
            }
            chunk = { source: entity.source ?? 0, ordinal: entity.ordinal ?? 0 }
          }
          context.signal.throwIfAborted()
          if (details.count - saved < reduceEvery) continue
          await context.checkpoint({
            step,
            source: page.after,
            chunk,
            accumulator,
            count: details.count,
          } satisfies Cursor)
          saved = details.count
        }
      }
    }
    const report = reducer.report ? await reducer.report(accumulator, details) : accumulator
    const { errorCount } = context.data
    const sums = { records: details.count, ...(errorCount > 0 ? { errors: errorCount } : {}) }
    return { kind: 'done', data: { ...context.data, report: report ?? null }, sums }
  } catch (error) {
    return ended(reducer, context.data, error)
  }
}

function ended({ id }: ReducerDefinition, data: ChunkData, error: unknown): Outcome {
  if (isOutcome(error) && error.kind === 'fail') {
    const failure = failed(error.reason, error.error)
    return error.report === undefined ? failure : { ...failure, data: { ...data, report: error.report } }
  }
  if (isOutcome(error) && error.kind === 'retry')
    return retried(error.error, error.delayMs, error.reason ?? 'attempts spent')
  // A checkpoint that is refused will be refused again.
  if (isSluiceError(error) && error.code === 'invalid') {
    return failed('accumulator refused', `What reducer ${id} gathers could not be saved: ${error.message}`)
  }
  return retried(messageOf(error), undefined, reasonOf(error))
}

interface SourcePage {
  /** The page begins behind this source. */
  readonly after: number
  readonly sources: readonly number[]
}

/** Chunks of one step, by id, as the sources of others. Null: the job itself. */
async function* sourcesOf(
  context: Context<ChunkData>,
  job: number,
  step: string | null,
  from: number,
): AsyncIterable<SourcePage> {
  if (step === null) {
    yield { after: 0, sources: [job] }
    return
  }
  const size = new PageSize()
  for (let after = from; ; ) {
    const { entities, next } = await context.siblings({ lane: step, states: ['completed'], after, limit: size.limit })
    if (entities.length > 0) yield { after, sources: entities.map(({ id }) => id) }
    if (next === null) return
    after = next
    size.learn(entities)
  }
}

async function* chunksOf(
  context: Context<ChunkData>,
  lane: string,
  sources: readonly number[],
  from: Cursor['chunk'],
  size: PageSize,
): AsyncIterable<readonly Entity[]> {
  for (let after = from; ; ) {
    const { entities, next } = await context.siblings({
      lane,
      states: ['completed'],
      spawnedBy: { sources, after },
      limit: size.limit,
    })
    if (entities.length > 0) yield entities
    const last = entities.at(-1)
    if (next === null || !last) return
    after = { source: last.source ?? 0, ordinal: last.ordinal ?? 0 }
    size.learn(entities)
  }
}

/** How many rows of a lane are read at once, by what the last ones had. */
class PageSize {
  limit = firstPage

  learn(entities: readonly Entity[]): void {
    if (entities.length === 0) return
    const bytes = entities.reduce((sum, { data }) => sum + data.length, 0) / entities.length
    this.limit = Math.max(1, Math.min(pageMax, Math.floor(pageBytes / Math.max(1, bytes))))
  }
}

class Details implements ReducerDetails {
  count = 0
  readonly job: ReducerDetails['job']
  readonly #context: Context<ChunkData>

  constructor(context: Context<ChunkData>, job: ReducerDetails['job']) {
    this.#context = context
    this.job = job
  }

  get parameters() {
    return this.job.parameters
  }

  get signal() {
    return this.#context.signal
  }

  get log() {
    return this.#context.log
  }

  get idempotencyKey() {
    return this.#context.idempotencyKey
  }

  get now() {
    return this.#context.now
  }
}
