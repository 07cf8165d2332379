import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Facts, View } from 'sluice'
import { itemCriteria } from './item-criteria.ts'
import type { ItemData } from './item-data.ts'

const day = 24 * 3_600_000
const criteria = itemCriteria({ retriesMax: 3, retryWindowMs: day })
const place = { batchId: 1, sourceType: 'BULK_UPLOAD', itemIndex: 0, file: 1, offset: 0, length: 9 } as const

function check(name: keyof typeof criteria, data: Partial<ItemData>, now = 0): boolean | string {
  const view = { data: { ...place, ...data } } as View<ItemData>
  return criteria[name](view, { now } as Facts)
}

test('HNItemValidCriterion needs an id above 0 and a known type', () => {
  assert.equal(check('HNItemValidCriterion', { hnId: 1, type: 'poll' }), true)
  assert.equal(check('HNItemValidCriterion', { type: 'poll' }), 'hnId is missing')
  assert.equal(check('HNItemValidCriterion', { hnId: 0, type: 'poll' }), 'hnId is missing')
  assert.equal(check('HNItemValidCriterion', { hnId: 1 }), 'type is missing or unknown')
  assert.equal(check('HNItemValidCriterion', { hnId: 1, type: 'song' as never }), 'type is missing or unknown')
})

test('HNItemDuplicateCriterion holds for whoever has a twin', () => {
  assert.equal(check('HNItemDuplicateCriterion', { duplicateOf: 7 }), true)
  assert.equal(check('HNItemDuplicateCriterion', {}), false)
})

test('HNItemHierarchyValidCriterion: comments have a parent, options a poll, others need none', () => {
  assert.equal(check('HNItemHierarchyValidCriterion', { type: 'comment', parent: 1 }), true)
  assert.equal(check('HNItemHierarchyValidCriterion', { type: 'comment' }), 'comment without parent')
  assert.equal(check('HNItemHierarchyValidCriterion', { type: 'pollopt' }), 'pollopt without poll')
  for (const type of ['job', 'story', 'poll'] as const)
    assert.equal(check('HNItemHierarchyValidCriterion', { type }), true)
})

test('HNItemCompleteCriterion names what was not done', () => {
  const done = { type: 'story', ingestedAt: 1, lastUpdated: 2 } as const
  assert.equal(check('HNItemCompleteCriterion', done), true)
  assert.equal(check('HNItemCompleteCriterion', { lastUpdated: 2 }), 'ingestedAt is not set')
  assert.equal(check('HNItemCompleteCriterion', { ingestedAt: 2 }), 'lastUpdated is not set')
  assert.equal(check('HNItemCompleteCriterion', { ...done, type: 'comment' }), 'comment without parent')
})

test('HNItemRetryableCriterion: an id, less than three failures, the last one less than a day ago', () => {
  const failed = { hnId: 1, retryCount: 2, lastFailureAt: 1 }
  assert.equal(check('HNItemRetryableCriterion', failed, day), true)
  assert.match(String(check('HNItemRetryableCriterion', failed, day + 1)), /failed 24 h ago; .* within 24 h/)
  assert.match(String(check('HNItemRetryableCriterion', { ...failed, retryCount: 3 }, 2)), /failed 3 times; at most 3/)
  assert.match(String(check('HNItemRetryableCriterion', { retryCount: 1 })), /its hnId is not known/)
})
