import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Running } from './running.ts'
import { RunningSet } from './running-set.ts'

const one = () => ({ place: -1 }) as Running

test('a running set is a set, whatever comes and goes in whatever order', () => {
  const steps = fc.array(fc.record({ add: fc.boolean(), pick: fc.nat(12) }), { maxLength: 200 })
  fc.assert(
    fc.property(steps, (all) => {
      const set = new RunningSet()
      const known = Array.from({ length: 13 }, one)
      const model = new Set<Running>()
      for (const { add, pick } of all) {
        const running = known[pick] as Running
        if (!add) {
          set.delete(running)
          model.delete(running)
        } else if (!model.has(running)) {
          set.add(running)
          model.add(running)
        }
        assert.equal(set.size, model.size)
        assert.deepEqual(new Set(set), model)
        for (const each of known) assert.equal(set.has(each), model.has(each))
      }
    }),
  )
})
