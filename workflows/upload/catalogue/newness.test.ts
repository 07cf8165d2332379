import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { HNItem } from '../hn-item.ts'
import { mergeItems } from './merging.ts'
import { factsOf, isNewer } from './newness.ts'
import { anyItem } from './sample-items.ts'

const story: HNItem = { hnId: 1, type: 'story', kids: [2, 3], descendants: 5, score: 10 }
const newer = (candidate: HNItem, stored: HNItem) => isNewer(factsOf(candidate), factsOf(stored))

test('the first fact that differs decides: gone, then kids, descendants, score', () => {
  assert.equal(newer({ ...story, deleted: true, kids: [], score: 0 }, story), true)
  assert.equal(newer({ ...story, dead: true }, { ...story, deleted: true }), false)
  assert.equal(newer({ ...story, kids: [2, 3, 4], descendants: 0 }, story), true)
  assert.equal(newer({ ...story, kids: [2], descendants: 99, score: 99 }, story), false)
  assert.equal(newer({ ...story, descendants: 6, score: 1 }, story), true)
  assert.equal(newer({ ...story, score: 11 }, story), true)
  assert.equal(newer({ ...story, score: 9 }, story), false)
})

test('a fact that is not said is lower than any that is, also than a negative score', () => {
  const { score: _, ...unscored } = story
  assert.equal(newer({ ...story, score: -5 }, unscored), true)
  assert.equal(newer(unscored, { ...story, score: -5 }), false)
  assert.equal(newer(unscored, unscored), false)
})

test('of two documents at most one is newer, and what is newer than a newer one is newer', () => {
  fc.assert(
    fc.property(anyItem, anyItem, anyItem, (a, b, c) => {
      assert.ok(!(newer(a, b) && newer(b, a)))
      if (newer(a, b) && newer(b, c)) assert.ok(newer(a, c))
    }),
  )
})

test('a merged document has all of the newer one, and the rest of the older one', () => {
  const older: HNItem = { hnId: 1, type: 'comment', by: 'ann', text: 'first', parent: 9 }
  assert.deepEqual(mergeItems(older, { hnId: 1, type: 'comment', deleted: true, parent: 9 }), {
    ...older,
    deleted: true,
  })
  assert.equal(mergeItems(older, { ...older, text: 'second', dead: true }), null)
})
