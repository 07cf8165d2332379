import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Facts, Lane, View } from 'sluice'
import { type BatchData, batchData } from './batch-data.ts'
import { batchAssigns } from './batch-failure.ts'

const assigns = batchAssigns(false)

const data: BatchData = {
  fileName: 'a.json',
  uploadedBy: 'ada',
  sha256: 'x',
  file: 1,
  received: { fileSize: 5, md5: 'm', contentType: 'application/json', storedBytes: 5, at: 1 },
  totalItemsInFile: 4,
}
const view = (more: Partial<BatchData> = {}, state = 'extracting') =>
  ({ id: 7, state, data: { ...data, ...more } }) as View<BatchData>
const facts = (more: Partial<Facts> = {}): Facts => ({
  now: 1_000,
  random: 0,
  lanes: null,
  holds: [],
  input: null,
  actor: null,
  reason: null,
  error: null,
  ...more,
})
const lastError = { message: 'disk on fire', stack: 'Error: disk on fire\n    at x', processor: 'P', attempt: 4 }

function failed(entity: View<BatchData>, given: Partial<Facts>): BatchData {
  const change = assigns.UploadBatchFailureProcessor(entity, facts(given))
  return batchData.parse(change.data)
}

test('a failure keeps reason, error, stack, processor, attempt, state, time and a report', () => {
  const after = failed(view({ lastError }), { reason: 'attempts spent', error: 'disk on fire' })
  const { report, ...failure } = after.failure!
  assert.deepEqual(failure, {
    reason: 'attempts spent',
    error: 'disk on fire',
    stackTrace: lastError.stack,
    processor: 'P',
    attempt: 4,
    state: 'extracting',
    failedAt: 1_000,
    actor: null,
  })
  assert.match(report, /Upload batch 7, file a\.json \(5 bytes, MD5 m\), failed in extracting\./)
  assert.match(report, /Reason: attempts spent\.\nError: disk on fire\nProcessor P, attempt 4\./)
  assert.ok(!report.includes('at x'), 'the stack is for operators only')
  assert.equal(after.lastError, undefined)
  assert.deepEqual([after.retryCount, after.lastRetryAt, after.processingCompletedAt], [1, 1_000, 1_000])
})

test('without a reported error the state tells which processor was at work', () => {
  const { failure } = failed(view(), { reason: 'no' })
  assert.deepEqual([failure?.processor, failure?.attempt], ['UploadBatchExtractionProcessor', 1])
})

test('whoever marks it may say why; nobody may say too much', () => {
  assert.equal(failed(view(), { actor: 'olga', input: { reason: 'wrong file' } }).failure?.reason, 'wrong file')
  for (const input of [null, {}, 'x', { reason: 7 }, { reason: '' }])
    assert.equal(failed(view(), { actor: 'olga', input }).failure?.reason, 'marked as failed by olga')
  assert.equal(failed(view(), { actor: 'o', input: { reason: 'x'.repeat(9_999) } }).failure?.reason.length, 500)
})

test('failures are counted, and the report says how far the items were', () => {
  const lane = { name: 'upload_item', total: 3, counts: { completed: 1, failed: 1 }, reasons: { null: 1 }, sums: {} }
  const errorSummary = { total: 1, byReason: [{ reason: 'null', count: 1, samples: [] }] }
  const after = failed(view({ retryCount: 2, errorSummary }, 'processing'), { lanes: [lane as unknown as Lane] })
  assert.equal(after.retryCount, 3)
  assert.equal(after.failure?.reason, 'every item failed')
  assert.match(after.failure!.report, /Items: 4 in the file, 1 completed, 1 failed, 0 skipped, 2 not settled\./)
  assert.match(after.failure!.report, /1 × null/)
})

test('a retry clears what the failure left, and makes up for an initialisation that never was', () => {
  const before = failed(view({ itemsErrored: 3, lastError }, 'initial_state'), { reason: 'gone', error: 'x' })
  const entity = view(before, 'failed')
  const change = assigns.UploadBatchRetryProcessor(entity, facts({ now: 2_000, actor: 'olga' }))
  const after = batchData.parse(change.data)
  assert.deepEqual(
    [after.failure, after.errorSummary, after.resultSummary, after.processingCompletedAt, after.lastError],
    [null, null, null, null, undefined],
  )
  assert.deepEqual([after.itemsProcessed, after.itemsErrored, after.itemsSkipped], [0, 0, 0])
  assert.equal(after.processingStartedAt, 2_000)
  assert.deepEqual([after.retryCount, after.lastRetryAt], [1, 1_000])
  assert.deepEqual(
    [after.fileSize, after.fileMd5Hash, after.contentType, after.uploadedAt],
    [5, 'm', 'application/json', 1],
  )
})

test('a refused retry says why, and keeps all else', () => {
  const errorSummary = { total: 2, byReason: [] }
  const change = assigns.recordRefusedRetry(
    view({ itemsErrored: 2, errorSummary, lastError }, 'partially_completed'),
    facts({ reason: 'short', error: 'None of the 2.' }),
  )
  const after = batchData.parse(change.data)
  assert.deepEqual(after.itemRetry, { retried: 0, refused: 2, at: 1_000, sentence: 'None of the 2.' })
  assert.deepEqual(after.errorSummary, errorSummary)
  assert.equal(after.lastError, undefined)
})

test('in partially_completed, what failed is told by the reason: the retry that was asked for, or the notification', () => {
  const waiting = { sent: false, waiting: true, error: null, at: 5 }
  const refused = (more: Partial<BatchData>, reason: string) =>
    assigns.recordRefusedRetry(view(more, 'partially_completed'), facts({ reason, error: `${reason}.` }))
  const spent = refused({ notification: waiting }, 'attempts spent')
  assert.deepEqual(batchData.parse(spent.data).notification, { sent: false, error: 'attempts spent.', at: 1_000 })
  assert.equal('ask' in spent, false)
  const retry = refused({ notification: waiting }, 'no failed item may be retried')
  assert.equal('ask' in retry && retry.ask, 'notify_partially_completed')
  assert.equal(batchData.parse(retry.data).itemRetry?.sentence, 'no failed item may be retried.')
  const thrown = { message: 'x', stack: 'x', processor: 'UploadBatchRetryFailedItemsProcessor', attempt: 4 }
  assert.ok('ask' in refused({ notification: waiting, lastError: thrown }, 'processing failed'))
  assert.equal(batchData.parse(refused({}, 'timed out').data).itemRetry?.retried, 0)
})
