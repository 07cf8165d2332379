import assert from 'node:assert/strict'
import { rootLane } from '../../entity.ts'
import { nobody } from '../../store.ts'
import {
  aChange,
  aCheckpoint,
  aChild,
  aMove,
  runNow,
  someChildren,
  waitForChildren,
  waitForNothing,
} from '../builders.ts'
import type { Tell } from './story.ts'
import { idsOf } from './story.ts'

/** Counts change in the commit that changes the child; the wake number says that a parent must look. */
export function lanes(tell: Tell): void {
  tell('a root is counted in the lane of its machine and version', async (story) => {
    await story.createMany(3)
    await story.create({ state: 'failed', reason: 'torn', sums: { bytes: 7 } })
    await story.create({ version: 2 })
    const lane = await story.lane(null, rootLane('parcel', 1))
    assert.deepEqual([lane.parent, lane.machine, lane.version], [null, 'parcel', 1])
    assert.deepEqual([lane.counts, lane.total, lane.open], [{ ready: 3, failed: 1 }, 4, 3])
    assert.deepEqual([lane.reasons, lane.sums], [{ torn: 1 }, { bytes: 7 }])
    assert.equal((await story.lane(null, rootLane('parcel', 2))).total, 1)
  })

  tell('lanes stand in the order in which they were made, whatever their names', async (story) => {
    const parent = await story.create()
    const names = ['list', 'fetch', 'apply', 'step 10', 'step 2']
    let entity = parent
    for (const [ordinal, lane] of names.entries()) {
      entity = await story.saved(
        aMove(entity, { children: someChildren(parent.id, 1, { lane }, ordinal), spawned: 1, wait: waitForChildren }),
      )
    }
    const shown = async () => (await story.store.lanes([parent.id])).map(({ name }) => name)
    assert.deepEqual(await shown(), names)
    await story.saved(aMove(entity, { children: someChildren(parent.id, 1, { lane: 'apply' }, 9), spawned: 1 }))
    assert.deepEqual(await shown(), names, 'a child that comes later moves none')
  })

  tell('a child is counted in its lane, wherever it goes', async (story) => {
    const { parent, children } = await story.createParent(3, { sums: { records: 1 } })
    const lane = async () => {
      const { counts, total, open, reasons, sums } = await story.lane(parent.id)
      return { counts, total, open, reasons, sums }
    }
    assert.deepEqual(await lane(), { counts: { ready: 3 }, total: 3, open: 3, reasons: {}, sums: { records: 3 } })
    const failing = await story.claimOne(await story.register())
    assert.deepEqual((await lane()).counts, { ready: 2, working: 1 }, 'a claim counts too')
    const failed = await story.saved(
      aMove(failing, { state: 'failed', reason: 'torn', sums: { records: 1, bytes: 9 } }),
    )
    await story.saved(aMove(children[1]!, { sums: { records: 5 } }))
    assert.deepEqual(await lane(), {
      counts: { ready: 1, failed: 1, done: 1 },
      total: 3,
      open: 1,
      reasons: { torn: 1 },
      sums: { records: 7, bytes: 9 },
    })
    await story.saved(aMove(failed, { state: 'ready', reason: null, sums: null, generation: 1 }))
    assert.deepEqual(
      await lane(),
      {
        counts: { ready: 2, done: 1 },
        total: 3,
        open: 2,
        reasons: {},
        sums: { records: 6 },
      },
      'what the row had added is taken back',
    )
    assert.deepEqual(await story.store.recount([parent.id, null], null), [])
  })

  tell('reason and sums that a move does not name go on counting', async (story) => {
    const { parent, children } = await story.createParent(1)
    const failed = await story.saved(aMove(children[0]!, { state: 'failed', reason: 'torn', sums: { bytes: 2 } }))
    await story.saved(aMove(failed, { state: 'skipped' }))
    const lane = await story.lane(parent.id)
    assert.deepEqual([lane.counts, lane.reasons, lane.sums], [{ skipped: 1 }, { torn: 1 }, { bytes: 2 }])
  })

  tell('what a change without hops says of the sums is counted as well', async (story) => {
    const { parent } = await story.createParent(1, { sums: { bytes: 1 } })
    const child = await story.claimOne(await story.register())
    await story.saved(aCheckpoint(child, { sums: { bytes: 5 } }))
    assert.deepEqual((await story.lane(parent.id)).sums, { bytes: 5 })
    await story.saved(aMove(child, { sums: { bytes: 7 } }))
    assert.deepEqual((await story.lane(parent.id)).sums, { bytes: 7 })
    assert.deepEqual(await story.store.recount([parent.id], null), [])
  })

  tell(
    'beyond so many reasons the rest is counted together, and taken back as it was counted',
    async (story) => {
      const { parent, children } = await story.createParent(4)
      for (const [index, child] of children.entries())
        await story.saved(aMove(child, { state: 'failed', reason: `reason-${index}` }))
      const expected = { 'reason-0': 1, 'reason-1': 1, other: 2 }
      assert.deepEqual((await story.lane(parent.id)).reasons, expected)
      const last = await story.get(children[3]!.id)
      assert.equal(last.reason, 'other', 'the row says how it is counted')
      await story.saved(aMove(last, { state: 'ready', reason: null, generation: 1 }))
      assert.deepEqual((await story.lane(parent.id)).reasons, { ...expected, other: 1 })
      assert.deepEqual(await story.store.recount([parent.id], null), [])
    },
    { reasonsMax: 2 },
  )

  tell('the wake number grows when the open count leaves zero and when it reaches it', async (story) => {
    const { parent, children } = await story.createParent(2)
    const wake = async () => (await story.lane(parent.id)).wake
    const born = await wake()
    assert.equal(born, 1)
    const first = await story.saved(aMove(children[0]!))
    assert.equal(await wake(), born, 'one is open')
    await story.saved(aMove(children[1]!))
    assert.equal(await wake(), born + 1, 'none is open')
    const reopened = await story.saved(aMove(first, { state: 'ready', generation: 1 }))
    assert.equal(await wake(), born + 2, 'one is open again')
    await story.saved(aMove(reopened))
    assert.equal(await wake(), born + 3)
  })

  tell('reaching zero and leaving it again within one commit counts twice', async (story) => {
    const { parent, children } = await story.createParent(2)
    const done = await story.saved(aMove(children[0]!))
    const before = await story.lane(parent.id)
    assert.deepEqual(await story.kinds(aMove(children[1]!), aMove(done, { state: 'ready', generation: 1 })), [
      'saved',
      'saved',
    ])
    const after = await story.lane(parent.id)
    assert.deepEqual([after.open, after.wake], [1, before.wake + 2])
  })

  tell('a watched state wakes when it is first entered, and only then', async (story) => {
    const { parent, children } = await story.createParent(3, { watches: ['failed'] })
    const before = await story.lane(parent.id)
    assert.deepEqual(before.watches, ['failed'])
    const failed = await story.saved(aMove(children[0]!, { state: 'failed' }))
    const after = await story.lane(parent.id)
    assert.deepEqual([after.wake, after.entered], [before.wake + 1, ['failed']])
    await story.saved(aMove(children[1]!, { state: 'failed' }))
    await story.saved(aMove(failed, { state: 'ready', generation: 1 }))
    await story.saved(aMove(await story.get(failed.id), { state: 'failed' }))
    assert.equal((await story.lane(parent.id)).wake, before.wake + 1)
  })

  tell('a watched state that a claim enters wakes too', async (story) => {
    const { parent } = await story.createParent(2, { watches: ['working'] })
    const before = await story.lane(parent.id)
    await story.claim(await story.register())
    assert.equal((await story.lane(parent.id)).wake, before.wake + 1)
  })

  tell('a child that is born settled wakes a parent with nothing open', async (story) => {
    const { parent } = await story.createParent(1, { state: 'done' })
    const lane = await story.lane(parent.id)
    assert.deepEqual([lane.open, lane.total, lane.counts], [0, 1, { done: 1 }])
    assert.ok(lane.wake > lane.seen)
    assert.deepEqual(
      (await story.store.due(10)).parents.map((due) => due.entity.id),
      [parent.id],
    )
  })

  tell('a move that read an older wake number is stale; a saved one has seen what it read', async (story) => {
    const { parent, children } = await story.createParent(1)
    const { wake } = await story.lane(parent.id)
    await story.saved(aMove(children[0]!))
    const closing = aMove(parent, { state: 'closed', settled: true })
    assert.equal(await story.kind({ ...closing, read: [{ lane: 'parcels', wake }] }), 'stale')
    assert.equal(await story.kind(aChange(parent, { read: [{ lane: 'parcels', wake }] })), 'stale', 'a look as well')
    assert.equal((await story.lane(parent.id)).seen, 0)
    await story.saved({ ...closing, read: [{ lane: 'parcels', wake: wake + 1 }] })
    const lane = await story.lane(parent.id)
    assert.deepEqual([lane.wake, lane.seen], [wake + 1, wake + 1])
  })

  tell('one grown lane among several makes the move stale, and none is seen', async (story) => {
    const { parent } = await story.createParent(0)
    const children = [...someChildren(parent, 1, { lane: 'first' }), ...someChildren(parent, 1, { lane: 'second' }, 1)]
    const filled = await story.saved(aChange(parent, { children }))
    const read = (await story.store.lanes([parent.id])).map((lane) => ({ lane: lane.name, wake: lane.wake }))
    const [, second] = await story.children(parent.id)
    await story.saved(aMove(second!))
    assert.equal(await story.kind(aChange(filled, { read })), 'stale')
    assert.deepEqual(
      (await story.store.lanes([parent.id])).map((lane) => lane.seen),
      [0, 0],
    )
  })

  tell('a lane that was not there when it was read has grown when it is', async (story) => {
    const { parent } = await story.createParent(0)
    const read = [{ lane: 'parcels', wake: 0 }]
    assert.equal(await story.kind(aChange(parent, { read })), 'saved')
    await story.saved(aChange(parent, { children: [aChild(parent, 0)] }))
    assert.equal(await story.kind(aChange(parent, { read })), 'stale')
  })

  tell('children never write their parent', async (story) => {
    const { parent, children } = await story.createParent(3)
    await story.claim(await story.register(), 1)
    await story.saved(aMove(children[2]!, { state: 'failed', reason: 'torn', sums: { bytes: 1 } }))
    assert.deepEqual(await story.get(parent.id), parent)
  })

  tell('a source that spawns for its parent leaves the parent alone, too', async (story) => {
    const { parent, children } = await story.createParent(1)
    const children2 = someChildren(parent, 2, { lane: 'second' })
    await story.saved(aMove(children[0]!, { children: children2 }))
    assert.deepEqual(await story.get(parent.id), parent)
    const lane = await story.lane(parent.id, 'second')
    assert.deepEqual([lane.total, lane.open, lane.gate, lane.status], [2, 2, 'shut', 'going'])
  })

  tell('gated children run only while their gate is open', async (story) => {
    const { parent } = await story.createParent(3, { wait: { for: 'run', at: 0, gated: true } })
    const worker = await story.register()
    assert.equal((await story.lane(parent.id)).gate, 'shut')
    assert.deepEqual(await story.claim(worker), [])
    const open = await story.saved(aChange(parent, { opens: ['parcels'] }))
    assert.equal((await story.lane(parent.id)).gate, 'open')
    assert.equal((await story.claim(worker, 1)).length, 1)
    await story.saved(aChange(open, { shuts: ['parcels'] }))
    assert.equal((await story.lane(parent.id)).gate, 'shut')
    assert.deepEqual(await story.claim(worker), [])
  })

  tell('what is not gated does not ask for the gate', async (story) => {
    await story.createParent(2)
    assert.equal((await story.claim(await story.register())).length, 2)
  })

  tell('a gate may open before the lane has children', async (story) => {
    const { parent } = await story.createParent(0)
    const open = await story.saved(aChange(parent, { opens: ['parcels'] }))
    assert.equal((await story.lane(parent.id)).gate, 'open')
    await story.saved(
      aChange(open, { children: someChildren(parent, 2, { wait: { for: 'run', at: 0, gated: true } }) }),
    )
    const lane = await story.lane(parent.id)
    assert.deepEqual([lane.machine, lane.version, lane.total, lane.gate], ['parcel', 1, 2, 'open'])
    assert.equal((await story.claim(await story.register())).length, 2)
  })

  tell('gates open in the commit that spawns the children behind them', async (story) => {
    const gated = { wait: { for: 'run', at: 0, gated: true } } as const
    await story.createParent(2, gated, { opens: ['parcels'] })
    assert.equal((await story.claim(await story.register())).length, 2)
  })

  tell('rest: none is started, what runs goes on; go: all go on', async (story) => {
    const { parent } = await story.createParent(3)
    const worker = await story.register()
    const running = await story.claimOne(worker)
    const resting = await story.saved(aMove(parent, { state: 'paused', wait: waitForNothing, lanes: 'rest' }))
    assert.equal((await story.lane(parent.id)).status, 'resting')
    assert.deepEqual(await story.claim(worker), [])
    assert.equal((await story.get(running.id)).stopped, false)
    await story.saved(aMove(running))
    await story.saved(aMove(resting, { state: 'filled', wait: waitForChildren, lanes: 'go' }))
    assert.equal((await story.lane(parent.id)).status, 'going')
    assert.equal((await story.claim(worker)).length, 2)
  })

  tell('stop: what runs may no longer commit, and is shown to be stopped', async (story) => {
    const { parent } = await story.createParent(3)
    const worker = await story.register()
    const running = await story.claimOne(worker)
    const stopped = await story.saved(aMove(parent, { state: 'cancelled', settled: true, lanes: 'stop' }))
    assert.equal((await story.lane(parent.id)).status, 'stopped')
    assert.deepEqual(await story.claim(worker), [])
    assert.deepEqual(
      (await story.children(parent.id)).map((child) => child.stopped),
      [true, true, true],
    )
    assert.equal((await story.get(parent.id)).stopped, false, 'its own lane goes')
    assert.equal(await story.kind(aMove(running)), 'stale')
    assert.equal(await story.kind(aCheckpoint(running)), 'stale')
    await story.saved(aMove(stopped, { state: 'filled', wait: waitForChildren, lanes: 'go', generation: 1 }))
    assert.equal((await story.get(running.id)).stopped, false)
    assert.equal((await story.claim(worker)).length, 2)
  })

  tell('every lane of the parent rests, and none of another parent', async (story) => {
    const { parent } = await story.createParent(1, { lane: 'first' })
    await story.saved(aChange(parent, { children: someChildren(parent, 1, { lane: 'second' }, 1) }))
    const { children } = await story.createParent(1)
    await story.saved(aMove(parent, { state: 'paused', wait: waitForNothing, lanes: 'rest' }))
    assert.deepEqual(
      (await story.store.lanes([parent.id])).map((lane) => lane.status),
      ['resting', 'resting'],
    )
    assert.deepEqual(idsOf(await story.claim(await story.register())), idsOf(children))
  })

  tell('go forgets which watched states were entered', async (story) => {
    const { parent, children } = await story.createParent(3, { watches: ['failed'] })
    await story.saved(aMove(children[0]!, { state: 'failed' }))
    await story.saved(aMove(parent, { state: 'again', wait: waitForChildren, lanes: 'go' }))
    const before = await story.lane(parent.id)
    assert.deepEqual(before.entered, [])
    await story.saved(aMove(children[1]!, { state: 'failed' }))
    assert.equal((await story.lane(parent.id)).wake, before.wake + 1)
  })

  for (const [order, status] of [
    ['rest', 'resting'],
    ['stop', 'stopped'],
  ] as const) {
    tell(`a lane that is made under a parent that was told to ${order} is ${status}`, async (story) => {
      const { parent } = await story.createParent(0)
      const told = await story.saved(aChange(parent, { lanes: order }))
      const filled = await story.saved(aChange(told, { children: someChildren(parent, 2, { wait: runNow }) }))
      assert.equal((await story.lane(parent.id)).status, status)
      const worker = await story.register()
      assert.deepEqual(await story.claim(worker), [])
      await story.saved(aChange(filled, { lanes: 'go' }))
      assert.equal((await story.claim(worker)).length, 2)
    })
  }

  tell('a recount that finds nothing wrong mends nothing', async (story) => {
    const { parent } = await story.createParent(3)
    const before = await story.picture(parent.id)
    assert.deepEqual(await story.store.recount([parent.id, null], { ...nobody, actor: 'olga' }), [])
    assert.deepEqual(await story.picture(parent.id), before)
  })

  tell('a lane that lies is found out by a recount, and mended with a trace', async (story) => {
    if (!story.harness.damage) return
    const { parent } = await story.createParent(3)
    const lane = await story.lane(parent.id)
    await story.harness.damage({ ...lane, open: 1, counts: { ready: 2, lost: 1 } })
    const drift = {
      parent: parent.id,
      lane: 'parcels',
      said: { open: 1, 'counts.ready': 2, 'counts.lost': 1 },
      counted: { open: 3, 'counts.ready': 3, 'counts.lost': 0 },
    }
    const found = await story.store.recount([parent.id], null)
    assert.deepEqual(found, [drift])
    assert.equal((await story.lane(parent.id)).open, 1, 'who only asks changes nothing')
    const actor = { actor: 'olga', role: 'admin', reason: 'audit', requestId: 'r-1' }
    assert.deepEqual(await story.store.recount([parent.id], actor), [drift])
    assert.deepEqual(await story.store.recount([parent.id], null), [])
    const mended = await story.lane(parent.id)
    assert.deepEqual([mended.open, mended.counts], [3, { ready: 3 }])
    assert.ok(mended.wake > lane.wake, 'the parent was judged by wrong figures: it looks again')
    const record = (await story.history(parent.id)).at(-1)
    assert.equal((await story.get(parent.id)).seq, parent.seq + 1)
    assert.deepEqual(
      [record?.cause, record?.hops, record?.seq, record?.actor, record?.reason],
      ['repair', [], parent.seq + 1, 'olga', 'audit'],
    )
  })

  tell('lanes are read for the parents that are asked for, and none else', async (story) => {
    const { parent: first } = await story.createParent(1)
    const { parent: second } = await story.createParent(1)
    await story.createParent(1)
    const lanes = await story.store.lanes([second.id, first.id])
    assert.deepEqual(new Set(lanes.map((lane) => lane.parent)), new Set([first.id, second.id]))
    assert.deepEqual(await story.store.lanes([99_999]), [])
    assert.deepEqual(await story.store.lanes([]), [])
  })
}
