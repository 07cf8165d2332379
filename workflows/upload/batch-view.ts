import { type Control, type Detail, type Entity, type Progress, SluiceError } from 'sluice'
import type { BatchData, BatchFailure, ErrorSummary, ResultSummary } from './batch-data.ts'
import { uploadBatch } from './batch-machine.ts'
import { type RetryView, retryOf } from './batch-retry.ts'
import { type ItemCounts, itemCounts, unknownReason } from './item-counts.ts'
import type { ItemData } from './item-data.ts'

/** A batch as people see it: its fields under the requirement's names, its counts from the tallies of this moment. */
export interface UploadBatchView {
  readonly id: number
  readonly state: string
  readonly fileName: string
  readonly fileSize: number
  readonly contentType: string
  readonly fileMd5Hash: string
  readonly sha256: string
  readonly uploadedBy: string
  readonly collection: string | null
  readonly uploadedAt: number
  readonly processingStartedAt: number | null
  readonly processingCompletedAt: number | null
  readonly estimatedCompletionTime: number | null
  readonly totalItemsInFile: number
  readonly itemsProcessed: number
  readonly itemsErrored: number
  readonly itemsSkipped: number
  readonly itemsPending: number
  readonly percent: number
  readonly ratePerSecond: number | null
  readonly etaMs: number | null
  /** Why nothing can be written now, and since when. */
  readonly trouble: Progress['trouble']
  readonly reasons: Readonly<Record<string, number>>
  readonly resultSummary: ResultSummary | null
  readonly errorSummary: ErrorSummary | null
  readonly failure: Omit<BatchFailure, 'stackTrace'> | null
  /** Only for operators. */
  readonly stackTrace: string | null
  readonly retryCount: number
  readonly lastRetryAt: number | null
  /** Null: there is nothing to retry, or it has not ended. */
  readonly retry: RetryView | null
  readonly itemRetry: BatchData['itemRetry'] | null
  readonly notification: BatchData['notification'] | null
  /** What a person should look at besides the state, with what helps. */
  readonly attention: readonly string[]
  /** What its processor says of itself: bytes validated, items extracted. */
  readonly work: unknown
  /** Why it is where it is. */
  readonly sentence: string
}

/** The entity, if it is a batch: anything else has no such view. */
async function batchOf(control: Control, id: number): Promise<Detail> {
  const detail = await control.get(id)
  if (detail.machine === uploadBatch.name) return detail
  throw new SluiceError('not_found', `Entity ${id} is no upload batch; it is of machine ${detail.machine}.`, { id })
}

export async function batchView(control: Control, id: number, isOperator = false): Promise<UploadBatchView> {
  const [detail, progress, explanation] = await Promise.all([
    batchOf(control, id),
    control.progress(id),
    control.explain(id),
  ])
  const data = detail.data as BatchData
  const counts = itemCounts(progress.lanes, data.totalItemsInFile ?? 0)
  const { stackTrace = null, ...failure } = data.failure ?? {}
  const isSettled = detail.settled
  return {
    id,
    state: detail.state,
    fileName: data.fileName,
    fileSize: data.received.fileSize,
    contentType: data.received.contentType,
    fileMd5Hash: data.received.md5,
    sha256: data.sha256,
    uploadedBy: data.uploadedBy,
    collection: data.collection ?? null,
    uploadedAt: data.received.at,
    processingStartedAt: data.processingStartedAt ?? null,
    // Extraction sets it too, for its own criterion; a batch whose items still run has not completed.
    processingCompletedAt: isSettled ? (data.processingCompletedAt ?? null) : null,
    estimatedCompletionTime: progress.etaMs === null ? (data.estimatedCompletionTime ?? null) : null,
    totalItemsInFile: counts.total,
    itemsProcessed: counts.completed,
    itemsErrored: counts.failed,
    itemsSkipped: counts.skipped,
    itemsPending: counts.pending,
    percent: counts.total === 0 ? 0 : ((counts.total - counts.pending) / counts.total) * 100,
    ratePerSecond: progress.ratePerSecond,
    etaMs: isSettled ? null : progress.etaMs,
    trouble: progress.trouble,
    reasons: counts.reasons,
    resultSummary: data.resultSummary ?? null,
    errorSummary: currentErrors(data.errorSummary ?? null, counts),
    failure: data.failure ? (failure as Omit<BatchFailure, 'stackTrace'>) : null,
    stackTrace: isOperator ? stackTrace : null,
    retryCount: data.retryCount ?? 0,
    lastRetryAt: data.lastRetryAt ?? null,
    retry: retryOf(detail, data, counts),
    itemRetry: data.itemRetry ?? null,
    notification: data.notification ?? null,
    attention: attentionIn(data),
    work: detail.progress,
    sentence: explanation.sentence,
  }
}

/** Counts of this moment, as errorDetails has its items, with the samples that were taken when the batch closed last. */
function currentErrors(taken: ErrorSummary | null, { failed, reasons }: ItemCounts): ErrorSummary | null {
  if (failed === 0) return null
  const byReason = Object.entries(reasons)
    .sort(([, one], [, other]) => other - one)
    .map(([reason, count]) => ({
      reason,
      count,
      samples: taken?.byReason.find((row) => row.reason === reason)?.samples ?? [],
    }))
  return { ...taken, total: failed, byReason }
}

function attentionIn({ notification }: BatchData): readonly string[] {
  if (!notification || notification.sent || notification.waiting) return []
  return [`The notification was not sent: ${notification.error} The action notify sends it again.`]
}

/** One failed item, as errorDetails lists it. */
export interface BatchError {
  /** The item's own entity. */
  readonly id: number
  readonly itemIndex: number
  /** Where it begins in the (inflated) file. */
  readonly offset: number
  readonly hnId: number | null
  readonly errorType: 'VALIDATION' | 'DUPLICATE' | 'PROCESSING' | 'UNKNOWN'
  readonly reason: string
  readonly errorMessage: string
  readonly occurredAt: number
  readonly retryCount: number
}

export interface ErrorPage {
  readonly errors: readonly BatchError[]
  /** To be handed over as `after` for the next page; null: this was the last. */
  readonly next: number | null
}

export interface PageOptions {
  readonly after?: number
  readonly limit?: number
}

export async function batchErrors(
  control: Control,
  batch: number,
  { after, limit = 100 }: PageOptions = {},
): Promise<ErrorPage> {
  await batchOf(control, batch)
  const page = await control.list({
    parent: batch,
    states: ['failed'],
    limit,
    ...(after === undefined ? {} : { after }),
  })
  return { errors: page.entities.map(errorOf), next: page.next }
}

function errorOf(entity: Pick<Detail, 'id' | 'data' | 'changedAt'> & Pick<Entity, 'reason'>): BatchError {
  const data = entity.data as ItemData
  return {
    id: entity.id,
    itemIndex: data.itemIndex,
    offset: data.offset,
    hnId: data.hnId ?? null,
    errorType: data.errorType ?? 'UNKNOWN',
    reason: entity.reason ?? unknownReason,
    errorMessage: data.errorMessage ?? entity.reason ?? '',
    occurredAt: data.lastFailureAt ?? entity.changedAt,
    retryCount: data.retryCount ?? 0,
  }
}
