import assert from 'node:assert/strict'
import type { Entity } from '../../entity.ts'
import { rootLane } from '../../entity.ts'
import type { Store } from '../../store.ts'
import { aBirth, aChange, aCheckpoint, aMove, someChildren, waitForNothing } from '../builders.ts'
import type { Story, Tell } from './story.ts'
import { conflict, idsOf } from './story.ts'

const closed = { state: 'closed', settled: true, wait: waitForNothing }

/** A settled root with six children, of which the first has four of its own. */
async function aTree(story: Story): Promise<{ root: Entity; below: readonly Entity[] }> {
  const { parent, children } = await story.createParent(6)
  const inner = await story.saved(aMove(children[0]!, { children: someChildren(children[0]!, 4) }))
  const root = await story.saved(aMove(parent, { ...closed, data: '"report"' }))
  return { root, below: [...children.slice(1), inner, ...(await story.children(inner.id))] }
}

async function purgeAll(store: Store, root: number, limit = 1_000): Promise<number> {
  for (let calls = 1; calls < 100; calls += 1) if (await store.purge(root, limit)) return calls
  return assert.fail('purging comes to an end')
}

/** A tree goes as a whole: below first, the root last, and something to remember it by. */
export function retention(tell: Tell): void {
  tell('only a settled root is purged', async (story) => {
    const { parent, children } = await story.createParent(1)
    await assert.rejects(story.store.purge(parent.id, 10), conflict, 'it is not settled')
    const child = await story.saved(aMove(children[0]!))
    await assert.rejects(story.store.purge(child.id, 10), conflict, 'it is no root')
    assert.equal((await story.children(parent.id)).length, 1)
  })

  tell('the whole tree goes, and a tombstone stays', async (story) => {
    const created = await story.create({ machine: 'shipment', state: 'open', key: 'order-1', wait: waitForNothing })
    const filled = await story.saved(
      aMove(created, { state: 'filled', children: someChildren(created, 3), wait: waitForNothing }),
    )
    const children = await story.children(created.id)
    await story.saved(aMove(children[0]!, { state: 'failed', reason: 'torn', sums: { bytes: 3 } }))
    await story.saved(aMove(filled, { ...closed, data: '"report"' }))
    const lanes = await story.store.lanes([created.id])
    story.clock.advance(10)
    await purgeAll(story.store, created.id)
    assert.deepEqual(await story.store.get([created.id, ...idsOf(children)]), [null, null, null, null])
    assert.deepEqual((await story.store.list({ limit: 10 })).entities, [])
    assert.deepEqual(await story.store.lanes([created.id]), [])
    assert.deepEqual(await story.history(created.id), [])
    const [tombstone, none] = await story.store.tombstones([created.id, children[0]!.id])
    assert.deepEqual(tombstone, {
      id: created.id,
      machine: 'shipment',
      version: 1,
      state: 'closed',
      key: 'order-1',
      data: '"report"',
      lanes,
      createdAt: created.createdAt,
      purgedAt: story.store.time(),
    })
    assert.equal(none, null)
  })

  tell('roots are no longer counted in their lane when they are gone', async (story) => {
    const [first] = await story.createMany(2)
    await story.saved(aMove(first!, { reason: 'torn', sums: { bytes: 3 } }))
    await purgeAll(story.store, first!.id)
    const lane = await story.lane(null, rootLane('parcel', 1))
    assert.deepEqual([lane.total, lane.open, lane.counts, lane.reasons, lane.sums], [1, 1, { ready: 1 }, {}, {}])
    assert.deepEqual(await story.store.recount([null], null), [])
  })

  tell('below goes in groups, the root last; each call says whether there is more', async (story) => {
    const { root, below } = await aTree(story)
    let left = below.length
    for (;;) {
      const finished = await story.store.purge(root.id, 3)
      const remaining = (await story.store.get(idsOf(below))).filter((entity) => entity !== null).length
      assert.ok(left - remaining <= 3, `${left - remaining} at once`)
      if (finished) break
      assert.equal((await story.store.tombstones([root.id]))[0], null, 'no tombstone before the end')
      assert.ok(remaining < left || remaining === 0, 'it gets on')
      left = remaining
    }
    assert.equal(await story.find(root.id), null)
    assert.deepEqual(
      (await story.store.tombstones([root.id]))[0]?.lanes.map((lane) => lane.total),
      [6],
    )
  })

  tell('a crash between groups is made good by another process', async (story) => {
    const { root, below } = await aTree(story)
    assert.equal(await story.store.purge(root.id, 2), false)
    const other = await story.reopen()
    await purgeAll(other, root.id, 2)
    assert.deepEqual(await story.store.get([root.id, ...idsOf(below)]), Array(below.length + 1).fill(null))
    const tombstone = (await other.tombstones([root.id]))[0]
    assert.deepEqual(
      [tombstone?.data, tombstone?.lanes[0]?.counts],
      ['"report"', { ready: 5, done: 1 }],
      'as it was closed',
    )
    assert.equal(await story.store.purge(root.id, 2), true, 'and may be asked for again')
  })

  tell('a tree whose purging has begun does not come to life again', async (story) => {
    const { root, below } = await aTree(story)
    assert.equal(await story.store.purge(root.id, 1), false)
    assert.equal(await story.kind(aMove(root, { state: 'filled', generation: 1 })), 'stale', 'it is not reopened')
    assert.deepEqual(await story.claim(await story.register()), [], 'and nothing below is begun')
    const left = (await story.store.get(idsOf(below))).find((entity) => entity !== null)
    assert.ok(left)
    assert.equal(await story.kind(aMove(left)), 'stale')
    await purgeAll(story.store, root.id, 1)
  })

  tell('whoever still works below a purged root comes too late', async (story) => {
    const { parent } = await story.createParent(1)
    const child = await story.claimOne(await story.register())
    await story.saved(aMove(parent, closed))
    await purgeAll(story.store, parent.id)
    assert.equal(await story.kind(aMove(child)), 'stale')
    assert.equal(await story.kind(aMove(parent)), 'stale')
  })

  tell('a purged key still answers existing, with the old id', async (story) => {
    const entity = await story.create({ key: 'order-1', state: 'done' })
    await purgeAll(story.store, entity.id)
    assert.deepEqual(await story.store.create('again', [aBirth({ key: 'order-1' })]), [
      { kind: 'existing', id: entity.id },
    ])
    assert.deepEqual((await story.store.list({ limit: 10 })).entities, [])
  })

  tell('ids of what was purged are never used again', async (story) => {
    const entity = await story.create({ state: 'done' })
    await purgeAll(story.store, entity.id)
    assert.ok((await story.create()).id > entity.id)
  })

  tell('what was taken is gone with whoever took it', async (story) => {
    const { parent, children } = await story.createParent(2)
    await story.saved(aMove(children[0]!, { takes: [{ pool: 'disk', amount: 4, ceiling: 9 }] }))
    await story.saved(aMove(parent, { ...closed, takes: [{ pool: 'disk', amount: 2, ceiling: 9 }] }))
    await purgeAll(story.store, parent.id)
    assert.equal((await story.pool('disk')).taken, 0)
  })

  tell('what was staged is purged with the tree, and its neighbours stay', async (story) => {
    const { parent } = await story.createParent(1)
    const source = await story.claimOne(await story.register())
    const staged = await story.saved(
      aCheckpoint(source, { children: someChildren(parent, 3, { lane: 'second' }), staging: 'stage' }),
    )
    await story.saved(aMove(staged, { state: 'failed' }))
    const { parent: neighbour } = await story.createParent(2)
    await story.saved(aMove(parent, closed))
    await purgeAll(story.store, parent.id, 2)
    assert.equal((await story.children(neighbour.id)).length, 2)
    assert.deepEqual(await story.store.recount([null, neighbour.id], null), [])
  })

  tell('a root may be due for purging, and is not once it is gone', async (story) => {
    const entity = await story.create({ state: 'done', wait: { for: 'purge', at: story.store.time() } })
    assert.deepEqual((await story.store.due(10)).purges, [entity.id])
    await purgeAll(story.store, entity.id)
    assert.deepEqual((await story.store.due(10)).purges, [])
    assert.equal(await story.kind(aChange(entity)), 'stale')
  })
}
