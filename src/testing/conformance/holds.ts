import assert from 'node:assert/strict'
import type { HoldScope } from '../../hold.ts'
import { aMove, runNow, waitForNothing } from '../builders.ts'
import type { Tell } from './story.ts'
import { idsOf } from './story.ts'

const maps = { label: { name: 'collection', value: 'maps' } } as const

/** A hold stops what it names from being begun, and from going on. */
export function holds(tell: Tell): void {
  tell('a hold is kept with its reason, owner and times until it is lifted', async (story) => {
    const until = story.store.time() + 100
    const scope: HoldScope = { machine: 'parcel', state: 'ready', parent: 7, entity: 8, ...maps }
    const by = { actor: 'olga', role: 'operator', reason: 'audit', requestId: 'r1' }
    const [hold, ...more] = await story.store.holds({ set: scope, reason: 'audit', owner: 'olga', until, by })
    const since = story.store.time()
    assert.deepEqual(hold, { id: hold!.id, scope, reason: 'audit', owner: 'olga', until, since, by, ended: null })
    assert.equal(more.length, 0)
    assert.deepEqual(await (await story.reopen()).holds(), [hold])
    assert.deepEqual(await story.store.holds({ lift: hold!.id }), [])
    assert.deepEqual(await story.store.holds(), [])
  })

  tell('holds that have ended are told of, by whom and when, the latest first', async (story) => {
    const nobody = { actor: null, role: null, reason: null, requestId: null }
    const by = { actor: 'omar', role: 'admin', reason: 'it is over', requestId: 'r2' }
    const set = async (until: number | null) =>
      (await story.store.holds({ set: maps, reason: 'audit', owner: 'olga', until })).at(-1)!
    const lifted = await set(null)
    const expiring = await set(story.store.time() + 100)
    const standing = await set(null)
    await story.store.holds({ lift: lifted.id, by })
    const liftedAt = story.store.time()
    story.clock.advance(500)
    assert.deepEqual(await story.store.holds(), [standing])
    const past = [
      { ...expiring, ended: { at: expiring.until, by: null } },
      { ...lifted, ended: { at: liftedAt, by } },
    ]
    assert.deepEqual(await story.store.holds({ past: 10 }), past)
    assert.deepEqual(await story.store.holds({ past: 1 }), past.slice(0, 1))
    await story.store.holds({ lift: lifted.id, by: nobody })
    await story.store.holds({ lift: standing.id })
    assert.deepEqual(
      (await (await story.reopen()).holds({ past: 10 })).map(({ id, ended }) => [id, ended?.by ?? null]),
      [
        [standing.id, nobody],
        [expiring.id, null],
        [lifted.id, by],
      ],
      'lifting again changes nothing',
    )
  })

  tell('a label hold stops what carries the label in a holdable state', async (story) => {
    const [held] = await story.createMany(1, { labels: ['maps', null] })
    const [free] = await story.createMany(1, { labels: ['books', 'maps'] })
    const [bare] = await story.createMany(1)
    const hold = await story.hold(maps)
    const worker = await story.register()
    const claimed = await story.claim(worker, 10, { holdable: true })
    assert.deepEqual(idsOf(claimed), [free!.id, bare!.id], 'the same value of another label is free')
    await story.store.holds({ lift: hold })
    assert.deepEqual(idsOf(await story.claim(worker, 10, { holdable: true })), [held!.id])
  })

  tell('a label hold lets a state that is not holdable go on', async (story) => {
    const entity = await story.create({ labels: ['maps', null] })
    await story.hold(maps)
    assert.deepEqual(idsOf(await story.claim(await story.register(), 10, { holdable: false })), [entity.id])
  })

  tell('a hold that names state, parent or entity stops any state', async (story) => {
    const { parent, children } = await story.createParent(2)
    const scopes: HoldScope[] = [{ state: 'ready' }, { parent: parent.id }, { entity: children[0]!.id }]
    const worker = await story.register()
    for (const scope of scopes) {
      const hold = await story.hold(scope)
      const claimed = await story.claim(worker, 10)
      assert.deepEqual(idsOf(claimed), 'entity' in scope ? [children[1]!.id] : [], JSON.stringify(scope))
      await story.store.holds({ lift: hold })
    }
    assert.deepEqual(idsOf(await story.claim(worker, 10)), [children[0]!.id])
  })

  tell('all that a hold names must match', async (story) => {
    const parcel = await story.create({ labels: ['maps', null] })
    await story.hold({ machine: 'shipment', ...maps })
    await story.hold({ state: 'packed', ...maps })
    await story.hold({ entity: parcel.id, label: { name: 'collection', value: 'books' } })
    await story.hold({ label: { name: 'colour', value: 'maps' } })
    assert.equal((await story.claim(await story.register(), 10, { holdable: true })).length, 1)
  })

  tell('a label is found by its name in each machine: positions differ', async (story) => {
    await story.store.define([
      { name: 'crate', version: 1, digest: 'crate-1', labels: ['owner', 'collection'], declaration: '{}' },
    ])
    await story.create({ machine: 'crate', labels: ['ann', 'maps'] })
    const free = await story.create({ machine: 'crate', labels: ['maps', 'books'] })
    await story.hold(maps)
    const claimed = await story.claim(await story.register(), 10, { machine: 'crate', holdable: true })
    assert.deepEqual(idsOf(claimed), [free.id])
  })

  tell('at claim the state in which it waits is judged, and all that the run says it passes', async (story) => {
    const parcel = await story.create()
    const worker = await story.register()
    const waiting = await story.hold({ state: 'ready' })
    assert.deepEqual(await story.claim(worker), [])
    await story.store.holds({ lift: waiting })
    const ahead = await story.hold({ state: 'working' })
    const passes = ['ready', 'working']
    assert.deepEqual(await story.claim(worker, 10, { passes }), [])
    await story.store.holds({ lift: ahead })
    await story.hold({ state: 'working', ...maps })
    assert.deepEqual(idsOf(await story.claim(worker, 10, { passes })), [parcel.id], 'all that a hold names must match')
  })

  tell('a kept lease is judged by all that its next run passes', async (story) => {
    const { entity } = await story.createClaimed()
    await story.hold({ state: 'packed' })
    const [hold] = await story.store.holds()
    const onward = { state: 'sealed', holds: [], keep: true, passes: ['packed', 'sealed'] }
    assert.deepEqual(await story.verdict(aMove(entity, onward)), { kind: 'held', holds: [hold] })
    assert.equal(await story.kind(aMove(entity, { ...onward, passes: ['sealed'] })), 'saved')
  })

  for (const [how, onward] of [
    ['kept lease', { keep: true, wait: null }],
    ['wait to run', { keep: false, wait: runNow }],
  ] as const) {
    tell(`a hold that is set between claim and commit stops what would go on (${how})`, async (story) => {
      const { entity } = await story.createClaimed({ labels: ['maps', null] })
      const id = await story.hold(maps)
      const [hold] = await story.store.holds()
      const move = aMove(entity, { state: 'packed', holdable: true, holds: [], ...onward })
      assert.deepEqual(await story.verdict(move), { kind: 'held', holds: [hold] })
      assert.deepEqual(await story.get(entity.id), entity)
      assert.equal(await story.kind({ ...move, holdable: false }), 'saved', 'not a holdable state')
      const parked = await story.get(entity.id)
      const known = aMove(parked, { state: 'sealed', holdable: true, holds: [id], wait: runNow, by: 'outside' })
      assert.equal(await story.kind(known), 'saved', 'the decision knew the hold')
    })
  }

  tell('what rests, waits for somebody else or does not ask is saved under a hold', async (story) => {
    const entity = await story.create({ labels: ['maps', null] })
    await story.hold({ entity: entity.id })
    const asked = { holds: [], holdable: true }
    const parked = await story.saved(aMove(entity, { state: 'held', wait: waitForNothing, ...asked }))
    const timer = await story.saved(aMove(parked, { state: 'later', wait: { for: 'time', at: 9 }, ...asked }))
    const running = await story.saved(aMove(timer, { state: 'ready', wait: runNow, holds: null }))
    await story.saved(aMove(running, { state: 'done', ...asked }))
  })

  tell('at commit the new state and the new labels are judged', async (story) => {
    const [first, second] = await story.createMany(2)
    const state = await story.hold({ state: 'packed' })
    const asked = { holds: [], holdable: true, wait: runNow }
    assert.equal(await story.kind(aMove(first!, { state: 'packed', ...asked })), 'held')
    await story.saved(aMove(first!, { state: 'sealed', ...asked }))
    await story.store.holds({ lift: state })
    await story.hold(maps)
    assert.equal(await story.kind(aMove(second!, { state: 'sealed', labels: ['maps', null], ...asked })), 'held')
    await story.saved(aMove(second!, { state: 'sealed', ...asked }))
  })

  tell('every hold that the decision did not know is named', async (story) => {
    const entity = await story.create()
    const known = await story.hold({ entity: entity.id })
    const unknown = await story.hold({ state: 'packed' }, null, 'strike')
    await story.hold({ state: 'elsewhere' })
    const verdict = await story.verdict(aMove(entity, { state: 'packed', holds: [known], wait: runNow }))
    assert.ok(verdict.kind === 'held')
    assert.deepEqual(
      verdict.holds.map((hold) => [hold.id, hold.reason]),
      [[unknown, 'strike']],
    )
  })

  tell('a hold ends by itself at its time', async (story) => {
    const entity = await story.create({ labels: ['maps', null] })
    await story.hold(maps, story.store.time() + 100)
    const worker = await story.register()
    story.clock.advance(99)
    assert.deepEqual(await story.claim(worker, 10, { holdable: true }), [])
    const asked = { state: 'packed', holds: [], holdable: true, wait: runNow }
    assert.equal(await story.kind(aMove(entity, asked)), 'held')
    story.clock.advance(1)
    assert.deepEqual(await story.store.holds(), [], 'it is no longer listed')
    assert.deepEqual(idsOf(await story.claim(worker, 10, { holdable: true })), [entity.id])
    assert.equal(await story.kind(aMove(await story.get(entity.id), asked)), 'saved')
  })

  tell('two holds over one entity: lifting one does not lift the other', async (story) => {
    const entity = await story.create({ labels: ['maps', null] })
    const first = await story.hold(maps)
    const second = await story.hold({ entity: entity.id })
    const worker = await story.register()
    await story.store.holds({ lift: first })
    assert.deepEqual(await story.claim(worker, 10, { holdable: true }), [])
    await story.store.holds({ lift: second })
    assert.equal((await story.claim(worker, 10, { holdable: true })).length, 1)
  })

  tell('what comes under a hold after it was set is stopped as well', async (story) => {
    await story.hold(maps)
    await story.create({ labels: ['maps', null] })
    const moved = await story.create()
    await story.saved(aMove(moved, { state: 'ready', hops: [], labels: ['maps', null], wait: runNow }))
    assert.deepEqual(await story.claim(await story.register(), 10, { holdable: true }), [])
  })

  tell('a hold of another process is judged at once', async (story) => {
    const other = await story.reopen()
    await story.create({ labels: ['maps', null] })
    const worker = await story.register()
    await other.holds({ set: maps, reason: 'audit', owner: 'olga', until: null })
    assert.deepEqual(await story.claim(worker, 10, { holdable: true }), [])
  })
}
