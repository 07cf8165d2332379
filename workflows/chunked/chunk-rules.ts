import { type Assign, type Criterion, defaultLimits, type EdgeChange, type Sums } from 'sluice'
import type { ChunkData } from './chunk-data.ts'
import type { ChunkedLimits } from './settings.ts'

/** What a job says when it runs its failed chunks again. Nobody else may: a chunk without its job would change nothing. */
export interface RerunWithJob {
  readonly withJob: true
  /** Steps whose chunks wait for their gate again. */
  readonly gated: readonly string[]
}

/** Errors are counted in the commit that ends the attempt, so that the count outlives whatever the attempt did. */
export function chunkAssigns({ messageMax }: Pick<ChunkedLimits, 'messageMax'>) {
  const recordError: Assign<ChunkData> = ({ data }, { error }) => {
    const { errorMessage: _, ...kept } = data
    return counted({ ...kept, nextPollTimestamp: null }, error, messageMax)
  }
  const recordFailure: Assign<ChunkData> = ({ data }, { error, reason }) => {
    const { errorMessage: _message, ...kept } = data
    return counted({ ...kept, nextPollTimestamp: null }, error ?? reason, messageMax)
  }
  const forgetFailure: Assign<ChunkData> = ({ data }) => {
    const { errorMessage: _message, pollDeadline: _deadline, ...kept } = data
    return { data: { ...kept, pollAttempts: 0 } }
  }
  return { recordError, recordFailure, forgetFailure }
}

/** A chunk that fills its row has no room for the message, which stands in its history, too. */
function counted(data: ChunkData, message: string | null, messageMax: number): EdgeChange<ChunkData> {
  const once: ChunkData = { ...data, errorCount: data.errorCount + 1 }
  const isFull = Buffer.byteLength(JSON.stringify(once)) + messageMax * 6 > defaultLimits.dataBytesMax
  const errorMessage = (message ?? 'no message').slice(0, messageMax)
  return { data: isFull ? once : { ...once, errorMessage }, sums: sumsOf(once) }
}

function sumsOf({ errorCount }: ChunkData): Sums {
  return { errors: errorCount }
}

const MayBeRerun: Criterion<ChunkData> = ({ data, parent }, { input }) => {
  if (data.kind === 'REDUCER') return 'its job runs the reducer again, when all chunks before it are complete'
  return rerunOf(input)?.withJob === true || `a chunk is run again with its job: rerun job ${parent}`
}

const IsGated: Criterion<ChunkData> = ({ lane }, { input }) => rerunOf(input)?.gated?.includes(lane) ?? false

function rerunOf(input: unknown): Partial<RerunWithJob> | null {
  return typeof input === 'object' ? (input as Partial<RerunWithJob> | null) : null
}

export const chunkCriteria = { MayBeRerun, IsGated }
