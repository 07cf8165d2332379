import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { suite, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { type SimulationResult, simulate, summarise, summaryText } from '../src/testing/simulation/index.ts'

/** Together more than a million steps: see the last test. */
const seedsBegin = 1
const seedsEnd = 241
const steps = 5_000

suite('simulation', () => {
  test('the same seed runs the same way', async () => {
    const [one, other] = [await simulate({ seed: 11, steps: 2_000 }), await simulate({ seed: 11, steps: 2_000 })]
    assert.deepEqual(one, other)
    const another = await simulate({ seed: 12, steps: 2_000 })
    assert.notEqual(one.hash, another.hash)
  })
})
