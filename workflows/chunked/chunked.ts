import { join, resolve } from 'node:path'
import { type Actor, type Clock, type Control, type Implementation, implement, SluiceError, systemClock } from 'sluice'
import { AttachmentStore, type GivenAttachment } from './attachments.ts'
import type { ChunkData } from './chunk-data.ts'
import { chunkedChunk } from './chunk-machine.ts'
import { chunkPolicy, chunkProcessor } from './chunk-processor.ts'
import { chunkAssigns, chunkCriteria } from './chunk-rules.ts'
import { Definitions, nameOf, planOf } from './definitions.ts'
import type { JobData } from './job-data.ts'
import type { JobDefinition } from './job-definition.ts'
import { chunkedJob } from './job-machine.ts'
import { jobProcessors } from './job-processors.ts'
import { jobProgress } from './job-progress.ts'
import { jobAssigns, jobCriteria } from './job-rules.ts'
import { type ChunkFilter, type ChunkPage, chunksOf, type JobView, jobOf, jobView, warningsOf } from './job-view.ts'
import { parsedParameters, refuseOutside, secretsOf } from './parameters.ts'
import { redacted } from './redaction.ts'
import { type ChunkedLimits, chunkedLimits } from './settings.ts'

export interface ChunkedOptions {
  /** Every version of every job that this process is to know. */
  readonly definitions: readonly JobDefinition[]
  /** Where attachments lie; processes that work on the same jobs share it. Without it jobs have none. */
  readonly folder?: string
  readonly limits?: Partial<ChunkedLimits>
  readonly clock?: Clock
}

export interface StartOptions {
  /** Default: the newest. */
  readonly version?: number
  /** The same key of the same definition gives the same job, also in a race. */
  readonly key?: string
  /** If the job of this key has failed or was cancelled, starts another one, under the key and a number. */
  readonly again?: boolean
  /** Lower first; its chunks have the same. */
  readonly priority?: number
  readonly attachments?: readonly GivenAttachment[] | AsyncIterable<GivenAttachment>
  readonly startedBy?: string
  /** Whose it is: a hold over the collection keeps it from being taken up. */
  readonly collection?: string
  /**
   * Only files and folders below these may be used: for jobs that come from elsewhere. Parameters that are marked as paths are checked now,
   * and the job keeps the folders for its steps. Default: any place.
   */
  readonly roots?: readonly string[]
}

export interface Started {
  readonly id: number
  /** The key was known: this is the job that has it. */
  readonly existing: boolean
}

export interface JobFilter {
  readonly definition?: string
  readonly version?: number
  readonly states?: readonly string[]
  /** By time of creation. */
  readonly from?: number
  readonly to?: number
  readonly after?: number
  readonly limit?: number
}

/** A job as it stands in a list. */
export interface JobLine {
  readonly id: number
  readonly definition: string
  readonly version: number
  readonly state: string
  readonly startedBy: string | null
  readonly createTime: number
  readonly startTime: number | null
  readonly endTime: number | null
  readonly currentStep: string | null
  readonly errorMessage: string | null
}

export interface JobPage {
  readonly jobs: readonly JobLine[]
  readonly next: number | null
}

/** The chunked family: its machines for an engine, and what people ask of its jobs. */
export interface Chunked {
  readonly implementations: readonly Implementation[]
  readonly definitions: readonly JobDefinition[]
  /** What `start` would refuse, without starting anything. */
  check(job: string, parameters: unknown, version?: number): void
  /** Checks the parameters, all of them at once, then creates the job. */
  start<P, In>(
    control: Control,
    job: string | JobDefinition<P, In>,
    parameters: In,
    options?: StartOptions,
  ): Promise<Started>
  job(control: Control, id: number): Promise<JobView>
  /** Newest first. */
  jobs(control: Control, filter?: JobFilter): Promise<JobPage>
  chunks(control: Control, id: number, filter?: ChunkFilter): Promise<ChunkPage>
  /** Chunks that have said something odd. */
  warnings(control: Control, id: number, page?: Pick<ChunkFilter, 'after' | 'limit'>): Promise<ChunkPage>
  cancel(control: Control, id: number, actor?: Partial<Actor>): Promise<void>
  /** Runs the failed chunks of a failed job again, in a new generation. */
  rerun(control: Control, id: number, actor?: Partial<Actor>): Promise<void>
  /** Removes attachments that no job names any more; says how many sets. */
  sweep(control: Control): Promise<number>
}

