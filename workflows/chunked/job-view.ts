import { type Control, type Detail, type Explanation, type Progress, SluiceError } from 'sluice'
import type { ChunkData } from './chunk-data.ts'
import { chunkedChunk } from './chunk-machine.ts'
import type { Attachment, JobData } from './job-data.ts'
import { chunkedJob } from './job-machine.ts'
import { type StepProgress, stepProgress } from './job-progress.ts'

/** A job as people see it. */
export interface JobView {
  readonly id: number
  readonly definition: string
  readonly version: number
  readonly state: string
  readonly generation: number
  readonly parameters: unknown
  readonly attachments: readonly Attachment[]
  readonly startedBy: string | null
  readonly collection: string | null
  readonly createTime: number
  readonly startTime: number | null
  readonly endTime: number | null
  readonly currentStep: string | null
  readonly percent: number
  readonly etaMs: number | null
  /** Why nothing can be written now, and since when. */
  readonly trouble: Progress['trouble']
  readonly chunks: { readonly total: number; readonly settled: number; readonly failed: number }
  readonly records: number
  readonly recordsPerSecond: number | null
  /** Attempts that ended in an error, and errors that steps got over. */
  readonly errorCount: number
  readonly warningCount: number
  readonly errorMessage: string | null
  /** Failed chunks by reason. */
  readonly reasons: Readonly<Record<string, number>>
  readonly steps: readonly StepProgress[]
  readonly report: unknown
  readonly rerun: Readonly<Record<string, number>> | null
  readonly handler: JobData['handler']
  /** Why it is where it is. */
  readonly sentence: string
  readonly purged: boolean
}

/** The entity, if it is a job: anything else has no such view. */
export async function jobOf(control: Control, id: number): Promise<Detail> {
  const detail = await control.get(id)
  if (detail.machine === chunkedJob.name) return detail
  throw new SluiceError('not_found', `Entity ${id} is no job; it is of machine ${detail.machine}.`, { id })
}

export async function jobView(control: Control, id: number, now: number): Promise<JobView> {
  const [detail, progress] = await Promise.all([jobOf(control, id), control.progress(id)])
  const explanation: Explanation | null = detail.purged ? null : await control.explain(id)
  const data = detail.data as JobData
  const { definition, version, parameters, attachments, startTime, endTime, currentStep, errorMessage } = data
  const steps = stepProgress(data, progress.lanes, detail.settled, now)
  const sum = (name: 'total' | 'settled' | 'failed' | 'records' | 'errors' | 'warnings') =>
    steps.reduce((all, step) => all + step[name], 0)
  // The reducer reads what others have processed: it processes nothing anew.
  const records = steps.filter(({ kind }) => kind === 'step').reduce((all, step) => all + step.records, 0)
  const elapsedMs = startTime === null ? 0 : (endTime ?? now) - startTime
  return {
    id,
    definition,
    version,
    state: detail.state,
    generation: detail.generation,
    parameters,
    attachments,
    startedBy: detail.createdBy,
    collection: data.collection,
    createTime: detail.createdAt,
    startTime,
    endTime,
    currentStep,
    percent: progress.percent,
    etaMs: progress.etaMs,
    trouble: progress.trouble,
    chunks: { total: sum('total'), settled: sum('settled'), failed: sum('failed') },
    records,
    recordsPerSecond: records === 0 || elapsedMs <= 0 ? null : (records * 1_000) / elapsedMs,
    errorCount: sum('errors') + (progress.sums.recovered ?? 0),
    warningCount: sum('warnings'),
    errorMessage: detail.state === 'failed' ? await withExample(control, id, steps, errorMessage) : errorMessage,
    reasons: progress.reasons,
    steps,
    report: data.report ?? (detail.state === 'failed' ? await reportOfFailed(control, detail) : null),
    rerun: data.rerun,
    handler: data.handler,
    sentence: explanation?.sentence ?? `Job ${id} was removed by retention; this is what is left of it.`,
    purged: detail.purged,
  }
}

/** The report of a job that failed stays with the REDUCER chunk that failed with it: the latest, if the job was run again. */
async function reportOfFailed(control: Control, { id, data, purged }: Detail): Promise<unknown> {
  const { reducer } = (data as JobData).plan
  if (reducer === null || purged) return null
  const filter = { parent: id, lane: reducer, states: ['failed'], newestFirst: true, limit: 1 }
  const [chunk] = (await control.list(filter)).entities
  return (chunk?.data as ChunkData | undefined)?.report ?? null
}

