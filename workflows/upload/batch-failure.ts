import type { Assign, Facts, View } from 'sluice'
import { type BatchData, type BatchFailure, metadataOf } from './batch-data.ts'
import { itemCounts } from './item-counts.ts'

type BatchAssign = Assign<BatchData>

/** Who was at work in a state, for failures that no processor could report itself. */
const processorIn: Readonly<Record<string, string>> = {
  initial_state: 'UploadBatchInitProcessor',
  uploaded: 'UploadBatchValidationProcessor',
  extracting: 'UploadBatchExtractionProcessor',
  processing: 'UploadBatchProcessingProcessor',
}

/** These change nothing but the batch itself, so they are part of the edge's own commit. `isTold`: there is a receiver of notifications. */
export const batchAssigns = (isTold: boolean) =>
  ({
    UploadBatchFailureProcessor: (batch, facts) => {
      const { lastError: _last, ...data } = batch.data
      const failure = failureOf(batch, facts)
      const retryCount = (data.retryCount ?? 0) + 1
      const failed = { ...data, failure, retryCount, lastRetryAt: facts.now, processingCompletedAt: facts.now }
      // Of a file that was refused, and of what a person has ended, the person knows.
      const isNews = isTold && batch.version > 1 && facts.reason === null && facts.actor === null
      return {
        ...(isNews
          ? { data: { ...failed, notification: waiting(facts.now) }, ask: 'notify_failed' }
          : { data: failed }),
        log: {
          level: 'error',
          message: 'batch failed',
          fields: {
            reason: failure.reason,
            error: failure.error,
            processor: failure.processor,
            attempt: failure.attempt,
            retryCount,
            stackTrace: failure.stackTrace,
          },
        },
      }
    },

    UploadBatchRetryProcessor: (batch, { now, actor }) => {
      const { failure: _failure, errorSummary: _errors, resultSummary: _result, lastError: _last, ...data } = batch.data
      return {
        data: {
          ...data,
          // A batch that failed before it was initialised goes on behind that step.
          ...metadataOf(data),
          failure: null,
          errorSummary: null,
          resultSummary: null,
          notification: null,
          itemRetry: null,
          itemsProcessed: 0,
          itemsErrored: 0,
          itemsSkipped: 0,
          processingStartedAt: now,
          processingCompletedAt: null,
          estimatedCompletionTime: null,
        },
        log: { message: 'batch retried', fields: { actor, retryCount: data.retryCount ?? 0 } },
      }
    },

    recordRefusedRetry: (batch, facts) => {
      const { lastError, ...data } = batch.data
      const { reason, error, now } = facts
      const isRetrys = reason === nothingToRetry || lastError?.processor === 'UploadBatchRetryFailedItemsProcessor'
      if (data.notification?.waiting && !isRetrys) return notificationFailed(batch, facts)
      const sentence = error ?? reason ?? 'The retry did not begin.'
      return {
        data: { ...data, itemRetry: { retried: 0, refused: data.itemsErrored ?? 0, at: now, sentence } },
        log: { level: 'warn', message: 'retry of failed items refused', fields: { reason, error } },
        // The retry was asked for in place of a notification that had not been sent.
        ...(data.notification?.waiting ? { ask: 'notify_partially_completed' } : {}),
      }
    },

    askForNotification: ({ data }, { now }) => {
      if (!isTold) return {}
      const ask = data.itemsErrored === 0 ? 'notify_completed' : 'notify_partially_completed'
      return { data: { ...data, notification: waiting(now) }, ask }
    },

    recordFailedNotification: notificationFailed,
  }) satisfies Record<string, BatchAssign>

/** The reason of a retry that found no item to retry. */
export const nothingToRetry = 'no failed item may be retried'

function notificationFailed({ data: { lastError: _last, ...data } }: View<BatchData>, { reason, error, now }: Facts) {
  return {
    data: { ...data, notification: { sent: false, error: error ?? reason, at: now } },
    log: { level: 'error', message: 'completion notification not sent', fields: { reason, error } },
  } as const
}

function waiting(now: number) {
  return { sent: false, waiting: true, error: null, at: now, attempts: 0 }
}

function failureOf(batch: View<BatchData>, { now, reason, error, actor, input, lanes }: Facts): BatchFailure {
  const { lastError } = batch.data
  const said = reasonIn(input)
  const why = said ?? reason ?? (actor ? `marked as failed by ${actor}` : allFailed)
  // What a person says is no processor's failure.
  const isReported = actor === null && reason !== null
  const failure = {
    reason: why,
    error: error ?? lastError?.message ?? null,
    stackTrace: lastError?.stack ?? null,
    processor: lastError?.processor ?? (isReported ? (processorIn[batch.state] ?? null) : null),
    attempt: lastError?.attempt ?? (isReported ? 1 : 0),
    state: batch.state,
    failedAt: now,
    actor,
  }
  return { ...failure, report: reportOf(batch, failure, lanes) }
}

const allFailed = 'every item failed'

function reasonIn(input: unknown): string | null {
  if (typeof input !== 'object' || input === null) return null
  const { reason } = input as { reason?: unknown }
  return typeof reason === 'string' && reason !== '' ? reason.slice(0, 500) : null
}

function reportOf(batch: View<BatchData>, failure: Omit<BatchFailure, 'report'>, lanes: Facts['lanes']): string {
  const { data } = batch
  const counts = lanes && itemCounts(lanes, data.totalItemsInFile ?? 0)
  const lines = [
    `Upload batch ${batch.id}, file ${data.fileName} (${data.received.fileSize} bytes, MD5 ${data.received.md5}), failed in ${failure.state}.`,
    `Reason: ${failure.reason.replace(/\.$/, '')}.`,
    ...(failure.error && failure.error !== failure.reason ? [`Error: ${failure.error}`] : []),
    ...(failure.processor ? [`Processor ${failure.processor}, attempt ${failure.attempt}.`] : []),
    ...(failure.actor ? [`Asked for by ${failure.actor}.`] : []),
    ...(counts
      ? [
          `Items: ${counts.total} in the file, ${counts.completed} completed, ${counts.failed} failed, ${counts.skipped} skipped, ${counts.pending} not settled.`,
        ]
      : []),
    ...(data.errorSummary?.byReason ?? []).map(({ reason, count }) => `  ${count} × ${reason}`),
  ]
  return lines.join('\n')
}