const sweepAgeMs = 24 * 60 * 60_000
const pageMax = 1_000

export function openChunked(options: ChunkedOptions): Chunked {
  const { folder, clock = systemClock() } = options
  const limits = chunkedLimits(options.limits)
  const definitions = new Definitions(options.definitions)
  const attachments = folder === undefined ? null : new AttachmentStore(join(folder, 'attachments'), limits, clock)
  return {
    implementations: [
      implement(chunkedJob, {
        processors: jobProcessors(definitions),
        criteria: jobCriteria,
        assigns: jobAssigns,
        tuning: {
          retentionMs: ({ data, state }) => retentionOf(definitions, data, state),
          shown: shownJob,
          progress: jobProgress,
        },
      }),
      implement(chunkedChunk, {
        processors: { step: chunkProcessor({ definitions, attachments, limits }) },
        criteria: chunkCriteria,
        assigns: chunkAssigns(limits),
        tuning: {
          policy: chunkPolicy(definitions),
          ceilings: { step: definitions.ceilings },
          shown: shownChunk,
          serves: {
            what: 'job definition',
            names: definitions.all.map(nameOf),
            nameOf: ({ definition }) => definition,
          },
        },
      }),
    ],
    definitions: definitions.all,
    check: (job, parameters, version) => void parsedParameters(definitions.get(job, version), parameters),
    start: (control, job, parameters, given = {}) =>
      start(control, definitions, attachments, typeof job === 'string' ? job : job.id, parameters, {
        ...(typeof job === 'string' ? {} : { version: job.version }),
        ...given,
      }),
    job: (control, id) => jobView(control, id, clock.now()),
    jobs: listJobs,
    chunks: chunksOf,
    warnings: warningsOf,
    async cancel(control, id, actor = {}) {
      await jobOf(control, id)
      await control.act(id, 'cancel', actor)
    },
    async rerun(control, id, actor = {}) {
      await jobOf(control, id)
      await control.act(id, 'rerun', actor)
    },
    async sweep(control) {
      if (!attachments) return 0
      return attachments.sweep(async (value) => {
        const filter = { machine: chunkedJob.name, label: { name: 'attachmentFolder', value }, limit: 1 }
        return (await control.list(filter)).entities.length > 0
      }, sweepAgeMs)
    },
  }
}

async function start(
  control: Control,
  definitions: Definitions,
  store: AttachmentStore | null,
  id: string,
  given: unknown,
  { version, key, again = false, priority, attachments: files = [], startedBy, collection, roots }: StartOptions,
): Promise<Started> {
  const definition = definitions.get(id, version)
  const parameters = parsedParameters(definition, given)
  const { paths: secrets } = secretsOf(definition, given, parameters)
  if (roots) await refuseOutside(definition, parameters, roots)
  const isAsked = !Array.isArray(files) || files.length > 0
  if (isAsked && !store) {
    throw new SluiceError('invalid', 'This process has no folder for attachments; open the family with one.')
  }
  const stored = isAsked && store ? await store.store(files) : null
  const data: JobData = {
    definition: definition.id,
    version: definition.version,
    // JSON has no undefined: a key that is dropped would not fit the data any more.
    parameters: parameters ?? null,
    ...(secrets.length > 0 ? { secrets: secrets.map((path) => [...path]) } : {}),
    plan: planOf(definition),
    collection: collection ?? null,
    ...(roots ? { roots: roots.map((root) => resolve(root)) } : {}),
    attachments: [...(stored?.attachments ?? [])],
    attachmentFolder: stored?.folder ?? null,
    currentStep: null,
    startTime: null,
    endTime: null,
    stepTimes: {},
    toleratedFailures: 0,
    errorMessage: null,
    report: null,
    rerun: null,
    handler: null,
  }
  const options = {
    ...(priority === undefined ? {} : { priority }),
    ...(startedBy === undefined ? {} : { actor: startedBy }),
  }
  if (key === undefined) return control.submit(chunkedJob.name, data, options)
  checkKey(key)
  // Whoever starts it again at the same time counts in the same way, and finds this job.
  for (let count = 1; count <= againMax; count += 1) {
    const own = `job:${definition.id}:${key}${count === 1 ? '' : `#${count}`}`
    const submitted = await control.submit(chunkedJob.name, data, { ...options, key: own })
    if (!submitted.existing) return submitted
    const { state, data: existing } = await control.get(submitted.id, { secrets: true })
    if (again && (state === 'failed' || state === 'cancelled')) continue
    refuseOther(submitted.id, key, existing as JobData, data)
    return submitted
  }
  throw new SluiceError('conflict', `The key ${key} was used ${againMax} times. Use another key.`, { key })
}

