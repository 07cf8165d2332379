import assert from 'node:assert/strict'
import type { Request } from '../../entity.ts'
import type { ClaimRun } from '../../store.ts'
import { aChange, aMove, aRun, runNow, someChildren, waitForChildren, waitForNothing } from '../builders.ts'
import type { Tell } from './story.ts'
import { idsOf, leaseMs } from './story.ts'

/** What may be claimed, in which order; and what the engine must look at. */
export function waiting(tell: Tell): void {
  tell('an entity is claimable from its time on, not before', async (story) => {
    const at = story.store.time() + 100
    const entity = await story.create({ wait: { for: 'run', at } })
    const worker = await story.register()
    story.clock.advance(99)
    assert.deepEqual(await story.claim(worker), [])
    story.clock.advance(1)
    assert.deepEqual(idsOf(await story.claim(worker)), [entity.id])
  })

  tell('what is owned is not claimable, by nobody', async (story) => {
    const { worker } = await story.createClaimed()
    const run = { state: 'working', hops: [] }
    assert.deepEqual(await story.claim(worker, 10, run), [])
    assert.deepEqual(await story.claim(await story.register('other'), 10, run), [])
  })

  tell('only what waits to run is claimed', async (story) => {
    const past = story.store.time() - 1
    for (const wait of [
      { for: 'children', at: past },
      { for: 'time', at: past },
      { for: 'purge', at: past },
      { for: 'nothing' },
    ] as const) {
      await story.create({ wait })
    }
    assert.deepEqual(await story.claim(await story.register()), [])
  })

  tell('a run takes its machine, version and state only', async (story) => {
    const wanted = await story.create()
    await story.create({ machine: 'shipment' })
    await story.create({ version: 2 })
    await story.create({ state: 'packed' })
    assert.deepEqual(idsOf(await story.claim(await story.register())), [wanted.id])
  })

  tell(
    'a run that is said to have nobody in line has nobody, and one that has somebody is not said to be',
    async (story) => {
      await story.createMany(3)
      const held = await story.create({ state: 'packed' })
      const worker = await story.register()
      const [ready, packed, unknown] = [
        aRun({ hops: [] }),
        aRun({ state: 'packed', hops: [] }),
        aRun({ state: 'lost', hops: [] }),
      ]
      const claim = (runs: readonly ClaimRun[], limit: number) =>
        story.store.claim({ worker: worker.id, runs, limit, bytes: 2 ** 30 })
      const first = await claim([ready, unknown], 2)
      assert.equal(first.entities.length, 2)
      assert.ok(!first.idle?.includes(ready))
      const second = await claim([ready, packed], 1)
      assert.equal(second.entities.length, 1)
      assert.ok(!second.idle?.includes(second.entities[0]!.id === held.id ? ready : packed))
      const third = await claim([ready, packed], 10)
      const last = await claim([ready, packed], 10)
      assert.deepEqual([third.entities.length, last.entities.length], [1, 0])
      // A store may keep silent. What it says once must not be taken back by the next answer.
      for (const run of third.idle ?? []) assert.ok(last.idle?.includes(run))
      await story.create()
      assert.equal((await claim([ready, packed], 10)).entities.length, 1)
    },
  )

  tell('a run takes what was asked for by its edge, and leaves other requests alone', async (story) => {
    const request: Request = {
      edge: 'repack',
      actor: 'ada',
      role: null,
      reason: null,
      requestId: null,
      input: null,
      read: null,
    }
    const [plain, asked] = await story.createMany(2)
    await story.saved(aMove(asked!, { state: 'ready', hops: [], wait: runNow, request }))
    const worker = await story.register()
    assert.deepEqual(idsOf(await story.claim(worker)), [plain!.id], 'a run without edge leaves it')
    assert.deepEqual(await story.claim(worker, 10, { edge: 'other' }), [])
    const claimed = await story.claimOne(worker, { edge: 'repack', hops: [] })
    assert.deepEqual([claimed.id, claimed.request], [asked!.id, request])
  })

  tell('lower rank first, then lower id', async (story) => {
    const [first, second, third] = await story.createMany(3, { wait: { for: 'run', at: 500 } })
    const earlier = await story.create({ wait: { for: 'run', at: 400 } })
    const urgent = await story.create({ wait: { for: 'run', at: 500 }, priority: -1 })
    const claimed = await story.claim(await story.register())
    assert.deepEqual(idsOf(claimed), idsOf([urgent, earlier, first!, second!, third!]))
  })

  tell(
    'one step of priority is worth one ageing step: nothing starves',
    async (story) => {
      const patient = await story.create({ priority: 2, wait: { for: 'run', at: 1_000 } })
      const sooner = await story.create({ priority: 0, wait: { for: 'run', at: 2_999 } })
      const later = await story.create({ priority: 0, wait: { for: 'run', at: 3_001 } })
      const claimed = await story.claim(await story.register())
      assert.deepEqual(idsOf(claimed), idsOf([sooner, patient, later]))
    },
    { ageingMs: 1_000 },
  )

  tell('limits cut the lowest ranks out, over all runs together', async (story) => {
    const packed = await story.createMany(3, { state: 'packed', wait: { for: 'run', at: 20 } })
    const ready = await story.createMany(3, { wait: { for: 'run', at: 10 } })
    const worker = await story.register()
    const runs = [aRun({ state: 'packed', hops: [] }), aRun({ limit: 2 })]
    const first = await story.store.claim({ worker: worker.id, runs, limit: 4, bytes: 2 ** 30 })
    assert.deepEqual(new Set(idsOf(first.entities)), new Set(idsOf([...ready.slice(0, 2), ...packed.slice(0, 2)])))
    const second = await story.store.claim({ worker: worker.id, runs, limit: 4, bytes: 2 ** 30 })
    assert.deepEqual(new Set(idsOf(second.entities)), new Set(idsOf([ready[2]!, packed[2]!])))
  })

  tell('a claim takes no more bytes than asked for, but one entity however large', async (story) => {
    await story.createMany(3, { data: JSON.stringify('x'.repeat(98)) })
    const worker = await story.register()
    const claim = (bytes: number) => story.store.claim({ worker: worker.id, runs: [aRun()], limit: 10, bytes })
    assert.equal((await claim(250)).entities.length, 2)
    assert.equal((await claim(10)).entities.length, 1, 'else it would wait for ever')
  })

  tell('a new priority ranks it anew, also from a running processor aside', async (story) => {
    const [first, second] = await story.createMany(2, { priority: 1, wait: { for: 'run', at: 100 } })
    await story.saved(aChange(second!, { priority: 0 }))
    const worker = await story.register()
    assert.equal((await story.claimOne(worker)).id, second!.id)
    assert.equal((await story.claimOne(worker)).id, first!.id)
  })

  tell('after a release it waits since it began to wait: it is not sent back', async (story) => {
    const [first, second] = await story.createMany(2, { state: 'working', wait: { for: 'run', at: 100 } })
    const worker = await story.register()
    const run = { state: 'working', hops: [] }
    const claimed = await story.claimOne(worker, run)
    assert.equal(claimed.id, first!.id)
    story.clock.advance(1_000)
    const leases = [{ id: claimed.id, epoch: claimed.epoch }]
    await story.store.release({ kind: 'give_back', worker: worker.id, leases })
    assert.deepEqual((await story.get(first!.id)).wait, { for: 'run', at: 100 })
    assert.deepEqual(idsOf(await story.claim(worker, 10, run)), [first!.id, second!.id])
  })

  tell('due lists a parent while a lane is ahead of what it has seen', async (story) => {
    const { parent, children } = await story.createParent(2)
    const look = async (): Promise<void> => {
      const { wake } = await story.lane(parent.id)
      await story.saved(aChange(await story.get(parent.id), { read: [{ lane: 'parcels', wake }] }))
    }
    const dueNow = async () => (await story.store.due(10)).parents.map((due) => due.entity.id)
    assert.deepEqual(await dueNow(), [parent.id], 'children were born')
    await look()
    assert.deepEqual(await dueNow(), [])
    await story.saved(aMove(children[0]!))
    assert.deepEqual(await dueNow(), [], 'one is still open')
    await story.saved(aMove(children[1]!))
    const due = await story.store.due(10)
    assert.deepEqual(due.parents, [{ entity: await story.get(parent.id), lanes: await story.store.lanes([parent.id]) }])
    await look()
    assert.deepEqual(await dueNow(), [])
  })

  tell('due lists a parent once its time has come', async (story) => {
    const at = story.store.time() + 50
    const parent = await story.create({ machine: 'shipment', state: 'open', wait: { for: 'children', at } })
    assert.deepEqual(await story.store.due(10), { parents: [], timers: [], purges: [], next: at })
    story.clock.advance(50)
    const due = await story.store.due(10)
    assert.deepEqual(due.parents, [{ entity: parent, lanes: [] }])
    await story.saved(aChange(parent, { wait: waitForChildren }))
    assert.deepEqual(await story.store.due(10), { parents: [], timers: [], purges: [], next: null })
  })

  tell('due lists timers and purges from their time on', async (story) => {
    const now = story.store.time()
    const timer = await story.create({ wait: { for: 'time', at: now + 10 } })
    const old = await story.create({ state: 'done', wait: { for: 'purge', at: now + 20 } })
    assert.deepEqual(await story.store.due(10), { parents: [], timers: [], purges: [], next: now + 10 })
    story.clock.advance(10)
    const first = await story.store.due(10)
    assert.deepEqual([first.timers, first.purges, first.next], [[timer], [], now + 20])
    story.clock.advance(10)
    const second = await story.store.due(10)
    assert.deepEqual([second.timers, second.purges, second.next], [[timer], [old.id], null])
  })

  tell('next is the earliest time ahead of any wait, to run included', async (story) => {
    const now = story.store.time()
    await story.create({ wait: { for: 'purge', at: now + 400 } })
    await story.create({ wait: { for: 'run', at: now + 200 } })
    await story.create({ wait: { for: 'time', at: now + 300 } })
    await story.create({ wait: runNow })
    assert.equal((await story.store.due(10)).next, now + 200)
    story.clock.advance(200)
    assert.equal((await story.store.due(10)).next, now + 300)
  })

  tell('next is not later than the end of a hold: what it stopped may then be claimed', async (story) => {
    const now = story.store.time()
    await story.create({ wait: { for: 'run', at: now + 300 } })
    await story.hold({ state: 'ready' }, now + 100)
    assert.equal((await story.store.due(10)).next, now + 100)
    story.clock.advance(100)
    assert.equal((await story.store.due(10)).next, now + 300)
  })

  tell('due leaves out what the asking process does not know', async (story) => {
    const at = story.store.time()
    const parcel = await story.create({ wait: { for: 'time', at } })
    const newer = await story.create({ version: 2, wait: { for: 'time', at } })
    const shipment = await story.create({ machine: 'shipment', labels: [null], wait: { for: 'children', at } })
    const old = await story.create({ machine: 'shipment', labels: [null], state: 'done', wait: { for: 'purge', at } })
    const listed = async (machines?: readonly string[]) => {
      const due = await story.store.due(10, machines)
      return [idsOf(due.timers), due.parents.map(({ entity }) => entity.id), due.purges]
    }
    assert.deepEqual(await listed(['parcel@1']), [[parcel.id], [], []])
    assert.deepEqual(await listed(['parcel@2', 'shipment@1']), [[newer.id], [shipment.id], [old.id]])
    assert.deepEqual(await listed([]), [[], [], []])
    assert.deepEqual(await listed(), [[parcel.id, newer.id], [shipment.id], [old.id]])
  })

  tell('due keeps to its limit and lists the rest when these are dealt with', async (story) => {
    const now = story.store.time()
    const timers = await story.createMany(5, { wait: { for: 'time', at: now } })
    const { timers: first } = await story.store.due(2)
    assert.equal(first.length, 2)
    for (const timer of first) await story.saved(aMove(timer))
    const { timers: rest } = await story.store.due(10)
    assert.deepEqual(new Set(idsOf([...first, ...rest])), new Set(idsOf(timers)))
    assert.equal(rest.length, 3)
  })

  tell('what is settled or waits for something else is not due, however high its wake numbers are', async (story) => {
    const { parent, children } = await story.createParent(1)
    const closed = await story.saved(aMove(parent, { state: 'closed', settled: true, wait: waitForNothing }))
    await story.saved(aMove(children[0]!))
    assert.ok((await story.lane(parent.id)).wake > (await story.lane(parent.id)).seen)
    assert.deepEqual((await story.store.due(10)).parents, [])
    const running = await story.saved(aMove(closed, { state: 'again', wait: { for: 'run', at: 0 } }))
    assert.deepEqual((await story.store.due(10)).parents, [])
    await story.saved(aMove(running, { state: 'filled', wait: waitForChildren }))
    assert.deepEqual(
      (await story.store.due(10)).parents.map((due) => due.entity.id),
      [parent.id],
      'now it waits',
    )
  })

  tell('children of a root in no hurry do not hide it: many parents are due at once', async (story) => {
    const parents: number[] = []
    for (let index = 0; index < 5; index += 1) {
      const { parent, children } = await story.createParent(0)
      assert.equal(children.length, 0)
      await story.saved(aChange(parent, { children: someChildren(parent, 3, { state: 'done' }) }))
      parents.push(parent.id)
    }
    const due = await story.store.due(10)
    assert.deepEqual(new Set(due.parents.map((parent) => parent.entity.id)), new Set(parents))
  })

  tell('what an expired worker holds is not claimable before it is released', async (story) => {
    const { entity } = await story.createClaimed()
    story.clock.advance(2 * leaseMs)
    const run = { state: 'working', hops: [] }
    const next = await story.register('next')
    assert.deepEqual(await story.claim(next, 10, run), [])
    await story.store.release({ kind: 'dead' })
    assert.deepEqual(idsOf(await story.claim(next, 10, run)), [entity.id])
  })
}
