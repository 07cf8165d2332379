import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { noFaults, type SimulationResult, simulate, summarise, summaryText } from '../src/testing/simulation/index.ts'
import { uploadBatch, uploadItem } from '../workflows/upload/index.ts'
import { uploadWorkload } from './upload-simulation/workload.ts'

/** About fifteen seconds. A longer run is one command: npm run simulate -- --family upload. */
const seeds = 70
const steps = 3_000

/** Edges that hardly a run takes, and why. */
const rare: Readonly<Record<string, string>> = {
  'upload_batch give_up from initial_state': 'stored files are always there',
  'upload_batch notification_failed_completed from completed': 'twenty attempts take longer than a run',
  'upload_batch notification_failed_failed from failed': 'the same',
  // All edges of an item are inline: it rests in these only if a question to the desk was lost just there.
  'upload_item fail_item from deduplicated': 'what the hierarchy needs was found when the item was loaded',
  'upload_item fail_item from indexed': 'nothing runs there',
  'upload_item fail_item from validated': 'what the comparison needs was found when the item was loaded',
  'upload_item mark_failed from deduplicated': 'hardly an item rests there',
  'upload_item mark_failed from hierarchy_resolved': 'the same',
  'upload_item mark_failed from indexed': 'the same',
  'upload_item mark_failed from validated': 'the same',
}

suite('simulation of the upload family', () => {
  test('the same seed runs the same way, another seed another way', async () => {
    const options = { seed: 3, steps: 1_500, workload: uploadWorkload }
    const [one, other] = [await simulate(options), await simulate(options)]
    assert.deepEqual(one, other)
    assert.notEqual(one.hash, (await simulate({ ...options, seed: 4 })).hash)
  })

  test('on calm days every batch ends', async () => {
    for (let seed = 1; seed <= 10; seed++) {
      const { entities, moves } = await simulate({ seed, steps: 2_000, rates: noFaults, workload: uploadWorkload })
      assert.ok(entities > 10 && moves > 30, `seed ${seed}: ${entities} entities, ${moves} moves`)
    }
  })

  test('hundreds of thousands of steps with faults break no promise of the family', async (context) => {
    const taken = new Set<string>()
    const results: SimulationResult[] = []
    for (let seed = 1; seed <= seeds; seed++) {
      results.push(await simulate({ seed, steps, workload: (parts) => uploadWorkload(parts, { taken }) }))
    }
    const summary = summarise(results)
    context.diagnostic(summaryText(summary))
    assert.ok(summary.steps >= 300_000, `${summary.steps} steps`)
    const edges = [uploadBatch, uploadItem].flatMap(({ name: machine, edges }) =>
      edges.map(({ name, from }) => `${machine} ${name} from ${from}`),
    )
    assert.deepEqual(
      edges.filter((edge) => !taken.has(edge) && !Object.hasOwn(rare, edge)),
      [],
      'edges that no run has taken',
    )
  })
})
