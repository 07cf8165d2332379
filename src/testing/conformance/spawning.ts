import assert from 'node:assert/strict'
import type { Entity } from '../../entity.ts'
import type { ChildBirth, Respawn } from '../../store.ts'
import { aCheckpoint, aChild, aMove, runNow, someChildren, waitForNothing } from '../builders.ts'
import type { Story, Tell } from './story.ts'
import { idsOf } from './story.ts'

const again: Respawn = { from: ['failed'], transition: 'retry', to: 'ready', wait: runNow }

/** A source at work, leased. */
async function aSource(story: Story): Promise<Entity> {
  return (await story.createClaimed()).entity
}

async function stage(story: Story, source: Entity, children: readonly ChildBirth[]): Promise<Entity> {
  return story.saved(aCheckpoint(source, { children, staging: 'stage' }))
}

/** Ordinal and data of a source's children, as anybody sees them. */
async function seen(story: Story, source: Entity): Promise<readonly (readonly [number | null, string])[]> {
  return (await story.children(source.id)).map((child) => [child.ordinal, child.data] as const)
}

/** A fan-out is all or nothing, and may be written again from the start without a second copy. */
export function spawning(tell: Tell): void {
  tell('a source counts the ordinals of its saved moves, in each generation anew', async (story) => {
    let source = await aSource(story)
    source = await stage(story, source, someChildren(source, 2))
    assert.equal(source.spawned, 0, 'what is staged may be written again')
    source = await story.saved(aMove(source, { state: 'one', keep: true, staging: 'publish', spawned: 2 }))
    assert.equal(source.spawned, 2)
    source = await story.saved(aMove(source, { state: 'two', keep: true, children: [aChild(source, 2)], spawned: 3 }))
    assert.equal(source.spawned, 3)
    source = await story.saved(aMove(source, { state: 'three', keep: true }))
    assert.equal(source.spawned, 3, 'a move that spawns nothing leaves it')
    source = await story.saved(aMove(source, { generation: source.generation + 1, wait: waitForNothing }))
    assert.equal(source.spawned, 0)
  })

  tell('children appear with the commit of their source', async (story) => {
    const source = await aSource(story)
    story.clock.advance(5)
    const child = aChild(source, 3, {
      state: 'packed',
      data: '[1]',
      labels: ['maps', null],
      priority: 2,
      wait: { for: 'run', at: 9 },
      sums: { bytes: 1 },
      createdBy: 'ada',
      key: 'child-key',
    })
    await story.saved(aMove(source, { children: [child] }))
    const [born] = await story.children(source.id)
    const now = story.store.time()
    assert.deepEqual(born, {
      id: born!.id,
      machine: 'parcel',
      version: 1,
      state: 'packed',
      born: 'packed',
      seq: 0,
      epoch: 0,
      generation: 0,
      settled: false,
      attempts: 0,
      suspect: 0,
      parent: source.id,
      lane: 'parcels',
      source: source.id,
      ordinal: 3,
      labels: ['maps', null],
      priority: 2,
      data: '[1]',
      wait: { for: 'run', at: 9 },
      request: null,
      owner: null,
      stopped: false,
      spawned: 0,
      checkpoint: null,
      progress: null,
      reason: null,
      sums: { bytes: 1 },
      error: null,
      key: 'child-key',
      createdAt: now,
      createdBy: 'ada',
      changedAt: now,
    })
    assert.deepEqual(await story.history(born!.id), [])
  })

  tell('the source is who moves, the parent is who counts', async (story) => {
    const { parent, children } = await story.createParent(1)
    await story.saved(aMove(children[0]!, { children: someChildren(parent, 2, { lane: 'second' }) }))
    const second = (await story.store.list({ parent: parent.id, lane: 'second', limit: 9 })).entities
    assert.deepEqual(
      second.map((child) => [child.source, child.ordinal]),
      [
        [children[0]!.id, 0],
        [children[0]!.id, 1],
      ],
    )
  })

  tell('ordinals are unique within their source only', async (story) => {
    const { parent, children } = await story.createParent(2)
    for (const source of children)
      await story.saved(aMove(source, { children: [aChild(parent, 0, { lane: 'second' })] }))
    assert.equal((await story.lane(parent.id, 'second')).total, 2)
  })

  tell('spawning onto an ordinal that is there leaves it alone', async (story) => {
    const source = await aSource(story)
    const first = await story.saved(
      aMove(source, { state: 'packed', keep: true, children: someChildren(source, 2, { data: '1' }) }),
    )
    const before = await story.children(source.id)
    await story.saved(aMove(first, { children: someChildren(source, 3, { data: '2', respawn: again }) }))
    assert.deepEqual(await seen(story, source), [
      [0, '1'],
      [1, '1'],
      [2, '2'],
    ])
    assert.deepEqual((await story.children(source.id)).slice(0, 2), before)
    assert.equal((await story.lane(source.id)).total, 3)
  })

  tell('the same ordinal twice in one move is one child', async (story) => {
    const source = await aSource(story)
    await story.saved(aMove(source, { children: [aChild(source, 0, { data: '1' }), aChild(source, 0, { data: '2' })] }))
    assert.deepEqual(await seen(story, source), [[0, '1']])
    assert.equal((await story.lane(source.id)).total, 1)
  })

  tell('staged children are not to be seen anywhere', async (story) => {
    const source = await aSource(story)
    const now = story.store.time()
    const position = (await story.store.events({ after: 0, limit: 1_000 })).position
    const children = [
      aChild(source, 0),
      aChild(source, 1, { wait: { for: 'time', at: now } }),
      aChild(source, 2, { wait: { for: 'children', at: now } }),
      aChild(source, 3, { wait: { for: 'run', at: now + 50 } }),
      aChild(source, 4, { state: 'done', wait: { for: 'purge', at: now } }),
    ]
    await stage(story, source, children)
    assert.deepEqual(idsOf((await story.store.list({ limit: 100 })).entities), [source.id])
    assert.deepEqual(await story.children(source.id), [])
    assert.deepEqual(await story.store.get([1, 2, 3, 4, 5, 6].map((offset) => source.id + offset)), Array(6).fill(null))
    for (const lane of await story.store.lanes([source.id])) {
      assert.deepEqual([lane.total, lane.open, lane.counts, lane.wake], [0, 0, {}, 0])
    }
    assert.deepEqual(await story.claim(await story.register('next')), [])
    assert.deepEqual(await story.store.due(10), { parents: [], timers: [], purges: [], next: null })
    const feed = await story.store.events({ after: position, limit: 1_000 })
    assert.deepEqual([feed.births, feed.moves], [[], []])
    assert.deepEqual(await story.store.recount([source.id], null), [])
  })

  tell('a commit on a staged child is stale: it is not there yet', async (story) => {
    const source = await aSource(story)
    const staged = await stage(story, source, [aChild(source, 0)])
    await story.saved(aMove(staged, { state: 'packed', keep: true, staging: 'publish', spawned: 1 }))
    const [published] = await story.children(source.id)
    const again = await stage(story, await story.get(source.id), [aChild(source, 1)])
    assert.equal(await story.kind(aMove(published!, { id: published!.id + 1 })), 'stale')
    await story.saved(aMove(again, { staging: 'publish', spawned: 2 }))
    assert.equal((await story.lane(source.id)).counts.done, undefined)
  })

  tell('publishing shows and counts all that was staged, with what the move brings itself', async (story) => {
    let source = await aSource(story)
    const before = await story.store.events({ after: 0, limit: 1_000 })
    source = await stage(story, source, someChildren(source, 2, { sums: { bytes: 1 } }))
    source = await stage(story, source, someChildren(source, 2, { sums: { bytes: 1 } }, 2))
    const children = someChildren(source, 1, { sums: { bytes: 1 } }, 4)
    await story.saved(aMove(source, { children, staging: 'publish', spawned: 5 }))
    const born = await story.children(source.id)
    assert.deepEqual(born.map((child) => child.ordinal).sort(), [0, 1, 2, 3, 4])
    assert.deepEqual(await story.store.get(idsOf(born)), born)
    const lane = await story.lane(source.id)
    assert.deepEqual([lane.total, lane.open, lane.counts, lane.sums, lane.wake], [5, 5, { ready: 5 }, { bytes: 5 }, 1])
    const feed = await story.store.events({ after: before.position, limit: 1_000 })
    assert.deepEqual(
      [...feed.births].sort((a, b) => a - b),
      idsOf(born),
    )
    assert.equal((await story.claim(await story.register('next'))).length, 5)
    assert.deepEqual(await story.store.recount([source.id], null), [])
  })

  tell('publishing drops staged ordinals beyond what was spawned: an earlier, longer run left them', async (story) => {
    let source = await aSource(story)
    source = await stage(story, source, someChildren(source, 5))
    source = await story.saved(aMove(source, { state: 'packed', keep: true, staging: 'publish', spawned: 3 }))
    assert.deepEqual(
      (await story.children(source.id)).map((child) => child.ordinal),
      [0, 1, 2],
    )
    assert.equal((await story.lane(source.id)).total, 3)
    await story.saved(aMove(source, { staging: 'publish', spawned: 9 }))
    assert.equal((await story.lane(source.id)).total, 3, 'they are gone for good')
  })

  tell('a staged row is replaced by the next one on its ordinal', async (story) => {
    let source = await aSource(story)
    source = await stage(story, source, someChildren(source, 3, { data: '1' }))
    source = await stage(story, source, [aChild(source, 1, { data: '2', lane: 'second', state: 'packed' })])
    await story.saved(aMove(source, { children: [aChild(source, 2, { data: '3' })], staging: 'publish', spawned: 3 }))
    assert.deepEqual(
      new Map(await seen(story, source)),
      new Map([
        [0, '1'],
        [1, '2'],
        [2, '3'],
      ]),
    )
    assert.deepEqual((await story.lane(source.id)).counts, { ready: 2 })
    assert.deepEqual((await story.lane(source.id, 'second')).counts, { packed: 1 })
  })

  tell('children that come without staging replace a staged row, and it is seen at once', async (story) => {
    let source = await aSource(story)
    source = await stage(story, source, someChildren(source, 2, { data: '1' }))
    await story.saved(aMove(source, { state: 'packed', keep: true, children: [aChild(source, 0, { data: '2' })] }))
    assert.deepEqual(await seen(story, source), [[0, '2']])
    assert.equal((await story.lane(source.id)).total, 1)
  })

  tell('staging leaves a child that is there alone', async (story) => {
    let source = await aSource(story)
    source = await story.saved(
      aMove(source, { state: 'packed', keep: true, children: [aChild(source, 0, { data: '1' })] }),
    )
    const before = await story.children(source.id)
    source = await stage(story, source, someChildren(source, 2, { data: '2' }))
    assert.deepEqual(await story.children(source.id), before)
    await story.saved(aMove(source, { staging: 'publish', spawned: 2 }))
    assert.deepEqual(await seen(story, source), [
      [0, '1'],
      [1, '2'],
    ])
    assert.equal((await story.lane(source.id)).total, 2)
  })

  tell('a failed child is reopened by the respawn hop, a finished one left alone', async (story) => {
    const source = await aSource(story)
    const kept = await story.saved(
      aMove(source, { state: 'packed', keep: true, children: someChildren(source, 3, { data: '1' }) }),
    )
    const [failing, done, open] = await story.children(source.id)
    const worker = await story.register('next')
    const claimed = await story.claimOne(worker)
    assert.equal(claimed.id, failing!.id)
    const failed = await story.saved(
      aMove(claimed, { state: 'failed', attempts: 'stay', reason: 'torn', error: 'ripped' }),
    )
    await story.saved(aMove(done!))
    const before = await story.lane(source.id)
    story.clock.advance(3)
    await story.saved(
      aMove(kept, { state: 'sealed', keep: true, children: someChildren(source, 3, { data: '2', respawn: again }) }),
    )
    const after = await story.get(failed.id)
    assert.deepEqual(
      [after.state, after.settled, after.seq, after.epoch, after.generation, after.attempts, after.data],
      ['ready', false, failed.seq + 1, failed.epoch + 1, 1, 0, '2'],
    )
    assert.deepEqual([after.reason, after.error, after.owner, after.wait], [null, null, null, runNow])
    assert.deepEqual([after.born, after.changedAt, after.createdAt], ['ready', story.store.time(), failed.createdAt])
    const record = (await story.history(failed.id)).at(-1)
    assert.deepEqual(
      [record?.cause, record?.seq, record?.generation, record?.hops],
      ['respawn', after.seq, 1, [{ transition: 'retry', from: 'failed', to: 'ready' }]],
    )
    assert.equal((await story.get(done!.id)).data, '1')
    assert.deepEqual(await story.get(open!.id), open)
    const lane = await story.lane(source.id)
    assert.deepEqual(
      [lane.counts, lane.open, lane.reasons, before.reasons],
      [{ ready: 2, done: 1 }, 2, {}, { torn: 1 }],
    )
    assert.deepEqual(idsOf(await story.claim(worker)), [failing!.id, open!.id])
  })

  tell('a respawn is a way out for the states that it names, and only for them', async (story) => {
    const source = await aSource(story)
    const kept = await story.saved(aMove(source, { state: 'packed', keep: true, children: someChildren(source, 2) }))
    const [failed, skipped] = await story.children(source.id)
    await story.saved(aMove(failed!, { state: 'failed' }))
    await story.saved(aMove(skipped!, { state: 'skipped' }))
    const next = await story.saved(aMove(kept, { state: 'sealed', keep: true, children: someChildren(source, 2) }))
    assert.deepEqual(
      (await story.children(source.id)).map((child) => child.state),
      ['failed', 'skipped'],
      'none is named',
    )
    const respawn = { ...again, from: ['skipped'] }
    await story.saved(aMove(next, { children: someChildren(source, 2, { respawn }) }))
    assert.deepEqual(
      (await story.children(source.id)).map((child) => child.state),
      ['failed', 'ready'],
    )
  })

  tell('a respawned last child wakes its parent', async (story) => {
    const source = await aSource(story)
    const kept = await story.saved(aMove(source, { state: 'packed', keep: true, children: [aChild(source, 0)] }))
    await story.saved(aMove((await story.children(source.id))[0]!, { state: 'failed' }))
    const before = await story.lane(source.id)
    await story.saved(aMove(kept, { children: [aChild(source, 0, { respawn: again })] }))
    assert.equal((await story.lane(source.id)).wake, before.wake + 1)
  })

  tell('what a failed source staged stays unseen until a later publish', async (story) => {
    let source = await aSource(story)
    source = await stage(story, source, someChildren(source, 3))
    source = await story.saved(aMove(source, { state: 'failed' }))
    assert.deepEqual(await story.children(source.id), [])
    assert.deepEqual(await story.claim(await story.register('next')), [])
    source = await story.saved(aMove(source, { state: 'ready', generation: 1 }))
    const worker = await story.register('again')
    source = await story.claimOne(worker)
    await story.saved(aMove(source, { staging: 'publish', spawned: 3 }))
    assert.equal((await story.children(source.id)).length, 3)
  })

  tell('staging and its checkpoint are durable: another process goes on at the cursor', async (story) => {
    const { entity, worker } = await story.createClaimed()
    const checkpoint = { cursor: '"row 2"', spawned: 2 }
    await story.saved(aCheckpoint(entity, { children: someChildren(entity, 2), staging: 'stage', checkpoint }))
    await story.dies(worker)
    const other = await story.reopen()
    const next = await story.register('next', 30_000, other)
    const claimed = await story.claimOne(next, { state: 'working', hops: [] })
    assert.deepEqual(claimed.checkpoint, checkpoint)
    const move = aMove(claimed, { children: [aChild(entity, 2)], staging: 'publish', spawned: 3, wait: waitForNothing })
    assert.deepEqual(await other.commit('published', [move]), [{ kind: 'saved' }])
    assert.equal((await story.children(entity.id)).length, 3)
  })
}
