import assert from 'node:assert/strict'
import { aChange, aCheckpoint, aMove, aRun, aWorker, runNow } from '../builders.ts'
import type { Tell } from './story.ts'
import { idsOf, leaseMs, lost, sorted } from './story.ts'

/** One row per worker process; the fence, not the clock, decides whose commit counts. */
export function lease(tell: Tell): void {
  tell('a worker registers by renew, and is listed with its lease', async (story) => {
    const identity = aWorker({ name: 'blue', pid: 42, roles: ['heavy'], machines: ['parcel@1', 'shipment@1'] })
    const worker = await story.store.renew({ id: null, identity, leaseMs })
    const now = story.store.time()
    assert.deepEqual(worker, {
      id: worker.id,
      ...identity,
      startedAt: now,
      renewedAt: now,
      expiresAt: now + leaseMs,
      leases: 0,
    })
    await story.createMany(3)
    await story.claim(worker, 2)
    assert.deepEqual(await story.store.workers(), [{ ...worker, leases: 2 }])
  })

  tell('an id is never used again, by no process', async (story) => {
    const ids = new Set<number>()
    const other = await story.reopen()
    for (const store of [story.store, story.store, other, story.store, other]) {
      const worker = await story.register('short', leaseMs, store)
      assert.ok(!ids.has(worker.id), `worker ${worker.id} is new`)
      ids.add(worker.id)
      await store.release({ kind: 'retire', worker: worker.id })
    }
  })

  tell('renewing one row renews all that the worker holds', async (story) => {
    await story.createMany(5)
    const worker = await story.register()
    const claimed = await story.claim(worker)
    for (let round = 0; round < 3; round += 1) {
      story.clock.advance(leaseMs - 1)
      const renewed = await story.store.renew({ id: worker.id, identity: aWorker(), leaseMs })
      assert.equal(renewed.expiresAt, story.store.time() + leaseMs)
      assert.deepEqual([renewed.id, renewed.startedAt, renewed.leases], [worker.id, worker.startedAt, 5])
      assert.deepEqual(await story.store.release({ kind: 'dead' }), [])
    }
    assert.deepEqual(await story.store.get(idsOf(claimed)), claimed)
  })

  tell('a lease lasts until its last millisecond, and not one longer', async (story) => {
    const [first, second] = [await story.register('first'), await story.register('second')]
    await story.create()
    story.clock.advance(leaseMs - 1)
    await story.store.renew({ id: first.id, identity: aWorker(), leaseMs })
    assert.deepEqual(sorted((await story.store.workers()).map((worker) => worker.id)), [first.id, second.id])
    story.clock.advance(1)
    await assert.rejects(story.store.renew({ id: second.id, identity: aWorker(), leaseMs }), lost)
    await assert.rejects(story.claim(second), lost)
    assert.deepEqual(
      (await story.store.workers()).map((worker) => worker.id),
      [first.id],
    )
  })

  tell('a lost lease is lost for ever: no renewal, no sweep and no clock brings it back', async (story) => {
    const worker = await story.register()
    await story.create()
    story.clock.advance(leaseMs)
    const refusedBoth = async (): Promise<void> => {
      await assert.rejects(story.store.renew({ id: worker.id, identity: aWorker(), leaseMs }), lost)
      await assert.rejects(story.claim(worker), lost)
    }
    await refusedBoth()
    story.clock.set(story.clock.now() - 2 * leaseMs)
    await refusedBoth()
    await story.store.release({ kind: 'dead' })
    await refusedBoth()
  })

  tell('a worker that nobody registered is lost', async (story) => {
    await assert.rejects(story.store.renew({ id: 999, identity: aWorker(), leaseMs }), lost)
    await assert.rejects(story.store.claim({ worker: 999, runs: [aRun()], limit: 1, bytes: 1_000 }), lost)
  })

  tell('after its lease expired a commit is still saved, until somebody released what it holds', async (story) => {
    await story.createMany(2)
    const worker = await story.register()
    const [early, late] = await story.claim(worker)
    story.clock.advance(10 * leaseMs)
    assert.equal(await story.kind(aMove(early!)), 'saved')
    assert.deepEqual(await story.store.release({ kind: 'dead' }), [late!.id])
    assert.equal(await story.kind(aMove(late!)), 'stale')
  })

  tell('dead finds every expired worker, frees what it held and removes it; the living keep theirs', async (story) => {
    await story.createMany(6)
    const [first, second] = [await story.register('first'), await story.register('second')]
    const dead = [...(await story.claim(first, 2)), ...(await story.claim(second, 2))]
    story.clock.advance(leaseMs - 1)
    const living = await story.register('living')
    const kept = await story.claim(living, 2)
    story.clock.advance(1)
    assert.deepEqual(sorted(await story.store.release({ kind: 'dead' })), idsOf(dead))
    assert.deepEqual(await story.store.release({ kind: 'dead' }), [], 'only once')
    for (const entity of dead) assert.equal((await story.get(entity.id)).owner, null)
    assert.deepEqual(await story.store.get(idsOf(kept)), kept)
  })

  tell('two sweepers at once free each entity once', async (story) => {
    await story.createMany(10)
    const worker = await story.register()
    const claimed = await story.claim(worker)
    story.clock.advance(leaseMs)
    const other = await story.reopen()
    const [mine, theirs] = await Promise.all([story.store.release({ kind: 'dead' }), other.release({ kind: 'dead' })])
    assert.deepEqual(sorted([...mine, ...theirs]), idsOf(claimed))
    for (const entity of claimed) assert.equal((await story.get(entity.id)).epoch, entity.epoch + 1)
  })

  tell('give_back frees only where owner and epoch still fit', async (story) => {
    await story.createMany(3)
    const [mine, theirs] = [await story.register('mine'), await story.register('theirs')]
    const [first, second] = await story.claim(mine, 2)
    const third = await story.claimOne(theirs)
    const released = await story.store.release({
      kind: 'give_back',
      worker: mine.id,
      leases: [
        { id: first!.id, epoch: first!.epoch },
        { id: second!.id, epoch: second!.epoch + 1 },
        { id: third.id, epoch: third.epoch },
        { id: 12_345, epoch: 1 },
      ],
    })
    assert.deepEqual(released, [first!.id])
    assert.deepEqual([(await story.get(second!.id)).owner, (await story.get(third.id)).owner], [mine.id, theirs.id])
    const again = { kind: 'give_back', worker: mine.id, leases: [{ id: first!.id, epoch: first!.epoch }] } as const
    assert.deepEqual(await story.store.release(again), [], 'the same again frees nothing')
    assert.equal((await story.get(first!.id)).epoch, first!.epoch + 1)
  })

  tell('timed_out frees only under the epoch that outran its time, and tells the error', async (story) => {
    const { entity } = await story.createClaimed()
    const wrong = [{ id: entity.id, epoch: entity.epoch - 1 }]
    assert.deepEqual(await story.store.release({ kind: 'timed_out', leases: wrong, error: 'too slow' }), [])
    assert.deepEqual(await story.get(entity.id), entity)
    const right = [{ id: entity.id, epoch: entity.epoch }]
    assert.deepEqual(await story.store.release({ kind: 'timed_out', leases: right, error: 'too slow' }), [entity.id])
    const after = await story.get(entity.id)
    assert.deepEqual([after.error, after.attempts, after.suspect], ['too slow', 1, 0])
  })

  tell('what timed out says so until a move gives it another wait', async (story) => {
    const { entity, worker } = await story.createClaimed()
    const leases = [{ id: entity.id, epoch: entity.epoch }]
    await story.store.release({ kind: 'timed_out', leases, error: 'too slow' })
    const isMarked = async () => {
      const { wait } = await story.get(entity.id)
      return wait.for === 'run' && wait.timedOut === true
    }
    const claim = () => story.claimOne(worker, { state: entity.state })
    assert.equal(await isMarked(), true)
    // A worker that dies before it records the timeout, or gives the lease back, leaves the mark to the next one.
    const second = await claim()
    assert.deepEqual([second.wait, second.attempts], [{ ...entity.wait, timedOut: true }, 2])
    await story.store.release({ kind: 'give_back', worker: worker.id, leases: [second] })
    assert.equal(await isMarked(), true)
    const third = await claim()
    await story.saved(aCheckpoint(third, { checkpoint: { cursor: null, spawned: 0 } }))
    assert.equal(await isMarked(), true)
    await story.saved(aChange(third, { cause: 'retry', by: 'lease', keep: false, wait: runNow, attempts: 'back' }))
    const after = await story.get(entity.id)
    assert.deepEqual([after.wait, after.attempts], [runNow, 1])
  })

  tell('all_but gives back what the worker does not know of', async (story) => {
    await story.createMany(4)
    const worker = await story.register()
    const [known, ...lostOnTheWay] = await story.claim(worker)
    const released = await story.store.release({ kind: 'all_but', worker: worker.id, keep: [known!.id] })
    assert.deepEqual(sorted(released), idsOf(lostOnTheWay))
    assert.deepEqual(await story.get(known!.id), known)
    assert.equal((await story.get(lostOnTheWay[0]!.id)).attempts, 0)
  })

  tell('a worker that retires gives all back and is gone', async (story) => {
    await story.createMany(3)
    const worker = await story.register()
    const claimed = await story.claim(worker)
    assert.deepEqual(sorted(await story.store.release({ kind: 'retire', worker: worker.id })), idsOf(claimed))
    assert.deepEqual(await story.store.workers(), [])
    await assert.rejects(story.claim(worker), lost)
    await assert.rejects(story.store.renew({ id: worker.id, identity: aWorker(), leaseMs }), lost)
    const again = await story.claim(await story.register('next'), 10, { state: 'working', hops: [] })
    assert.deepEqual(
      again.map((entity) => [entity.id, entity.attempts, entity.suspect]),
      idsOf(claimed).map((id) => [id, 1, 0]),
    )
  })

  tell('two processes that claim at once never get the same entity', async (story) => {
    const created = await story.createMany(60)
    const other = await story.reopen()
    const [mine, theirs] = [await story.register('mine'), await story.register('theirs', leaseMs, other)]
    const claimed: number[] = []
    while (claimed.length < created.length) {
      const request = { runs: [aRun()], limit: 7, bytes: 2 ** 30 }
      const results = await Promise.all([
        story.store.claim({ worker: mine.id, ...request }),
        other.claim({ worker: theirs.id, ...request }),
      ])
      const ids = results.flatMap((result) => idsOf(result.entities))
      assert.notEqual(ids.length, 0, 'there is always somebody who gets on')
      claimed.push(...ids)
    }
    assert.deepEqual(sorted(claimed), idsOf(created))
  })
}
