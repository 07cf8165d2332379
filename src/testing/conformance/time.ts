import assert from 'node:assert/strict'
import { aMove, aWorker, manualClock } from '../builders.ts'
import type { Tell } from './story.ts'
import { leaseMs, lost } from './story.ts'

/** One clock, the store's. No machine's clock is trusted to go forward only. */
export function time(tell: Tell): void {
  tell('time is that of the clock that was handed in', async (story) => {
    assert.equal(story.store.time(), story.clock.now())
    story.clock.advance(1_234)
    assert.equal(story.store.time(), story.clock.now())
  })

  tell('time stands still while the clock is behind, and goes on when it has caught up', async (story) => {
    const before = story.store.time()
    story.clock.set(before - 10_000)
    assert.equal(story.store.time(), before)
    const entity = await story.create()
    assert.equal(entity.createdAt, before)
    story.clock.set(before + 5)
    assert.equal(story.store.time(), before + 5)
    assert.equal((await story.saved(aMove(entity))).changedAt, before + 5)
  })

  tell('histories never go back in time', async (story) => {
    let entity = await story.create()
    for (const step of [100, -5_000, 20, -1, 6_000]) {
      story.clock.set(story.clock.now() + step)
      entity = await story.saved(aMove(entity, { state: entity.state === 'a' ? 'b' : 'a' }))
    }
    const times = (await story.history(entity.id)).map((record) => record.at)
    assert.deepEqual(
      times,
      [...times].sort((a, b) => a - b),
    )
  })

  tell('a restart under a clock that was set back does not step back', async (story) => {
    story.clock.advance(500_000)
    const entity = await story.create()
    const other = await story.reopen(manualClock(story.clock.now() - 400_000))
    assert.ok(other.time() >= entity.createdAt, `${other.time()} is before ${entity.createdAt}`)
    const verdicts = await other.commit('later', [aMove(entity)])
    assert.deepEqual(verdicts, [{ kind: 'saved' }])
    assert.ok((await story.get(entity.id)).changedAt >= entity.createdAt)
  })

  tell('a clock that steps back neither revives a lease nor brings a hold back', async (story) => {
    const worker = await story.register()
    await story.create({ labels: ['maps', null] })
    await story.hold({ label: { name: 'collection', value: 'maps' } }, story.store.time() + 10)
    story.clock.advance(leaseMs)
    assert.deepEqual(await story.store.holds(), [])
    await assert.rejects(story.claim(worker), lost)
    story.clock.set(story.clock.now() - leaseMs)
    assert.deepEqual(await story.store.holds(), [])
    await assert.rejects(story.store.renew({ id: worker.id, identity: aWorker(), leaseMs }), lost)
  })
}
