import assert from 'node:assert/strict'
import type { Move, Release } from '../../store.ts'
import { aChange, aCheckpoint, aMove, hop, runNow } from '../builders.ts'
import type { Tell } from './story.ts'

/** Every change proves (epoch, seq): whoever decided on an older row is turned away, whoever it is. */
export function proof(tell: Tell): void {
  tell('an entity is born with seq 0, epoch 0 and generation 0, and no history', async (story) => {
    const entity = await story.create()
    assert.deepEqual([entity.seq, entity.epoch, entity.generation, entity.attempts], [0, 0, 0, 0])
    assert.deepEqual(await story.history(entity.id), [])
  })

  tell('a move raises seq by one and writes one history row with its whole path', async (story) => {
    const entity = await story.create()
    story.clock.advance(5)
    const hops = [hop('ready', 'packed'), hop('packed', 'sealed'), hop('sealed', 'done')]
    const actor = { actor: 'ada', role: 'operator', reason: 'in a hurry', requestId: 'request-1' }
    const moved = await story.saved(aMove(entity, { hops, actor, cause: 'action', error: 'torn' }))
    assert.deepEqual([moved.state, moved.seq, moved.born, moved.settled], ['done', 1, 'ready', true])
    assert.deepEqual(await story.history(entity.id), [
      {
        entity: entity.id,
        seq: 1,
        epoch: 1,
        generation: 0,
        at: story.store.time(),
        cause: 'action',
        hops,
        error: 'torn',
        ...actor,
      },
    ])
  })

  tell('every further move is one more row, without a gap', async (story) => {
    let entity = await story.create()
    for (const state of ['a', 'b', 'c', 'd']) entity = await story.saved(aMove(entity, { state }))
    assert.equal(entity.seq, 4)
    assert.deepEqual(
      (await story.history(entity.id)).map((record) => record.seq),
      [1, 2, 3, 4],
    )
  })

  tell('the generation that a move names is kept on the row and in the history', async (story) => {
    const entity = await story.create()
    const failed = await story.saved(aMove(entity, { state: 'failed' }))
    const reopened = await story.saved(aMove(failed, { state: 'ready', generation: 1 }))
    assert.equal(reopened.generation, 1)
    assert.deepEqual(
      (await story.history(entity.id)).map((record) => record.generation),
      [0, 1],
    )
  })

  tell('a change without hops raises neither number and writes no history', async (story) => {
    const { entity } = await story.createClaimed()
    const before = await story.history(entity.id)
    const checkpointed = await story.saved(aCheckpoint(entity, { progress: '"half"' }))
    const ranked = await story.saved(aChange(checkpointed, { priority: 3 }))
    assert.deepEqual([ranked.seq, ranked.epoch], [entity.seq, entity.epoch])
    assert.deepEqual([ranked.progress, ranked.priority], ['"half"', 3])
    assert.deepEqual(await story.history(entity.id), before)
  })

  for (const by of ['lease', 'outside', 'aside'] as const) {
    tell(`by ${by}: another epoch or seq, lower or higher, is stale and changes nothing`, async (story) => {
      const { entity } = await story.createClaimed()
      const before = await story.picture(entity.id)
      const full: Partial<Move> = { by, data: '"new"', takes: [{ pool: 'disk', amount: 1, ceiling: 2 }] }
      for (const wrong of [
        { epoch: entity.epoch - 1 },
        { epoch: entity.epoch + 1 },
        { seq: entity.seq - 1 },
        { seq: entity.seq + 1 },
        { epoch: entity.epoch + 1, seq: entity.seq - 1 },
      ]) {
        const move = by === 'aside' ? aChange(entity, { ...full, ...wrong }) : aMove(entity, { ...full, ...wrong })
        assert.equal(await story.kind(move), 'stale', JSON.stringify(wrong))
        assert.deepEqual(await story.picture(entity.id), before, JSON.stringify(wrong))
      }
    })
  }

  tell('a move of an entity that never was is stale', async (story) => {
    const entity = await story.create()
    assert.equal(await story.kind(aMove(entity, { id: entity.id + 1_000 })), 'stale')
  })

  tell('a commit by lease needs a lease: the right numbers alone are stale', async (story) => {
    const entity = await story.create()
    assert.equal(await story.kind(aMove(entity, { by: 'lease' })), 'stale')
    assert.equal(await story.kind(aCheckpoint(entity)), 'stale')
    assert.deepEqual(await story.get(entity.id), entity)
  })

  tell('a commit by lease in a stopped lane is stale, from outside it is saved', async (story) => {
    const { parent } = await story.createParent(1)
    const child = await story.claimOne(await story.register())
    await story.saved(aMove(parent, { state: 'cancelled', settled: true, wait: { for: 'nothing' }, lanes: 'stop' }))
    assert.equal(await story.kind(aMove(child)), 'stale')
    assert.equal(await story.kind(aCheckpoint(child)), 'stale')
    assert.equal((await story.get(child.id)).state, 'working')
    assert.equal((await story.saved(aMove(child, { by: 'outside' }))).state, 'done')
  })

  tell('by lease the epoch stays', async (story) => {
    const { entity } = await story.createClaimed()
    const kept = await story.saved(aMove(entity, { state: 'packed', keep: true }))
    assert.deepEqual([kept.epoch, kept.owner], [entity.epoch, entity.owner])
    const moved = await story.saved(aMove(kept))
    assert.deepEqual([moved.epoch, moved.owner], [entity.epoch, null])
  })

  tell('from outside the epoch always grows by one, and a lease ends', async (story) => {
    const entity = await story.create()
    const parked = await story.saved(aMove(entity, { state: 'parked', wait: runNow }))
    assert.equal(parked.epoch, 1, 'without a lease')
    const changed = await story.saved(aChange(parked, { by: 'outside', state: 'parked', wait: runNow }))
    assert.deepEqual([changed.epoch, changed.seq], [2, 1], 'without a hop')
    const claimed = await story.claimOne(await story.register(), { state: 'parked' })
    const taken = await story.saved(aMove(claimed, { by: 'outside', state: 'ready' }))
    assert.deepEqual([taken.epoch, taken.owner], [claimed.epoch + 1, null], 'with a lease')
    assert.equal(await story.kind(aMove(claimed)), 'stale', 'the holder comes late')
  })

  tell('aside touches neither epoch nor lease: the holder goes on', async (story) => {
    const { entity, worker } = await story.createClaimed()
    const changed = await story.saved(aChange(entity, { priority: 7 }))
    assert.deepEqual([changed.epoch, changed.owner, changed.priority], [entity.epoch, worker.id, 7])
    assert.equal((await story.saved(aMove(entity))).state, 'done')
  })

  tell('a claim raises the epoch by one; its hops are one move of cause claim', async (story) => {
    const entity = await story.create({ state: 'gate_waiting' })
    const hops = [hop('gate_waiting', 'ready'), hop('ready', 'queued'), hop('queued', 'working')]
    const worker = await story.register()
    const claimed = await story.claimOne(worker, { state: 'gate_waiting', hops })
    assert.deepEqual([claimed.epoch, claimed.seq, claimed.state, claimed.owner], [1, 1, 'working', worker.id])
    assert.deepEqual(claimed, await story.get(entity.id), 'the answer is the row after the claim')
    const [record, ...more] = await story.history(entity.id)
    assert.deepEqual([record?.cause, record?.seq, record?.epoch, record?.hops], ['claim', 1, 1, hops])
    assert.equal(more.length, 0)
  })

  tell('a claim without hops raises the epoch, but neither seq nor history', async (story) => {
    const entity = await story.create({ state: 'working' })
    const claimed = await story.claimOne(await story.register(), { state: 'working', hops: [] })
    assert.deepEqual([claimed.epoch, claimed.seq, claimed.state], [1, 0, 'working'])
    assert.deepEqual(await story.history(entity.id), [])
  })

  tell('a claim is as durable as a commit', async (story) => {
    const { entity } = await story.createClaimed()
    const other = await story.reopen()
    assert.deepEqual((await other.get([entity.id]))[0], entity)
  })

  const releases: Record<Release['kind'], (worker: number, id: number, epoch: number) => Release> = {
    give_back: (worker, id, epoch) => ({ kind: 'give_back', worker, leases: [{ id, epoch }] }),
    all_but: (worker) => ({ kind: 'all_but', worker, keep: [] }),
    timed_out: (_, id, epoch) => ({ kind: 'timed_out', leases: [{ id, epoch }], error: 'too slow' }),
    retire: (worker) => ({ kind: 'retire', worker }),
    dead: () => ({ kind: 'dead' }),
  }
  for (const [kind, releaseOf] of Object.entries(releases)) {
    tell(`release ${kind} raises the epoch: a commit that comes late is stale`, async (story) => {
      const { entity, worker } = await story.createClaimed()
      if (kind === 'dead') story.clock.advance(worker.expiresAt - story.store.time())
      const released = await story.store.release(releaseOf(worker.id, entity.id, entity.epoch))
      assert.deepEqual(released, [entity.id])
      const after = await story.get(entity.id)
      assert.deepEqual([after.epoch, after.owner, after.seq], [entity.epoch + 1, null, entity.seq])
      assert.equal(await story.kind(aMove(entity)), 'stale')
      assert.equal(await story.kind(aCheckpoint(entity, { progress: '1' })), 'stale')
      assert.deepEqual(await story.get(entity.id), after)
      // The same worker or another may have it again, under a fence that nobody else has.
      const again = await story.claimOne(await story.register('next'), { state: 'working', hops: [] })
      assert.equal(again.epoch, after.epoch + 1)
      assert.equal(await story.kind(aMove(entity)), 'stale', 'also while it is leased again')
    })
  }

  tell('the same commit under another operation is stale', async (story) => {
    const { entity } = await story.createClaimed()
    const poll = aMove(entity, { state: 'working', hops: [], attempts: 'back', wait: runNow })
    assert.deepEqual(
      [await story.kind(poll), await story.kind(poll)],
      ['saved', 'stale'],
      'without a hop: the owner is gone',
    )
    const again = await story.claimOne(await story.register('next'), { state: 'working', hops: [] })
    const onward = aMove(again, { state: 'packed', keep: true })
    assert.deepEqual([await story.kind(onward), await story.kind(onward)], ['saved', 'stale'], 'kept: seq has grown')
  })

  tell('two processes commit on one proof: one is saved, the other stale', async (story) => {
    const other = await story.reopen()
    for (let round = 0; round < 5; round += 1) {
      const entity = await story.create()
      const [mine, theirs] = await Promise.all([
        story.store.commit(`mine-${round}`, [aMove(entity, { state: 'failed', data: '"mine"' })]),
        other.commit(`theirs-${round}`, [aMove(entity, { state: 'done', data: '"theirs"' })]),
      ])
      assert.deepEqual([mine[0]?.kind, theirs[0]?.kind].sort(), ['saved', 'stale'])
      const after = await story.get(entity.id)
      assert.equal(after.data, mine[0]?.kind === 'saved' ? '"mine"' : '"theirs"')
      assert.equal((await story.history(entity.id)).length, 1)
    }
  })
}