const againMax = 1_000

function checkKey(key: string): void {
  if (key !== '') return
  throw new SluiceError('invalid', 'The key of a job must not be empty. Leave it out, or name one.', { key })
}

/** A key stands for one request: whoever uses it for another one is told, and gets neither job. */
function refuseOther(
  id: number,
  key: string,
  existing: JobData,
  { parameters, attachmentFolder, collection }: Pick<JobData, 'parameters' | 'attachmentFolder' | 'collection'>,
): void {
  const isSame =
    JSON.stringify(existing.parameters) === JSON.stringify(JSON.parse(JSON.stringify(parameters ?? null))) &&
    existing.attachmentFolder === attachmentFolder &&
    existing.collection === collection
  if (isSame) return
  throw new SluiceError(
    'conflict',
    `The key ${key} was used for job ${id}, with other parameters or attachments, or in another collection. Use another key.`,
    { id, key },
  )
}

/** What people see: views have the names of secrets, and only steps their values. Where the server keeps files is not shown. */
function shownJob({ roots: _notShown, ...data }: JobData): JobData {
  return { ...data, parameters: redacted(data.parameters, data.secrets) }
}

function shownChunk(data: ChunkData): ChunkData {
  return {
    ...data,
    data: redacted(data.data),
    ...(data.output ? { output: data.output.map((item) => redacted(item)) } : {}),
  }
}

/** A process that does not know the definition keeps its jobs. */
function retentionOf(definitions: Definitions, { definition, version }: JobData, state: string): number | null {
  const { retention = {} } = definitions.find(nameOf({ id: definition, version }))?.definition ?? {}
  const byState: Readonly<Record<string, number | undefined>> = {
    completed: retention.completedMs,
    failed: retention.failedMs,
    cancelled: retention.cancelledMs,
  }
  return byState[state] ?? null
}

/** Ids grow with time: a page ends where jobs are older than asked for. */
async function listJobs(control: Control, filter: JobFilter = {}): Promise<JobPage> {
  const { definition, version, states, from, to, limit = 50 } = filter
  const jobs: JobLine[] = []
  let { after } = filter
  for (;;) {
    const page = await control.list({
      machine: chunkedJob.name,
      newestFirst: true,
      limit: Math.min(pageMax, Math.max(1, limit)),
      ...(definition === undefined ? {} : { label: { name: 'definition', value: definition } }),
      ...(states === undefined ? {} : { states }),
      ...(after === undefined ? {} : { after }),
    })
    for (const entity of page.entities) {
      const data = entity.data as JobData
      if (from !== undefined && entity.createdAt < from) return { jobs, next: null }
      if (to !== undefined && entity.createdAt > to) continue
      if (version !== undefined && data.version !== version) continue
      const { startTime, endTime, currentStep, errorMessage } = data
      jobs.push({
        id: entity.id,
        definition: data.definition,
        version: data.version,
        state: entity.state,
        startedBy: entity.createdBy,
        createTime: entity.createdAt,
        startTime,
        endTime,
        currentStep,
        errorMessage,
      })
      if (jobs.length >= limit) return { jobs, next: entity.id }
    }
    if (page.next === null) return { jobs, next: null }
    after = page.next
  }
}