/** Reasons are short, as they are counted: what the first failed chunk says tells more. */
async function withExample(
  control: Control,
  id: number,
  steps: readonly StepProgress[],
  errorMessage: string | null,
): Promise<string | null> {
  const failing = steps.find(({ failed }) => failed > 0)
  if (!failing) return errorMessage
  const { chunks } = await chunksOf(control, id, { step: failing.id, states: ['failed'], limit: 1 })
  const message = chunks[0]?.errorMessage ?? null
  if (message === null || errorMessage?.includes(message)) return errorMessage
  return `${errorMessage ?? 'The job failed'} (chunk ${chunks[0]!.id}: ${message})`
}

/** A chunk as people see it. */
export interface ChunkView {
  readonly id: number
  readonly step: string
  readonly state: string
  readonly kind: 'chunk' | 'REDUCER'
  readonly source: number | null
  readonly sequence: number | null
  readonly data: unknown
  readonly nextPollTimestamp: number | null
  readonly pollAttempts: number
  readonly errorCount: number
  readonly errorMessage: string | null
  readonly reason: string | null
  readonly warnings: readonly string[]
  readonly createTime: number
  readonly changedAt: number
}

export interface ChunkFilter {
  readonly step?: string
  readonly states?: readonly string[]
  readonly after?: number
  readonly limit?: number
}

export interface ChunkPage {
  readonly chunks: readonly ChunkView[]
  readonly next: number | null
}

export async function chunksOf(control: Control, id: number, filter: ChunkFilter = {}): Promise<ChunkPage> {
  const { data } = await jobOf(control, id)
  const { step, states, limit = 100 } = filter
  if (step !== undefined) checkStep(id, data as JobData, step)
  const chunks: ChunkView[] = []
  let { after } = filter
  for (let pages = 0; ; pages += 1) {
    const page = await control.list({
      parent: id,
      machine: chunkedChunk.name,
      limit,
      ...(step === undefined ? {} : { lane: step }),
      ...(states === undefined ? {} : { states: storedStates(states) }),
      ...(after === undefined ? {} : { after }),
    })
    const shown = page.entities.filter((entity) => states === undefined || states.includes(entity.shown))
    chunks.push(...shown.slice(0, limit - chunks.length).map(chunkView))
    const last = chunks.at(-1)
    if (chunks.length >= limit && last)
      return { chunks, next: page.next === null && shown.at(-1)?.id === last.id ? null : last.id }
    if (page.next === null || pages >= pagesMax) return { chunks, next: page.next }
    after = page.next
  }
}

function checkStep(id: number, { plan }: JobData, step: string): void {
  const steps = [...plan.steps.map((one) => one.id), ...(plan.reducer === null ? [] : [plan.reducer])]
  if (steps.includes(step)) return
  throw new SluiceError('invalid', `Job ${id} has no step ${step}. It has: ${steps.join(', ')}.`, { id, step, steps })
}

/** Behind a shut gate there may be a million chunks that are not what was asked for: so many pages are looked through at once. */
const pagesMax = 20

/** A chunk behind an open gate is ready, though its row says so only from its claim on. */
function storedStates(states: readonly string[]): readonly string[] {
  return states.includes('ready') ? [...new Set([...states, 'gate_waiting'])] : states
}

/** Chunks with warnings are found by a label: a job may have a million others. */
export async function warningsOf(
  control: Control,
  id: number,
  page: Pick<ChunkFilter, 'after' | 'limit'> = {},
): Promise<ChunkPage> {
  await jobOf(control, id)
  const { after, limit = 100 } = page
  const found = await control.list({
    machine: chunkedChunk.name,
    label: { name: 'warned', value: String(id) },
    limit,
    ...(after === undefined ? {} : { after }),
  })
  return { chunks: found.entities.map(chunkView), next: found.next }
}

type Listed = Awaited<ReturnType<Control['list']>>['entities'][number]

function chunkView(entity: Listed): ChunkView {
  const data = entity.data as ChunkData
  return {
    id: entity.id,
    step: entity.lane,
    state: entity.shown,
    kind: data.kind ?? 'chunk',
    source: entity.source,
    sequence: entity.ordinal,
    data: data.data,
    // A claim does not change data: what was waited for is over once it no longer waits.
    nextPollTimestamp: entity.shown === 'poll_waiting' ? data.nextPollTimestamp : null,
    pollAttempts: data.pollAttempts,
    errorCount: data.errorCount,
    errorMessage: data.errorMessage ?? null,
    reason: entity.reason,
    warnings: data.warnings ?? [],
    createTime: entity.createdAt,
    changedAt: entity.changedAt,
  }
}
