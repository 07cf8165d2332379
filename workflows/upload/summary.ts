import type { Context } from 'sluice'
import type { BatchData, ErrorSummary, ResultSummary } from './batch-data.ts'
import { type ItemCounts, unknownReason } from './item-counts.ts'
import type { ItemData } from './item-data.ts'
import { isOfContent } from './item-reasons.ts'
import type { Notice } from './notification/index.ts'
import type { UploadLimits } from './settings.ts'

/** Failed items that are looked at for samples: beyond these, rare reasons are counted and have none. */
const lookedAtMax = 10_000
const messageMax = 500

export function resultSummaryOf(counts: ItemCounts, unresolvedLinks: number, elapsedMs: number): ResultSummary {
  const { total, completed, failed, skipped, merged } = counts
  const seconds = Math.max(1, elapsedMs) / 1_000
  return {
    total,
    completed,
    failed,
    skipped,
    merged,
    unresolvedLinks,
    seconds: Math.round(seconds * 1_000) / 1_000,
    itemsPerSecond: Math.round(total / seconds),
  }
}

/** By reason, the most frequent first, with a few samples of each. Counts come from the tallies, samples from the items. */
export async function errorSummaryOf(
  context: Context<BatchData>,
  counts: ItemCounts,
  { samplesMax, retriesMax }: Pick<UploadLimits, 'samplesMax' | 'retriesMax'>,
): Promise<ErrorSummary> {
  const byReason = Object.entries(counts.reasons)
    .sort(([, one], [, other]) => other - one)
    .map(([reason, count]) => ({ reason, count, samples: [] as ErrorSummary['byReason'][number]['samples'] }))
  // Without a single one of these nothing can be tried again, so none is looked for.
  let isLookedFor = Object.keys(counts.reasons).some((reason) => !isOfContent(reason))
  let retryable = false
  const wanted = new Map(byReason.map((row) => [row.reason, row.samples]))
  let lookedAt = 0
  for await (const item of context.children({ states: ['failed'] })) {
    const reason = item.reason ?? unknownReason
    const samples = wanted.get(reason)
    const { itemIndex, hnId = null, errorMessage = '', retryCount = 0 } = JSON.parse(item.data) as ItemData
    if (isLookedFor && hnId !== null && retryCount < retriesMax && !isOfContent(reason)) {
      retryable = true
      isLookedFor = false
    }
    if (samples && samples.length < samplesMax)
      samples.push({ itemIndex, hnId, message: errorMessage.slice(0, messageMax) })
    if (samples && samples.length >= Math.min(samplesMax, counts.reasons[reason] ?? 0)) wanted.delete(reason)
    lookedAt += 1
    if ((wanted.size === 0 && !isLookedFor) || lookedAt >= lookedAtMax) break
  }
  // Beyond those that were looked at nothing is known: then a retry may help.
  return { total: counts.failed, retryable: retryable || (isLookedFor && counts.failed > lookedAt), byReason }
}

export function noticeOf(batchId: number, data: BatchData, state: string): Notice {
  const { resultSummary } = data
  return {
    batchId,
    state,
    fileName: data.fileName,
    uploadedBy: data.uploadedBy,
    uploadedAt: data.uploadedAt ?? data.received.at,
    completedAt: data.processingCompletedAt ?? data.received.at,
    total: resultSummary?.total ?? 0,
    completed: resultSummary?.completed ?? 0,
    failed: resultSummary?.failed ?? 0,
    skipped: resultSummary?.skipped ?? 0,
    reasons: Object.fromEntries((data.errorSummary?.byReason ?? []).map(({ reason, count }) => [reason, count])),
  }
}
