import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Entity } from '../src/entity.ts'
import { type MemoryStoreOptions, memoryStore } from '../src/store/memory/index.ts'
import type { Store } from '../src/store.ts'
import {
  noFaults,
  type SimulationResult,
  simulate,
  summarise,
  summaryText,
  Violation,
} from '../src/testing/simulation/index.ts'

/** Together more than a million steps, as the test says. A longer run is one command: npm run simulate. */
const seeds = 220
const steps = 4_000

suite('simulation', () => {
  test('the same seed runs the same way, another seed another way', async () => {
    const options = { seed: 11, steps: 2_000 }
    const [one, other] = [await simulate(options), await simulate(options)]
    assert.deepEqual(one, other)
    assert.notEqual(one.hash, (await simulate({ ...options, seed: 12 })).hash)
  })

  test('on a calm day everything comes to rest', async () => {
    const { entities, moves } = await simulate({ seed: 1, steps: 3_000, rates: noFaults })
    assert.ok(entities > 30 && moves > 100, `${entities} entities, ${moves} moves`)
  })

  test('a million steps with faults break no promise', async (context) => {
    const results: SimulationResult[] = []
    for (let seed = 1; seed <= seeds; seed++) results.push(await simulate({ seed, steps }))
    const summary = summarise(results)
    context.diagnostic(summaryText(summary))
    assert.ok(summary.steps >= 1_000_000, `${summary.steps} steps`)
    // What never happened was never tested.
    assert.deepEqual(summary.unseen, [])
  })

  test('a failure says seed, step, promise and how to see it again', async () => {
    const violation = await violationOf(forgetful)
    assert.match(
      violation.message,
      /^seed \d+, step \d+: G\d+ [a-z -]+: .+ Replay: npm run simulate -- --from \d+ --seeds 1 --steps 3000 --trace$/,
    )
    assert.ok(violation.trace.length > 10)
  })

  test('a store that does a repeated operation twice is found out', async () => {
    assert.match((await violationOf(forgetful)).invariant, /G6|G7/)
  })

  test('a store without fences is found out', async () => {
    assert.match((await violationOf(fenceless)).invariant, /G[2-57]/)
  })

  test('a store that gives a lease out twice is found out', async () => {
    assert.match((await violationOf(generous)).invariant, /G[45]/)
  })
})

async function violationOf(store: (options: MemoryStoreOptions) => Store): Promise<Violation> {
  for (let seed = 1; seed <= 30; seed++) {
    try {
      await simulate({ seed, steps: 3_000, store })
    } catch (error) {
      if (error instanceof Violation) return error
      throw error
    }
  }
  assert.fail('Thirty seeds did not find it.')
}

/** Takes every repetition for something new. */
function forgetful(options: MemoryStoreOptions): Store {
  const store = memoryStore(options)
  let count = 0
  return { ...store, commit: (operation, moves) => store.commit(`${operation} ${count++}`, moves) }
}

/** Believes whoever comes, whatever has happened since he looked. */
function fenceless(options: MemoryStoreOptions): Store {
  const store = memoryStore(options)
  return {
    ...store,
    async commit(operation, moves) {
      const rows = await store.get(moves.map(({ id }) => id))
      const believed = moves.map((move, index) => {
        const row = rows[index]
        return row ? { ...move, epoch: row.epoch, seq: row.seq } : move
      })
      return store.commit(operation, believed)
    },
  }
}

/** Tells a worker now and then that it has what another one has. */
function generous(options: MemoryStoreOptions): Store {
  const store = memoryStore(options)
  let given: readonly Entity[] = []
  let count = 0
  return {
    ...store,
    async claim(request) {
      const result = await store.claim(request)
      count += 1
      if (count % 20 === 0 && result.entities.length === 0 && given.length > 0) {
        return { ...result, entities: given.map((entity) => ({ ...entity, owner: request.worker })) }
      }
      if (result.entities.length > 0) given = result.entities
      return result
    },
  }
}
