import type { Entity } from '../../src/entity.ts'
import type { Known, Model, MoveFact } from '../../src/testing/simulation/index.ts'
import type { ChunkData, JobData } from '../../workflows/chunked/index.ts'

const jobs = new WeakMap<Entity, JobData>()
const chunks = new WeakMap<Entity, ChunkData>()

/** A job's data as its row was last seen. */
export function jobOf({ row }: Known): JobData {
  let data = jobs.get(row)
  if (!data) {
    data = JSON.parse(row.data) as JobData
    jobs.set(row, data)
  }
  return data
}

export function chunkOf({ row }: Known): ChunkData {
  let data = chunks.get(row)
  if (!data) {
    data = JSON.parse(row.data) as ChunkData
    chunks.set(row, data)
  }
  return data
}

/** The data that a move leaves behind. */
export function jobAfter({ move, known }: MoveFact): JobData {
  return move?.data ? (JSON.parse(move.data) as JobData) : jobOf(known)
}

export function chunkAfter({ move, known }: MoveFact): ChunkData {
  return move?.data ? (JSON.parse(move.data) as ChunkData) : chunkOf(known)
}

export const isJob = ({ machine }: Known): boolean => machine.name === 'chunked_job'
export const isChunk = ({ machine }: Known): boolean => machine.name === 'chunked_chunk'

/** Position of a step; the reducer stands behind all steps; -1 for none. */
export function placeOf({ plan }: JobData, step: string | null): number {
  return step !== null && step === plan.reducer ? plan.steps.length : plan.steps.findIndex(({ id }) => id === step)
}

/** The chunks of a job by the place of their step. */
export function chunksByPlace(model: Model, job: Known): readonly (readonly Known[])[] {
  const data = jobOf(job)
  const places: Known[][] = Array.from({ length: data.plan.steps.length + 1 }, () => [])
  for (const chunk of model.childrenOf(job.id)) places[placeOf(data, chunk.lane)]?.push(chunk)
  return places
}

/** The first step that has open chunks; -1: there is none. */
export function frontierOf(places: readonly (readonly Known[])[]): number {
  return places.slice(0, -1).findIndex((chunks) => chunks.some(({ settled }) => !settled))
}

/** Written anew, not taken from the family: more chunks have failed than the job tolerates. A share counts where a step cannot grow any more. */
export function isBeyondTolerance({ plan: { tolerance } }: JobData, places: readonly (readonly Known[])[]): boolean {
  const failures = places.slice(0, -1).map((chunks) => chunks.filter(({ state }) => state === 'failed').length)
  if ('failures' in tolerance) return failures.reduce((sum, count) => sum + count, 0) > tolerance.failures
  const frontier = frontierOf(places)
  return failures.some(
    (count, place) => (frontier < 0 || place <= frontier) && (count * 100) / places[place]!.length > tolerance.percent,
  )
}
