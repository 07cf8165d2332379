import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compare, Queue, type Standing } from './queue.ts'

const standing = fc.record({ order: fc.integer({ min: -5, max: 2_000 }), id: fc.integer({ min: 1, max: 3 }) })

test('a queue is in order, whatever is added to it and removed from it', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), standing), { size: '+2' }), standing, (steps, bound) => {
      const queue = new Queue()
      const expected = new Map<string, Standing>()
      for (const [adds, { order, id }] of steps) {
        if (adds) queue.add(order, id)
        else queue.remove(order, id)
        if (adds) expected.set(`${order}/${id}`, { order, id })
        else expected.delete(`${order}/${id}`)
      }
      const sorted = [...expected.values()].sort(compare)
      assert.equal(queue.size, sorted.length)
      assert.deepEqual([...queue], sorted)
      assert.deepEqual(queue.first(), sorted[0])
      assert.deepEqual(
        [...queue.behind(bound)],
        sorted.filter((other) => compare(other, bound) > 0),
      )
      assert.deepEqual([...queue.before(bound)], sorted.filter((other) => compare(other, bound) < 0).reverse())
    }),
  )
})

test('a queue of many chunks stays in order', () => {
  const queue = new Queue()
  for (let id = 0; id < 5_000; id += 1) queue.add((id * 7_919) % 5_000, id)
  for (let id = 0; id < 5_000; id += 3) queue.remove((id * 7_919) % 5_000, id)
  const orders = [...queue].map(({ order }) => order)
  assert.deepEqual(
    orders,
    [...orders].sort((one, other) => one - other),
  )
  assert.equal(queue.size, orders.length)
})
