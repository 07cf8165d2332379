import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HNItem } from '../hn-item.ts'
import { InHand } from './in-hand.ts'

const mib = 1024 ** 2
const item = (hnId: number) => ({ hnId, type: 'story' }) as HNItem

test('what is in hand is given out until it is dropped', () => {
  const hand = new InHand()
  hand.keep(1, item(11), 100)
  hand.keep(2, item(22), 100)
  assert.equal(hand.of(1)?.hnId, 11)
  hand.keep(1, item(12), 200)
  assert.equal(hand.of(1)?.hnId, 12, 'the last one counts')
  hand.drop(1)
  hand.drop(1)
  assert.equal(hand.of(1), undefined)
  assert.equal(hand.of(2)?.hnId, 22)
})

test('too many bytes push out the oldest, never the one that just came', () => {
  const hand = new InHand()
  for (let entity = 1; entity <= 20; entity += 1) hand.keep(entity, item(entity), mib)
  const kept = Array.from({ length: 20 }, (_, index) => index + 1).filter((entity) => hand.of(entity))
  assert.deepEqual(kept, [5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20])
  // What was dropped makes room.
  for (const entity of [5, 6, 7]) hand.drop(entity)
  hand.keep(21, item(21), 3 * mib)
  assert.equal(hand.of(8)?.hnId, 8)
  hand.keep(22, item(22), 17 * mib)
  assert.equal(hand.of(22), undefined, 'too big by itself')
  assert.equal(hand.of(21)?.hnId, 21, 'and it pushed nobody out')
})

test('two that share a slot push each other out, and their bytes go with them', () => {
  const hand = new InHand()
  for (let round = 0; round < 100; round += 1) hand.keep(1 + round * 16_384, item(round), 8 * mib)
  assert.equal(hand.of(1), undefined)
  assert.equal(hand.of(1 + 99 * 16_384)?.hnId, 99)
  hand.keep(2, item(2), 8 * mib)
  assert.equal(hand.of(1 + 99 * 16_384)?.hnId, 99, 'sixteen MiB fit')
})
