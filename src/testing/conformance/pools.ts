import assert from 'node:assert/strict'
import type { Release } from '../../store.ts'
import { aChange, aCheckpoint, aChild, aMove, runNow, waitForNothing } from '../builders.ts'
import type { Story, Tell } from './story.ts'
import { idsOf, sorted } from './story.ts'

const presses = { name: 'run:parcel/press', ceiling: 2 }
const parked = { state: 'parked', wait: waitForNothing }

const take = (amount: number, ceiling = 10, pool = 'disk') => ({ pool, amount, ceiling })

async function taken(story: Story, pool = 'disk'): Promise<number> {
  return (await story.pool(pool)).taken
}

/** Amounts belong to the entity that took them: no crash leaks any, and no two promise the same. */
export function pools(tell: Tell): void {
  tell('a move takes, and gives back by name', async (story) => {
    const entity = await story.saved(aMove(await story.create(), { ...parked, takes: [take(4), take(1, 1, 'tape')] }))
    assert.deepEqual(await story.store.pools(['disk']), [
      { name: 'disk', ceiling: 10, taken: 4, holders: [{ entity: entity.id, amount: 4 }] },
    ])
    await story.saved(aMove(entity, { state: 'next', gives: ['disk'] }))
    assert.deepEqual([await taken(story), await taken(story, 'tape')], [0, 1])
  })

  tell('beyond the ceiling the verdict is full, with the holders', async (story) => {
    const [first, second, third] = await story.createMany(3)
    await story.saved(aMove(first!, { ...parked, takes: [take(6)] }))
    await story.saved(aMove(second!, { ...parked, takes: [take(3)] }))
    assert.deepEqual(await story.verdict(aMove(third!, { takes: [take(2)] })), {
      kind: 'full',
      pool: 'disk',
      holders: [first!.id, second!.id],
    })
    assert.equal(await taken(story), 9)
    await story.saved(aMove(third!, { takes: [take(1)] }))
    assert.equal(await taken(story), 10, 'up to the ceiling there is room')
  })

  tell('full names ten holders at most', async (story) => {
    for (const entity of await story.createMany(12))
      await story.saved(aMove(entity, { ...parked, takes: [take(1, 12)] }))
    const verdict = await story.verdict(aMove(await story.create(), { takes: [take(1, 12)] }))
    assert.ok(verdict.kind === 'full')
    assert.equal(verdict.holders.length, 10)
  })

  tell('taking again replaces the amount, up and down', async (story) => {
    let entity = await story.saved(aMove(await story.create(), { ...parked, takes: [take(8)] }))
    entity = await story.saved(aMove(entity, { ...parked, state: 'a', takes: [take(10)] }))
    assert.equal(await taken(story), 10)
    entity = await story.saved(aMove(entity, { ...parked, state: 'b', takes: [take(3)] }))
    assert.equal(await taken(story), 3)
    assert.equal(await story.kind(aMove(entity, { state: 'c', takes: [take(11)] })), 'full')
    assert.equal(await taken(story), 3)
  })

  tell('the ceiling is what the last taker said', async (story) => {
    const [first, second] = await story.createMany(2)
    await story.saved(aMove(first!, { ...parked, takes: [take(5, 5)] }))
    await story.saved(aMove(second!, { ...parked, takes: [take(5, 10)] }))
    assert.deepEqual([(await story.pool('disk')).ceiling, await taken(story)], [10, 10])
  })

  tell('two processes take the last share: one has it, the other is told full', async (story) => {
    const other = await story.reopen()
    const [first, second] = await story.createMany(2)
    const [mine, theirs] = await Promise.all([
      story.store.commit('mine', [aMove(first!, { ...parked, takes: [take(10)] })]),
      other.commit('theirs', [aMove(second!, { ...parked, takes: [take(10)] })]),
    ])
    assert.deepEqual([mine[0]?.kind, theirs[0]?.kind].sort(), ['full', 'saved'])
    assert.equal(await taken(story), 10)
  })

  tell('what was taken survives lease, release and crash: it belongs to the entity', async (story) => {
    const { entity, worker } = await story.createClaimed()
    await story.saved(aCheckpoint(entity, { takes: [take(4)] }))
    await story.dies(worker)
    assert.equal(await taken(story), 4)
    assert.deepEqual((await (await story.reopen()).pools(['disk']))[0]?.holders, [{ entity: entity.id, amount: 4 }])
  })

  tell('a key is a pool of one', async (story) => {
    const entity = await story.create({ key: 'k' })
    assert.deepEqual(await story.store.pools(['key:k']), [
      { name: 'key:k', ceiling: 1, taken: 1, holders: [{ entity: entity.id, amount: 1 }] },
    ])
    const source = await story.create()
    assert.deepEqual(await story.verdict(aMove(source, { children: [aChild(source, 0, { key: 'k' })] })), {
      kind: 'full',
      pool: 'key:k',
      holders: [entity.id],
    })
  })

  tell('unknown pools are left out', async (story) => {
    assert.deepEqual(await story.store.pools(['nobody']), [])
  })

  tell('a claim takes no more than its pool has room for, over all workers', async (story) => {
    await story.createMany(5)
    const [first, second] = [await story.register('first'), await story.register('second')]
    const run = { pool: presses }
    const claimed = await story.claim(first, 10, run)
    assert.equal(claimed.length, 2)
    assert.deepEqual([await story.claim(second, 10, run), await story.claim(first, 10, run)], [[], []])
    const pool = await story.pool(presses.name)
    assert.deepEqual([pool.taken, sorted(pool.holders.map((share) => share.entity))], [2, idsOf(claimed)])
    await story.saved(aMove(claimed[0]!))
    assert.equal((await story.claim(second, 10, run)).length, 1)
    assert.equal(await taken(story, presses.name), 2)
  })

  tell('a kept lease keeps its unit, a checkpoint too', async (story) => {
    await story.createMany(3)
    const worker = await story.register()
    const [first] = await story.claim(worker, 10, { pool: presses })
    const kept = await story.saved(aMove(first!, { state: 'packed', keep: true }))
    await story.saved(aCheckpoint(kept, { progress: '1' }))
    assert.equal(await taken(story, presses.name), 2)
    await story.saved(aMove(kept))
    assert.equal(await taken(story, presses.name), 1)
  })

  const endings: Record<string, (story: Story, worker: number, id: number, epoch: number) => Promise<unknown>> = {
    'a poll': async (story, _worker, id) =>
      story.saved(aMove(await story.get(id), { state: 'working', hops: [], attempts: 'back', wait: runNow })),
    'a move from outside': async (story, _worker, id) => story.saved(aMove(await story.get(id), { by: 'outside' })),
    'giving back': (story, worker, id, epoch) => release(story, { kind: 'give_back', worker, leases: [{ id, epoch }] }),
    'a timeout': (story, _worker, id, epoch) =>
      release(story, { kind: 'timed_out', leases: [{ id, epoch }], error: 'slow' }),
    all_but: (story, worker) => release(story, { kind: 'all_but', worker, keep: [] }),
    retiring: (story, worker) => release(story, { kind: 'retire', worker }),
    death: async (story) => {
      story.clock.advance(30_000)
      await release(story, { kind: 'dead' })
    },
  }
  for (const [ending, end] of Object.entries(endings)) {
    tell(`the unit of a claim lasts as long as the lease: ${ending} gives it back`, async (story) => {
      await story.create()
      const worker = await story.register()
      const claimed = await story.claimOne(worker, { pool: presses })
      assert.equal(await taken(story, presses.name), 1)
      await end(story, worker.id, claimed.id, claimed.epoch)
      assert.equal(await taken(story, presses.name), 0)
    })
  }

  tell('a pool per label: each value has its own room, and a full one blocks no other', async (story) => {
    for (const collection of ['maps', 'maps', 'maps', 'books', 'books'])
      await story.create({ labels: [collection, null] })
    const worker = await story.register()
    const run = { poolPer: { position: 0, name: 'run:parcel/press', ceiling: 1 } }
    const claimed = await story.claim(worker, 10, run)
    assert.deepEqual(
      claimed.map((entity) => entity.labels[0]),
      ['maps', 'books'],
    )
    assert.deepEqual(
      [await taken(story, 'run:parcel/press/maps'), await taken(story, 'run:parcel/press/books')],
      [1, 1],
    )
    await story.saved(aMove(claimed[1]!))
    assert.deepEqual(
      (await story.claim(worker, 10, run)).map((entity) => entity.labels[0]),
      ['books'],
    )
  })

  tell('a pool per label may have another ceiling for some values', async (story) => {
    for (const collection of ['maps', 'maps', 'maps', 'books', 'books', 'plays'])
      await story.create({ labels: [collection, null] })
    const worker = await story.register()
    const run = { poolPer: { position: 0, name: 'per', ceiling: 1, ceilings: { maps: 2, plays: 0 } } }
    const values = async () => (await story.claim(worker, 10, run)).map((entity) => entity.labels[0])
    assert.deepEqual(await values(), ['maps', 'maps', 'books'])
    assert.deepEqual(await values(), [], 'those that were put aside are judged by the same ceilings')
    const raised = { poolPer: { ...run.poolPer, ceilings: { maps: 3, plays: 1 } } }
    const more = (await story.claim(worker, 10, raised)).map((entity) => entity.labels[0])
    assert.deepEqual(more.sort(), ['maps', 'plays'], 'and anew when the ceilings have changed')
  })

  tell('both pools of a run bind', async (story) => {
    for (const collection of ['maps', 'maps', 'books', 'plays']) await story.create({ labels: [collection, null] })
    const run = { pool: presses, poolPer: { position: 0, name: 'per', ceiling: 1 } }
    const claimed = await story.claim(await story.register(), 10, run)
    assert.deepEqual(
      claimed.map((entity) => entity.labels[0]),
      ['maps', 'books'],
    )
    assert.equal(await taken(story, presses.name), 2)
  })

  tell('who waits for a pool is claimable while it has room', async (story) => {
    const holder = await story.saved(aMove(await story.create(), { ...parked, takes: [take(10)] }))
    const waiting = await story.create({ wait: { for: 'run', at: 0, pool: 'disk' } })
    const worker = await story.register()
    assert.deepEqual(await story.claim(worker), [])
    const smaller = await story.saved(aChange(holder, { takes: [take(9)] }))
    assert.deepEqual(
      idsOf(await story.claim(worker)),
      [waiting.id],
      'any room will do: the move will ask for its amount',
    )
    assert.equal(smaller.owner, null)
  })

  tell('who waits for a pool that nobody ever took is claimable', async (story) => {
    await story.create({ wait: { for: 'run', at: 0, pool: 'untouched' } })
    assert.equal((await story.claim(await story.register())).length, 1)
  })

  tell('giving back signals work', async (story) => {
    if (!story.store.signals) return
    const holder = await story.saved(aMove(await story.create(), { ...parked, takes: [take(10)] }))
    const heard = new Promise<void>((resolve) => {
      story.store.signals?.((signal) => {
        if (signal.work) resolve()
      })
    })
    await story.saved(aMove(holder, { ...parked, state: 'next', gives: ['disk'] }))
    await heard
  })
}

function release(story: Story, order: Release): Promise<readonly number[]> {
  return story.store.release(order)
}
