import { z } from 'zod'
import type { Stage } from '../../src/testing/simulation/index.ts'
import type { Random } from '../../src/testing/simulation/random.ts'
import {
  defineJob,
  type JobDefinition,
  type Polling,
  type Retry,
  type StepSettings,
} from '../../workflows/chunked/index.ts'
import { type Book, item } from './book.ts'
import { type Mood, runReducer, runStep, tellHandler } from './performance.ts'

/** A job as chance made it: the same for every process of a world, each of which plays it on a stage of its own. */
export interface DrawnJob {
  readonly id: string
  readonly version: number
  readonly steps: readonly DrawnStep[]
  readonly reducer: { readonly id: string; readonly retry: Attempts } | null
  readonly tolerance: { readonly failures: number } | { readonly percent: number }
  readonly retention: { readonly completedMs?: number; readonly failedMs?: number; readonly cancelledMs?: number }
  readonly tells: { readonly completed: boolean; readonly failed: boolean }
  readonly mood: Mood
}

type Attempts = Retry & { readonly attemptsMax: number }

export interface DrawnStep extends StepSettings {
  readonly id: string
  readonly retry: Attempts
  readonly chunkSize: number | undefined
}

const someOfEach: readonly Mood[] = ['good', 'mixed', 'mixed', 'bad', 'bad', 'hopeless']

/** Several jobs, one of them perhaps in two versions. */
export function drawJobs(random: Random, moods: readonly Mood[] = someOfEach): readonly DrawnJob[] {
  const names = ['alpha', 'beta', 'gamma'].slice(0, random.between(1, 3))
  const jobs = names.map((id) => drawJob(random, id, 1, moods))
  return random.chance(0.5) ? [...jobs, drawJob(random, 'alpha', 2, moods)] : jobs
}

function drawJob(random: Random, id: string, version: number, moods: readonly Mood[]): DrawnJob {
  const steps: DrawnStep[] = []
  for (let count = random.pick([1, 2, 2, 3, 3, 4, 5]), index = 0; index < count; index++)
    steps.push(drawStep(random, index))
  return {
    id,
    version,
    steps,
    reducer: random.chance(0.6) ? { id: 'reduce', retry: drawRetry(random) } : null,
    tolerance: random.chance(0.4)
      ? { failures: 0 }
      : random.pick([
          { failures: 1 },
          { failures: 2 },
          { percent: 20 },
          { percent: 50 },
          { percent: 80 },
          { percent: 100 },
        ]),
    retention: random.chance(0.2) ? { completedMs: 3_000, cancelledMs: 2_000 } : {},
    tells: { completed: random.chance(0.5), failed: random.chance(0.5) },
    mood: random.pick(moods),
  }
}

function drawStep(random: Random, index: number): DrawnStep {
  return {
    id: `s${index}`,
    gated: index > 0 && random.chance(0.5),
    retry: drawRetry(random),
    timeoutMs: random.pick([500, 800]),
    chunkSize: index === 0 ? undefined : random.pick([undefined, undefined, 1, 2, 3]),
    ...(random.chance(0.25) ? { polling: drawPolling(random) } : {}),
    ...(random.chance(0.25) ? { concurrency: random.between(1, 2) } : {}),
    ...(random.chance(0.2) ? { weight: 0.1 } : {}),
  }
}

function drawRetry(random: Random): Attempts {
  return { attemptsMax: random.pick([1, 2, 3, 5, 7]), backoff: { firstMs: 30, factor: 2, maxMs: 200, jitter: 0.5 } }
}

function drawPolling(random: Random): boolean | Polling {
  return {
    everyMs: random.pick([20, 100, 300]),
    deadlineMs: random.pick([400, 2_000, 20_000]),
    ...(random.chance(0.5) ? { firstAfterMs: random.between(0, 200) } : {}),
  }
}

/** The definition that one process knows of it. */
export function definitionOf(job: DrawnJob, stage: Stage, book: Book): JobDefinition<unknown, unknown> {
  const { id, version, tolerance, retention, tells, mood, reducer } = job
  const handler = tellHandler(stage, book)
  const head = defineJob({
    id,
    version,
    parameters: z.object({}),
    tolerance,
    retention,
    ...(tells.completed ? { onCompleted: handler } : {}),
    ...(tells.failed ? { onFailed: handler } : {}),
  })
  const [first, ...others] = job.steps
  const stepOf = ({ id: step, retry }: DrawnStep) => ({
    output: item,
    run: runStep(stage, book, mood, laterSteps(job, step), retry.attemptsMax),
  })
  let steps = head.firstStep({ ...settingsOf(first!), ...stepOf(first!) })
  for (const step of others) steps = steps.step({ ...settingsOf(step), chunkSize: step.chunkSize, ...stepOf(step) })
  const definition: unknown = reducer ? steps.reducer({ ...reducer, ...runReducer(stage, mood) }) : steps
  return definition as JobDefinition<unknown, unknown>
}

function settingsOf({ chunkSize: _, ...settings }: DrawnStep): Omit<DrawnStep, 'chunkSize'> {
  return settings
}

/** The next one first; none for the last, whose outputs go to the reducer, if there is one. */
function laterSteps({ steps, reducer }: DrawnJob, id: string) {
  const index = steps.findIndex((step) => step.id === id)
  const later = steps.slice(index + 1).map((step) => step.id)
  return { isFirst: index === 0, later, feedsReducer: later.length === 0 && reducer !== null }
}
