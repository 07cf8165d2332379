import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { noFaults, type SimulationResult, simulate, summarise, summaryText } from '../src/testing/simulation/index.ts'
import { chunkedChunk, chunkedJob } from '../workflows/chunked/index.ts'
import { chunkedWorkload } from './chunked-simulation/workload.ts'

/** About twenty seconds. A longer run is one command: npm run simulate -- --family chunked. */
const seeds = 90
const steps = 3_000

/** Edges that no run can take, and why. */
const outOfReach: Readonly<Record<string, string>> = {
  'chunked_job give_up from finalize': 'the report of a reducer that completed is there',
  'chunked_job request_failed_completed from completed': 'handlers are called again for longer than a run lasts',
  'chunked_job request_failed_failed from failed': 'the same',
  'chunked_job request_failed_cancelled from cancelled': 'the same',
}

suite('simulation of the chunked family', () => {
  test('the same seed runs the same way, another seed another way', async () => {
    const options = { seed: 3, steps: 1_500, workload: chunkedWorkload }
    const [one, other] = [await simulate(options), await simulate(options)]
    assert.deepEqual(one, other)
    assert.notEqual(one.hash, (await simulate({ ...options, seed: 4 })).hash)
  })

  test('on calm days every job ends', async () => {
    for (let seed = 1; seed <= 10; seed++) {
      const { entities, moves } = await simulate({ seed, steps: 2_000, rates: noFaults, workload: chunkedWorkload })
      assert.ok(entities > 10 && moves > 30, `seed ${seed}: ${entities} entities, ${moves} moves`)
    }
  })

  test('about a million steps with faults break no promise of the family', async (context) => {
    const taken = new Set<string>()
    const results: SimulationResult[] = []
    for (let seed = 1; seed <= seeds; seed++) {
      results.push(await simulate({ seed, steps, workload: (parts) => chunkedWorkload(parts, { taken }) }))
    }
    const summary = summarise(results)
    context.diagnostic(summaryText(summary))
    assert.ok(summary.steps >= 800_000, `${summary.steps} steps`)
    // What never happened was never tested.
    assert.deepEqual(summary.unseen, [])
    const edges = [chunkedJob, chunkedChunk].flatMap(({ name: machine, edges }) =>
      edges.map(({ name, from }) => `${machine} ${name} from ${from}`),
    )
    assert.deepEqual(
      edges.filter((edge) => !taken.has(edge)).sort(),
      Object.keys(outOfReach).sort(),
      'edges that no run has taken',
    )
  })
})
