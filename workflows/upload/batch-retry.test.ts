import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Context } from 'sluice'
import type { BatchData } from './batch-data.ts'
import { type BatchTools, batchProcessors } from './batch-processors.ts'

/** A retry of a batch that closed with two failed items, when its children answer with these verdicts. */
async function retryAnsweredBy(verdicts: Readonly<Record<string, number>>): Promise<string> {
  const { UploadBatchRetryFailedItemsProcessor: retry } = batchProcessors({} as BatchTools)
  const context = {
    data: { itemsErrored: 2 },
    log: { info() {} },
    now: () => 0,
    actOnChildren: async () => verdicts,
  } as unknown as Context<BatchData>
  const outcome = await retry(context)
  return (outcome as { readonly kind: string }).kind
}

test('a retry is refused if no failed item may be retried, and not if items were retried before a crash', async () => {
  assert.equal(await retryAnsweredBy({ refused: 2 }), 'fail')
  assert.equal(await retryAnsweredBy({ done: 1, refused: 1 }), 'done')
  // The process died when it had retried the other item: that one is not failed any more, and not found again.
  assert.equal(await retryAnsweredBy({ refused: 1 }), 'done')
  assert.equal(await retryAnsweredBy({}), 'done')
})
