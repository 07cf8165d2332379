import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Context, Entity } from 'sluice'
import type { BatchData } from './batch-data.ts'
import type { ItemCounts } from './item-counts.ts'
import { errorSummaryOf, noticeOf, resultSummaryOf } from './summary.ts'

const counts: ItemCounts = {
  total: 20_010,
  completed: 4,
  failed: 20_005,
  skipped: 1,
  pending: 0,
  merged: 2,
  reasons: { rare: 1, often: 20_000, some: 4 },
}

/** Failed items as the engine hands them out: the rare one last. */
function contextOf(reasons: readonly string[]): { context: Context<BatchData>; looked: () => number } {
  let looked = 0
  async function* children(): AsyncGenerator<Entity> {
    for (const [index, reason] of reasons.entries()) {
      looked += 1
      const data = { itemIndex: index, hnId: index + 100, errorMessage: `${reason} ${'x'.repeat(600)}` }
      yield { reason, data: JSON.stringify(data) } as Entity
    }
  }
  return { context: { children } as unknown as Context<BatchData>, looked: () => looked }
}

test('a result is told per second, and a batch that took no time does not divide by it', () => {
  assert.deepEqual(resultSummaryOf(counts, 3, 2_000), {
    total: 20_010,
    completed: 4,
    failed: 20_005,
    skipped: 1,
    merged: 2,
    unresolvedLinks: 3,
    seconds: 2,
    itemsPerSecond: 10_005,
  })
  assert.ok(Number.isFinite(resultSummaryOf(counts, 0, 0).itemsPerSecond))
})

test('errors are summed up by reason, the most frequent first, with short samples', async () => {
  const { context } = contextOf(['often', 'some', 'often', 'often', 'rare'])
  const summary = await errorSummaryOf(context, counts, { samplesMax: 2, retriesMax: 3 })
  assert.equal(summary.total, 20_005)
  assert.deepEqual(
    summary.byReason.map(({ reason, count, samples }) => [reason, count, samples.map(({ itemIndex }) => itemIndex)]),
    [
      ['often', 20_000, [0, 2]],
      ['some', 4, [1]],
      ['rare', 1, [4]],
    ],
  )
  assert.equal(summary.byReason[0]?.samples[0]?.message.length, 500)
})

test('it stops looking once every reason has its samples, and after ten thousand items in any case', async () => {
  const few = contextOf(['often', 'some', 'rare', ...new Array<string>(1_000).fill('often')])
  await errorSummaryOf(
    few.context,
    { ...counts, reasons: { often: 9, some: 1, rare: 1 } },
    { samplesMax: 1, retriesMax: 3 },
  )
  assert.ok(few.looked() <= 4, `${few.looked()} were looked at`)
  const many = contextOf([...new Array<string>(20_000).fill('often'), 'rare'])
  const summary = await errorSummaryOf(many.context, counts, { samplesMax: 2, retriesMax: 3 })
  assert.ok(many.looked() <= 10_001, `${many.looked()} were looked at`)
  assert.deepEqual(summary.byReason.at(-1), { reason: 'rare', count: 1, samples: [] }, 'it is counted all the same')
})

test('without samples nothing has to be looked at for them', async () => {
  const { context } = contextOf(['often', 'some', 'rare'])
  const summary = await errorSummaryOf(context, counts, { samplesMax: 0, retriesMax: 3 })
  assert.deepEqual(
    summary.byReason.map(({ samples }) => samples.length),
    [0, 0, 0],
  )
})

test('a notice tells what the summary tells', () => {
  const data = {
    fileName: 'a.json',
    uploadedBy: 'ada',
    received: { at: 5 },
    processingCompletedAt: 9,
    resultSummary: resultSummaryOf(counts, 0, 1_000),
    errorSummary: { total: 1, byReason: [{ reason: 'null', count: 1, samples: [] }] },
  } as unknown as BatchData
  assert.deepEqual(noticeOf(7, data, 'failed'), {
    batchId: 7,
    state: 'failed',
    fileName: 'a.json',
    uploadedBy: 'ada',
    uploadedAt: 5,
    completedAt: 9,
    total: 20_010,
    completed: 4,
    failed: 20_005,
    skipped: 1,
    reasons: { null: 1 },
  })
})
