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
