import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EntitySlots } from './entity-slots.ts'

test('entities have slots of their own, until another one takes theirs', () => {
  const slots = new EntitySlots()
  const first = slots.take(7)
  const second = slots.take(8)
  assert.notEqual(first, second)
  assert.deepEqual([slots.of(7), slots.of(8), slots.of(9)], [first, second, -1])
  assert.equal(slots.take(7 + slots.count), first, 'the same slot')
  assert.equal(slots.of(7), -1, 'pushed out')
  slots.free(first)
  assert.equal(slots.of(7 + slots.count), -1)
  assert.equal(slots.of(0), -1, 'a free slot is nobody’s')
})
