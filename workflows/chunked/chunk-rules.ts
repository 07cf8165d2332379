import { isDeepStrictEqual } from 'node:util'
import { type Assign, type Criterion, defaultLimits, type EdgeChange, type Sums } from 'sluice'
import type { ChunkData } from './chunk-data.ts'
import type { ChunkedLimits } from './settings.ts'

/** What the job says when it runs its failed chunks again: nobody else may, for a chunk without its job would change nothing. */
export const withJob = { withJob: true } as const

/** Errors are counted in the commit that ends the attempt, so that the count outlives whatever the attempt did. */
export function chunkAssigns({ messageMax }: Pick<ChunkedLimits, 'messageMax'>) {
  const recordError: Assign<ChunkData> = ({ data }, { error }) => {
    const { errorMessage: _, ...kept } = data
    return counted(kept, error, messageMax)
  }
  const recordFailure: Assign<ChunkData> = ({ data }, { error, reason }) => {
    const { waitsFor: _waits, errorMessage: _message, ...kept } = data
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

export const chunkCriteria = {
  MayBeRerun: (({ data, parent }, { input }) => {
    if (data.kind === 'REDUCER') return 'its job runs the reducer again, when all chunks before it are complete'
    return isDeepStrictEqual(input, withJob) || `a chunk is run again with its job: rerun job ${parent}`
  }) satisfies Criterion<ChunkData>,
}
