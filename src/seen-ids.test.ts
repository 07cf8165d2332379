import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SeenIds } from './seen-ids.ts'

test('an id is new once, in whatever order ids come', () => {
  const ids = fc.array(fc.nat(20), { maxLength: 60 })
  fc.assert(
    fc.property(ids, (given) => {
      const seen = new SeenIds()
      const plain = new Set<number>()
      for (const id of given) {
        assert.equal(seen.add(id), !plain.has(id))
        plain.add(id)
      }
    }),
  )
})

test('an id that is lower than the one before may be new, or not', () => {
  const seen = new SeenIds()
  assert.deepEqual(
    [3, 7, 7, 5, 3, 5, 8].map((id) => seen.add(id)),
    [true, true, false, true, false, false, true],
  )
})
