import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Facts, Lane, View } from 'sluice'
import { batchCriteria, hours } from './batch-criteria.ts'
import type { BatchData } from './batch-data.ts'

const criteria = batchCriteria({ retriesMax: 3, retryWindowMs: 24 * 3_600_000 }, false)

const valid: BatchData = {
  fileName: 'a.json',
  uploadedBy: 'ada',
  sha256: 'x',
  file: 1,
  received: { fileSize: 5, md5: 'm', contentType: 'application/json', storedBytes: 5, at: 1 },
  fileSize: 5,
  fileMd5Hash: 'm',
  contentType: 'application/json',
  totalItemsInFile: 1,
}

const view = (data: BatchData): View<BatchData> => ({
  id: 1,
  machine: 'upload_batch',
  version: 1,
  state: 'processing',
  generation: 0,
  parent: null,
  lane: 'x',
  ordinal: null,
  priority: 0,
  key: null,
  createdAt: 0,
  changedAt: 0,
  data,
})

const facts = (more: Partial<Facts> = {}): Facts => ({
  now: 1_000,
  random: 0,
  lanes: [],
  holds: [],
  input: null,
  actor: null,
  reason: null,
  error: null,
  ...more,
})

describe('UploadBatchValidCriterion', () => {
  const check = (data: Partial<BatchData>) => criteria.UploadBatchValidCriterion(view({ ...valid, ...data }))

  test('holds for a file with a name, bytes, a digest, JSON and items', () => {
    assert.equal(check({}), true)
    assert.equal(check({ contentType: 'application/x-ndjson' }), true)
    assert.equal(check({ validation: { form: 'array', withoutId: 1, withoutType: 1, fault: null } }), true)
  })

  const refused: readonly (readonly [Partial<BatchData>, RegExp])[] = [
    [{ fileName: '' }, /fileName is missing/],
    [{ fileSize: 0 }, /fileSize is 0: the file is empty/],
    [{ fileMd5Hash: '' }, /fileMd5Hash is missing/],
    [{ contentType: 'text/csv' }, /contentType is text\/csv: it must contain "json"/],
    [
      { validation: { form: null, withoutId: 0, withoutType: 0, fault: 'truncated: x' } },
      /cannot be read: truncated: x/,
    ],
    [{ totalItemsInFile: 0 }, /totalItemsInFile is 0/],
  ]
  for (const [data, why] of refused) {
    test(`names what does not hold: ${why.source}`, () => assert.match(String(check(data)), why))
  }

  test('what was never set is missing, too', () => {
    const { fileSize: _size, ...without } = valid
    assert.match(String(criteria.UploadBatchValidCriterion(view(without))), /fileSize is 0/)
    const { contentType: _type, ...untyped } = valid
    assert.match(String(criteria.UploadBatchValidCriterion(view(untyped))), /contentType is unknown/)
  })
})

test('UploadBatchExtractionCompleteCriterion needs items and the time at which extraction ended', () => {
  const check = (data: Partial<BatchData>) =>
    criteria.UploadBatchExtractionCompleteCriterion(view({ ...valid, ...data }))
  assert.equal(check({ processingCompletedAt: 5, itemsProcessed: 0 }), true)
  assert.match(String(check({})), /processingCompletedAt is not set/)
  assert.match(String(check({ processingCompletedAt: null })), /processingCompletedAt is not set/)
  assert.match(String(check({ processingCompletedAt: 5, totalItemsInFile: 0 })), /totalItemsInFile is 0/)
})

test('exactly one of the three closing criteria holds once every item is settled, and none before', () => {
  fc.assert(
    fc.property(
      fc.record({
        completed: fc.nat(4),
        failed: fc.nat(4),
        skipped: fc.nat(4),
        pending: fc.nat(2),
        /** Not all may have been spawned when somebody looks. */
        unborn: fc.nat(2),
      }),
      ({ completed, failed, skipped, pending, unborn }) => {
        const total = completed + failed + skipped + pending
        const lane = {
          name: 'upload_item',
          total,
          open: pending,
          counts: { completed, failed, skipped, ingested: pending },
          reasons: {},
          sums: {},
        } as unknown as Lane
        const batch = view({ ...valid, totalItemsInFile: total + unborn })
        const holding = (
          [
            'UploadBatchAllItemsCompleteCriterion',
            'UploadBatchSomeItemsCompleteCriterion',
            'UploadBatchAllItemsFailedCriterion',
          ] as const
        ).filter((name) => criteria[name](batch, facts({ lanes: [lane] })) === true)
        const isOver = total > 0 && pending === 0 && unborn === 0
        if (!isOver) assert.deepEqual(holding, [])
        else if (failed === 0) assert.deepEqual(holding, ['UploadBatchAllItemsCompleteCriterion'])
        else if (failed === total) assert.deepEqual(holding, ['UploadBatchAllItemsFailedCriterion'])
        else assert.deepEqual(holding, ['UploadBatchSomeItemsCompleteCriterion'])
      },
    ),
  )
})

describe('UploadBatchRetryableCriterion', () => {
  const day = 24 * 3_600_000
  const check = (data: Partial<BatchData>, now: number) =>
    criteria.UploadBatchRetryableCriterion(view({ ...valid, ...data }), facts({ now }))

  test('allows less than three failures, the last one less than a day ago', () => {
    assert.equal(check({ retryCount: 2, lastRetryAt: 1 }, day), true)
    assert.match(String(check({ retryCount: 3, lastRetryAt: 1 }, 2)), /failed 3 times; at most 3/)
    assert.match(
      String(check({ retryCount: 1, lastRetryAt: 0 }, day)),
      /it failed 24 h ago; it may be retried within 24 h/,
    )
    assert.match(String(check({ fileName: '' }, 1)), /fileName is missing/)
    assert.equal(check({}, 5), true)
  })
})

test('hours are told with one digit', () => {
  assert.equal(hours(0), '0 h')
  assert.equal(hours(5_400_000), '1.5 h')
  assert.equal(hours(90_000_000), '25 h')
})
