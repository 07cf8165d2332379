import type { Detail } from 'sluice'
import { isOfFile } from './batch-criteria.ts'
import type { BatchData } from './batch-data.ts'
import type { ItemCounts } from './item-counts.ts'
import { isOfContent } from './item-reasons.ts'

/** Whether a batch that has ended can be tried again, so that nobody is advised to do what is refused or cannot help. */
export interface RetryView {
  readonly action: 'retry_batch' | 'retry_failed_items'
  /** Null: it may help. */
  readonly refusal: string | null
  /** What helps instead. */
  readonly instead: 'mended_file' | 'json_content_type' | 'new_batch' | null
}

/** Null: there is nothing to retry. */
export function retryOf(detail: Detail, data: BatchData, counts: ItemCounts): RetryView | null {
  if (detail.state === 'failed') return retryOfFailed(detail, data, counts)
  return detail.state === 'partially_completed' ? retryOfPartial(data, counts) : null
}

function retryOfFailed({ actions }: Detail, { failure }: BatchData, counts: ItemCounts): RetryView {
  const action = 'retry_batch'
  const reason = failure?.reason ?? ''
  if (reason.startsWith('contentType is ')) {
    return { action, refusal: 'the same content type would be refused again', instead: 'json_content_type' }
  }
  if (isOfFile(reason)) return { action, refusal: 'the file itself must be mended', instead: 'mended_file' }
  if (counts.failed > 0 && counts.failed === counts.total && isBroken(counts)) {
    return { action, refusal: 'every item is broken in itself', instead: 'mended_file' }
  }
  const refusal = actions.find((choice) => choice.action === action)?.refusal ?? null
  return { action, refusal, instead: refusal === null ? null : 'new_batch' }
}

function retryOfPartial({ errorSummary, itemRetry }: BatchData, counts: ItemCounts): RetryView {
  const action = 'retry_failed_items'
  if (isBroken(counts)) return { action, refusal: 'every failed item is broken in itself', instead: 'mended_file' }
  const isSpent = errorSummary?.retryable === false || itemRetry?.retried === 0
  if (!isSpent) return { action, refusal: null, instead: null }
  return { action, refusal: 'every failed item is broken or has failed too often', instead: 'new_batch' }
}

/** All that failed did so of its content. */
function isBroken({ reasons, failed }: ItemCounts): boolean {
  return failed > 0 && Object.keys(reasons).every(isOfContent)
}
