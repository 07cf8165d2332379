import type { Schema } from 'sluice'

/** One piece of work for one step: the lane names the step, the parent is the job. */
export interface ChunkData {
  /** `id@version` of the job's definition. */
  readonly definition: string
  /** What the step works on. Null for the first step, which has only the job's parameters. */
  readonly data: unknown
  /** When a chunk that polls is looked at again; null while it does not wait. */
  readonly nextPollTimestamp: number | null
  readonly pollAttempts: number
  /** Attempts that ended in an error. Polls are none. */
  readonly errorCount: number
  /** From the first poll on: beyond it the chunk fails. */
  readonly pollDeadline?: number
  readonly errorMessage?: string
  /** What the step has said without failing, and how many of these were errors that it got over. */
  readonly warnings?: readonly string[]
  readonly recovered?: number
  /** Of the last step before a reducer: what the reducer reads. */
  readonly output?: readonly unknown[]
  /** Of the reducer's own chunk: what it is, and what came of it. */
  readonly kind?: 'REDUCER'
  readonly report?: unknown
  /** Label: the step's limit on how many run at once. Only chunks of limited steps carry it. */
  readonly limit?: string
  /** Label: the job, if the chunk has warnings. */
  readonly warned?: string
}

/** Not checked at every move: only this family writes it, and a job has a million of them. */
export const chunkData: Schema<ChunkData> = {
  safeParse: (value) => ({ success: true, data: value as ChunkData }),
}

export function newChunk(definition: string, data: unknown, limit: string | null): ChunkData {
  const fresh = { definition, data, nextPollTimestamp: null, pollAttempts: 0, errorCount: 0 }
  return limit === null ? fresh : { ...fresh, limit }
}
