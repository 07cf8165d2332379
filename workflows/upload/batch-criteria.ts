import type { Criterion, Facts } from 'sluice'
import type { BatchData } from './batch-data.ts'
import { type ItemCounts, itemCounts } from './item-counts.ts'
import type { UploadLimits } from './settings.ts'

type BatchCriterion = Criterion<BatchData>

/** Each says which of its conditions does not hold: that sentence is the batch's reason. */
export function batchCriteria(
  { retriesMax, retryWindowMs }: Pick<UploadLimits, 'retriesMax' | 'retryWindowMs'>,
  isTold: boolean,
) {
  return {
    UploadBatchValidCriterion: ({ data }) =>
      firstFault([
        [data.fileName !== '', 'fileName is missing'],
        [(data.fileSize ?? 0) > 0, 'fileSize is 0: the file is empty'],
        [!!data.fileMd5Hash, 'fileMd5Hash is missing'],
        [
          data.contentType?.includes('json') ?? false,
          `contentType is ${data.contentType ?? 'unknown'}: it must contain "json"`,
        ],
        [(data.validation?.fault ?? null) === null, `the file cannot be read: ${data.validation?.fault}`],
        [(data.totalItemsInFile ?? 0) > 0, 'totalItemsInFile is 0: the file holds no items'],
      ]),

    UploadBatchExtractionCompleteCriterion: ({ data }) =>
      firstFault([
        [(data.totalItemsInFile ?? 0) > 0, 'totalItemsInFile is 0'],
        [(data.itemsProcessed ?? 0) >= 0, 'itemsProcessed is below 0'],
        [(data.processingCompletedAt ?? null) !== null, 'processingCompletedAt is not set: extraction has not ended'],
      ]),

    UploadBatchAllItemsCompleteCriterion: ({ data }, facts) => {
      const counts = countsOf(data, facts)
      return counts.isOver && counts.failed === 0
    },

    UploadBatchSomeItemsCompleteCriterion: ({ data }, facts) => {
      const counts = countsOf(data, facts)
      return counts.isOver && counts.failed > 0 && counts.failed < counts.total
    },

    UploadBatchAllItemsFailedCriterion: ({ data }, facts) => {
      const counts = countsOf(data, facts)
      return counts.isOver && counts.failed > 0 && counts.failed === counts.total
    },

    // A process that has no receiver may ask for what another process, which has one, is to send.
    UploadBatchNotifiableCriterion: ({ data }) =>
      isTold || !!data.notification || 'no receiver of notifications is configured',

    UploadBatchRetryableCriterion: ({ data }, { now }) => {
      const retries = data.retryCount ?? 0
      const age = now - (data.lastRetryAt ?? now)
      return firstFault([
        [data.fileName !== '', 'fileName is missing'],
        [retries < retriesMax, `the batch has failed ${retries} times; at most ${retriesMax} failures may be retried`],
        [age < retryWindowMs, `it failed ${hours(age)} ago; it may be retried within ${hours(retryWindowMs)}`],
      ])
    },
  } satisfies Record<string, BatchCriterion>
}

/** Refusals that speak of the file alone: it is refused again until it is mended. */
export function isOfFile(reason: string): boolean {
  return /^(fileSize is 0|the file cannot be read|totalItemsInFile is 0|file is too big)/.test(reason)
}

function countsOf(data: BatchData, { lanes }: Facts): ItemCounts & { isOver: boolean } {
  const counts = itemCounts(lanes ?? [], data.totalItemsInFile ?? 0)
  return { ...counts, isOver: counts.total > 0 && counts.pending === 0 }
}

function firstFault(conditions: readonly (readonly [boolean, string])[]): true | string {
  return conditions.find(([holds]) => !holds)?.[1] ?? true
}

export function hours(ms: number): string {
  return `${Math.round(ms / 360_000) / 10} h`
}
