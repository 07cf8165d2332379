import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { HNItem } from '../hn-item.ts'
import { mergeInto } from './merging.ts'
import { factsOf, isNewer, isStronger } from './newness.ts'
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

test('versions of the same age stand in the order of batches, then of places in the file', () => {
  const version = (batch: number, offset: number, item = story) => ({ ...factsOf(item), batch, offset })
  assert.equal(isStronger(version(1, 9), version(2, 3)), true)
  assert.equal(isStronger(version(2, 3), version(1, 9)), false)
  assert.equal(isStronger(version(1, 3), version(1, 9)), true)
  assert.equal(isStronger(version(1, 3), version(1, 3)), false)
  assert.equal(isStronger(version(2, 9, { ...story, score: 11 }), version(1, 3)), true)
})

test('a merged document has all of the strongest version, and the rest of the others', () => {
  const older: HNItem = { hnId: 1, type: 'comment', by: 'ann', text: 'first', parent: 9 }
  const [first, second] = [
    { ...factsOf(older), batch: 1, offset: 0 },
    { gone: 1, kids: 0, descendants: null, score: null, batch: 2, offset: 0 },
  ]
  const stored = { item: older, borrowed: {} }
  assert.deepEqual(mergeInto(stored, first, { hnId: 1, type: 'comment', deleted: true, parent: 9 }, second), {
    item: { ...older, deleted: true },
    borrowed: { by: first, text: first },
  })
  assert.deepEqual(mergeInto(stored, first, { ...older, text: 'second', dead: true }, second).borrowed, {})
})
