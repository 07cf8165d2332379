import type { Machine } from '../../src/machine.ts'
import type {
  Invariant,
  Known,
  Model,
  Random,
  Stage,
  Workload,
  WorkloadParts,
} from '../../src/testing/simulation/index.ts'
import { type ChunkedLimits, chunkedChunk, chunkedJob, openChunked } from '../../workflows/chunked/index.ts'
import { Book } from './book.ts'
import { type DrawnJob, definitionOf, drawJobs } from './drawn-job.ts'
import { chunkedInvariants, type Expectations } from './invariants.ts'
import { chunkOf, isChunk, isJob } from './job-reading.ts'
import type { Mood } from './performance.ts'
import { checkAtRest } from './rest.ts'

/** Small ones: a run sees many pages, checkpoints, and jobs that must be read again. */
const limits: Partial<ChunkedLimits> = { unknownMs: 200, reduceEvery: 2, warningsMax: 2, jobsAtHand: 2 }

export interface ChunkedWorkloadOptions {
  /** Told of every edge that was taken. */
  readonly taken?: Set<string>
  /** Of the jobs; default some of each. */
  readonly moods?: readonly Mood[]
}

/** Jobs of the chunked family, as chance draws them. */
export function chunkedWorkload({ random, complain }: WorkloadParts, options: ChunkedWorkloadOptions = {}): Workload {
  const { taken = new Set(), moods } = options
  const book = new Book(complain)
  const jobs = drawJobs(random, moods)
  const knownBy = new Map<string, readonly DrawnJob[]>()
  const expectations: Expectations = {
    rulesOf: (definition, step) => rulesOf(jobs, definition, step),
    knows: (process, definition) => knownBy.get(process)?.some((job) => nameOf(job) === definition) ?? false,
  }
  // Whoever starts jobs knows them all; it runs none of their steps, and so needs no stage.
  const client = openChunked({ definitions: jobs.map((job) => definitionOf(job, {} as Stage, book)), limits })
  return {
    name: 'chunked',
    machines: [chunkedJob, chunkedChunk] as readonly Machine[],
    rules: {
      fanOuts: {},
      joins: new Set(['chunked_job finalize', 'chunked_job complete', 'chunked_job report']),
      never: new Set(['chunked_job give_up']),
      asked: new Set(['chunked_job notify_completed', 'chunked_job notify_failed', 'chunked_job notify_cancelled']),
      attemptsMax: (known) =>
        isChunk(known) ? rulesOf(jobs, chunkOf(known).definition, known.lane).attemptsMax : undefined,
      isCrowded: ({ labels: [limit] }) => limit !== null,
      pools: {},
      shares: [],
    },
    invariants: [...chunkedInvariants(book, expectations), coverage(taken)],
    submitChance: 1 / 150,
    bustle: 3,
    implementations: (stage) => {
      const known = knownBy.get(stage.name) ?? knownTo(stage, jobs)
      knownBy.set(stage.name, known)
      const definitions = known.map((job) => definitionOf(job, stage, book))
      return openChunked({ definitions, limits, clock: stage.clock }).implementations
    },
    drawWish: (random) => {
      const priority = random.chance(0.2) ? random.between(-2, 2) : 0
      return { machine: chunkedJob.name, data: random.pick(jobs), priority }
    },
    send: (control, { data, priority = 0 }, key) => {
      const { id, version } = data as DrawnJob
      return client.start(control, id, {}, { version, priority, ...(key === null ? {} : { key }) })
    },
    favourite: worthwhile,
    // Whoever cancels all jobs has nothing to see any more.
    actionForAll: ({ state }) => (state === 'failed' ? 'rerun' : undefined),
    check: (model, complain) => checkAtRest(model, book, complain),
  }
}

/** The processes of the first place know everything, so that nobody waits for ever; others may lack something. */
function knownTo({ name, random }: Stage, jobs: readonly DrawnJob[]): readonly DrawnJob[] {
  const isWhole = name.startsWith('p0.') || random.chance(0.75)
  return isWhole ? jobs : jobs.filter(() => random.chance(0.5))
}

function nameOf({ id, version }: DrawnJob): string {
  return `${id}@${version}`
}

function rulesOf(jobs: readonly DrawnJob[], definition: string, step: string): ReturnType<Expectations['rulesOf']> {
  const job = jobs.find((job) => nameOf(job) === definition)
  const found = job?.steps.find(({ id }) => id === step)
  if (found) return { attemptsMax: found.retry.attemptsMax, concurrency: found.concurrency ?? null }
  if (job?.reducer?.id === step) return { attemptsMax: job.reducer.retry.attemptsMax, concurrency: null }
  throw new Error(`There is no ${definition}/${step}.`)
}

/** Mostly a failed job: there is more to be done with it than with the others. Few jobs are cancelled, or none would come to anything. */
function worthwhile(model: Model, random: Random): Known | undefined {
  const what = random.weighted({ failedJob: 12, runningJob: 1, reducingJob: 1, endedJob: 0.5, failedChunk: 1 })
  const favourites: Known[] = []
  for (const known of model.all) if (kindOf(known) === what) favourites.push(known)
  return favourites.length === 0 ? someChunk(model) : random.pick(favourites)
}

function kindOf(known: Known): string | null {
  if (isChunk(known)) return known.state === 'failed' ? 'failedChunk' : null
  if (!isJob(known)) return null
  if (known.state === 'failed') return 'failedJob'
  if (known.state === 'finalize') return 'reducingJob'
  return known.settled ? 'endedJob' : 'runningJob'
}

/** With whom nothing can be done. */
function someChunk(model: Model): Known | undefined {
  for (const known of model.all) if (isChunk(known)) return known
  return undefined
}

/** Complains of nothing: what was never taken was never tried. */
function coverage(taken: Set<string>): Invariant {
  return {
    name: 'coverage',
    sentence: 'Every edge of the family is taken by some run.',
    move({ record, known }) {
      if (!isJob(known) && !isChunk(known)) return null
      for (const { transition, from } of record.hops) taken.add(`${known.machine.name} ${transition} from ${from}`)
      return null
    },
  }
}
