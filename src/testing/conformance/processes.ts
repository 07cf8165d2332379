import assert from 'node:assert/strict'
import type { Store } from '../../store.ts'
import { aChange, aMove, aRun, aWorker } from '../builders.ts'
import type { Story, Tell } from './story.ts'
import { idsOf, leaseMs } from './story.ts'

const gated = { wait: { for: 'run', at: 0, gated: true } } as const

async function claimBy(store: Store, limit = 1_000): Promise<readonly number[]> {
  const worker = await store.renew({ id: null, identity: aWorker(), leaseMs })
  return idsOf((await store.claim({ worker: worker.id, runs: [aRun()], limit, bytes: 2 ** 30 })).entities)
}

/** A move by the other process. */
async function savedBy(store: Store, story: Story, move: Parameters<Story['saved']>[0]): Promise<void> {
  assert.deepEqual(await store.commit(story.operation(), [move]), [{ kind: 'saved' }])
}

/** What a process has read or written before is no reason to believe it now: another may have changed it since. */
export function processes(tell: Tell): void {
  tell('a gate that one opens lets the other claim', async (story) => {
    const other = await story.reopen()
    const { parent, children } = await story.createParent(2, gated)
    assert.deepEqual(await claimBy(story.store), [], 'the gate is shut')
    await savedBy(other, story, aChange(parent, { opens: ['parcels'] }))
    assert.deepEqual(await claimBy(story.store), idsOf(children))
  })

  tell('a lane that one stops stops what runs in the other', async (story) => {
    const other = await story.reopen()
    const { parent } = await story.createParent(2)
    const child = await story.claimOne(await story.register())
    await savedBy(other, story, aMove(parent, { state: 'cancelled', settled: true, lanes: 'stop' }))
    assert.equal((await story.get(child.id)).stopped, true)
    assert.equal(await story.kind(aMove(child)), 'stale')
    assert.deepEqual(await claimBy(story.store), [], 'nor is the rest begun')
  })

  tell('children that end here and there are counted together', async (story) => {
    const other = await story.reopen()
    const { parent, children } = await story.createParent(4)
    for (const [index, child] of children.entries()) {
      const move = aMove(child, { state: index === 1 ? 'failed' : 'done', sums: { bytes: 1 } })
      if (index % 2 === 0) await story.saved(move)
      else await savedBy(other, story, move)
    }
    const lane = await story.lane(parent.id)
    assert.deepEqual([lane.counts, lane.open, lane.sums], [{ done: 3, failed: 1 }, 0, { bytes: 4 }])
    assert.deepEqual(await other.lanes([parent.id]), [lane])
    assert.deepEqual(await story.store.recount([parent.id, null], null), [])
    const due = await story.store.due(10)
    assert.deepEqual(idsOf(due.parents.map(({ entity }) => entity)), [parent.id], 'and wake their parent')
  })

  tell('what one takes of a pool the other does not have', async (story) => {
    const other = await story.reopen()
    const [first, second, third] = await story.createMany(3)
    const parked = {
      state: 'parked',
      wait: { for: 'nothing' },
      takes: [{ pool: 'disk', amount: 1, ceiling: 2 }],
    } as const
    await story.saved(aMove(first!, parked))
    await savedBy(other, story, aMove(second!, parked))
    assert.deepEqual(await story.verdict(aMove(third!, parked)), {
      kind: 'full',
      pool: 'disk',
      holders: [first!.id, second!.id],
    })
    const [given] = await other.get([second!.id])
    await savedBy(other, story, aMove(given!, { state: 'ready', gives: ['disk'] }))
    assert.equal(await story.kind(aMove(third!, parked)), 'saved')
  })

  tell('what one creates the other claims, in the order of their ranks', async (story) => {
    const other = await story.reopen()
    const created: number[] = []
    for (let round = 0; round < 3; round += 1) {
      assert.deepEqual(await claimBy(story.store), [], 'nothing is left')
      const ids = idsOf(await story.createMany(2))
      created.push(...ids)
      assert.deepEqual(await claimBy(other, 1), [ids[0]])
      assert.deepEqual(await claimBy(story.store, 1), [ids[1]])
    }
    assert.equal(new Set(created).size, 6)
  })
}
