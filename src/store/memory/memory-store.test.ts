import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Entity, EntityId } from '../../entity.ts'
import type { Limits } from '../../limits.ts'
import type { Birth, ChildBirth, Move, Signal } from '../../store.ts'
import {
  aBirth,
  aChange,
  aCheckpoint,
  aChild,
  aMove,
  aRun,
  aWorker,
  manualClock,
  parcelMachine,
  shipmentMachine,
  someChildren,
  waitForChildren,
  waitForNothing,
} from '../../testing/builders.ts'
import { memoryStore } from './index.ts'

async function scene(limits: Partial<Limits> = {}, yields?: () => Promise<void>) {
  const clock = manualClock()
  const store = memoryStore({ clock, limits, ...(yields && { yields }) })
  await store.define([parcelMachine, shipmentMachine])
  let operations = 0
  const operation = () => `operation-${++operations}`
  const get = async (id: EntityId): Promise<Entity> => {
    const [entity] = await store.get([id])
    assert.ok(entity, `entity ${id} is there`)
    return entity
  }
  return {
    clock,
    store,
    operation,
    get,
    async create(changes: Partial<Birth> = {}): Promise<Entity> {
      const [verdict] = await store.create(operation(), [aBirth(changes)])
      assert.equal(verdict?.kind, 'saved')
      return get((verdict as { id: EntityId }).id)
    },
    async verdict(move: Move) {
      return (await store.commit(operation(), [move]))[0]!
    },
    async saved(move: Move): Promise<Entity> {
      assert.deepEqual(await store.commit(operation(), [move]), [{ kind: 'saved' }])
      return get(move.id)
    },
    async worker(leaseMs = 30_000): Promise<number> {
      return (await store.renew({ id: null, identity: aWorker(), leaseMs })).id
    },
    async claim(worker: number, run: Parameters<typeof aRun>[0] = {}, limit = 1_000): Promise<readonly Entity[]> {
      return (await store.claim({ worker, runs: [aRun(run)], limit, bytes: 2 ** 30 })).entities
    },
  }
}

async function parentOf(at: Awaited<ReturnType<typeof scene>>, count: number, changes: Partial<ChildBirth> = {}) {
  const born = await at.create({ machine: 'shipment', state: 'open', labels: [null], wait: waitForNothing })
  return at.saved(aMove(born, { state: 'filled', wait: waitForChildren, children: someChildren(born, count, changes) }))
}

test('proof: the same proof moves an entity once', async () => {
  const at = await scene()
  const entity = await at.create()
  await at.saved(aMove(entity))
  assert.deepEqual(await at.verdict(aMove(entity, { state: 'failed' })), { kind: 'stale' })
})

test('proof: a path that breaks, or begins where the entity is not, is refused', async () => {
  const at = await scene()
  const entity = await at.create()
  const hops = [
    { transition: 'pack', from: 'ready', to: 'packed' },
    { transition: 'ship', from: 'sealed', to: 'done' },
  ]
  assert.equal((await at.verdict(aMove(entity, { hops }))).kind, 'refused')
  assert.equal(
    (await at.verdict(aMove(entity, { hops: [{ transition: 'ship', from: 'sealed', to: 'done' }] }))).kind,
    'refused',
  )
  assert.equal((await at.verdict(aChange(entity, { state: 'done' }))).kind, 'refused')
  assert.deepEqual(await at.get(entity.id), entity)
})

test('commit: a repeated operation is answered as before, for as long as operations are kept', async () => {
  const at = await scene({ operationMs: 1_000 })
  const entity = await at.create()
  assert.deepEqual(await at.store.commit('once', [aMove(entity)]), [{ kind: 'saved' }])
  assert.deepEqual(await at.store.commit('once', [aMove(entity), aMove(entity)]), [{ kind: 'saved' }])
  at.clock.advance(1_000)
  assert.deepEqual(await at.store.commit('once', [aMove(entity)]), [{ kind: 'stale' }])
})

test('commit: the second move of one entity is refused, and so is too much', async () => {
  const at = await scene({ dataBytesMax: 8, spawnMax: 2 })
  const entity = await at.create()
  const other = await at.create()
  const kinds = (await at.store.commit('group', [aMove(entity), aMove(entity), aMove(other, { data: '"ééééé"' })])).map(
    (verdict) => verdict.kind,
  )
  assert.deepEqual(kinds, ['saved', 'refused', 'refused'])
  assert.equal((await at.verdict(aMove(other, { children: someChildren(other, 3) }))).kind, 'refused')
  assert.equal(
    (await at.verdict(aMove(other, { children: [aChild(entity, 0)] }))).kind,
    'refused',
    'a stranger as parent',
  )
  const at2 = await scene({ commitMax: 1, createMax: 1 })
  await assert.rejects(at2.store.create('many', [aBirth(), aBirth()]), { code: 'invalid' })
  await assert.rejects(at2.store.commit('many', [aMove(entity), aMove(other)]), { code: 'invalid' })
})

test('rows cannot be changed from outside, neither through what was given nor through what was got', async () => {
  const at = await scene()
  const labels = ['old', null]
  const wait = { for: 'run' as const, at: 0 }
  const entity = await at.create({ labels, wait })
  labels[0] = 'new'
  wait.at = 5_000_000
  assert.deepEqual((await at.get(entity.id)).labels, ['old', null])
  assert.throws(() => Object.assign(entity, { state: 'done' }), TypeError)
  assert.throws(() => Object.assign(entity.wait, { at: 1 }), TypeError)
  const [lane] = await at.store.lanes([null])
  assert.throws(() => Object.assign(lane!.counts, { ready: 7 }), TypeError)
  assert.equal((await at.claim(await at.worker())).length, 1)
})

test('lease: an expired worker is lost for ever, but commits until it is released', async () => {
  const at = await scene()
  await at.create()
  await at.create()
  const worker = await at.worker(1_000)
  const [one, two] = await at.claim(worker)
  at.clock.advance(1_000)
  await assert.rejects(at.store.renew({ id: worker, identity: aWorker(), leaseMs: 1_000 }), { code: 'lease_lost' })
  await assert.rejects(at.claim(worker), { code: 'lease_lost' })
  await at.saved(aMove(one!))
  assert.deepEqual(await at.store.release({ kind: 'dead' }), [two!.id])
  assert.deepEqual(await at.verdict(aMove(two!)), { kind: 'stale' })
})

test('suspects: the poison is alone at last, and only it collects attempts', async () => {
  const at = await scene()
  for (let index = 0; index < 8; index += 1) await at.create()
  const poison = 3
  let rounds = 0
  for (; rounds < 50; rounds += 1) {
    const worker = await at.worker(1_000)
    const run = rounds === 0 ? {} : { state: 'working', hops: [] }
    const held = await at.claim(worker, run)
    if (held.length === 0) break
    if (held.some((entity) => entity.id === poison)) {
      at.clock.advance(1_000)
      await at.store.release({ kind: 'dead' })
      if ((await at.get(poison)).attempts >= 3) break
    } else {
      for (const entity of held) await at.saved(aMove(entity))
    }
  }
  assert.deepEqual([(await at.get(poison)).attempts, (await at.get(poison)).suspect], [3, 1])
  const others = (await at.store.list({ limit: 100 })).entities.filter((entity) => entity.id !== poison)
  assert.ok(others.every((entity) => entity.attempts === 0))
})

test('waiting: by rank over several kinds, within every limit', async () => {
  const at = await scene({ ageingMs: 10 })
  const slow = await at.create({ wait: { for: 'run', at: 100 }, priority: 5 })
  const urgent = await at.create({ wait: { for: 'run', at: 100 }, priority: 0, state: 'other' })
  const old = await at.create({ wait: { for: 'run', at: 105 }, priority: 0 })
  const later = await at.create({ wait: { for: 'run', at: at.clock.now() + 50 } })
  const worker = await at.worker()
  const runs = [aRun(), aRun({ state: 'other' })]
  assert.equal((await at.store.due(10)).next, at.clock.now() + 50)
  const { entities } = await at.store.claim({ worker, runs, limit: 10, bytes: 2 ** 20 })
  assert.deepEqual(
    entities.map((entity) => entity.id),
    [urgent.id, old.id, slow.id],
  )
  assert.deepEqual(await at.claim(worker), [])
  at.clock.advance(50)
  assert.deepEqual(
    (await at.claim(worker)).map((entity) => entity.id),
    [later.id],
  )
})

test('waiting: bytes bound a claim, but never down to nothing', async () => {
  const at = await scene()
  for (let index = 0; index < 3; index += 1) await at.create({ data: '"12345678"' })
  const worker = await at.worker()
  const claim = async (bytes: number) =>
    (await at.store.claim({ worker, runs: [aRun()], limit: 10, bytes })).entities.length
  assert.deepEqual([await claim(25), await claim(1), await claim(1)], [2, 1, 0])
})

test('lanes: a parent is due when the last child settles, and not after it has looked', async () => {
  const at = await scene()
  const parent = await parentOf(at, 2)
  const look = async () => {
    const [due] = (await at.store.due(10)).parents
    assert.ok(due)
    const read = due.lanes.map(({ name, wake }) => ({ lane: name, wake }))
    return { due, move: aChange(due.entity, { read }) }
  }
  await at.saved((await look()).move)
  assert.deepEqual((await at.store.due(10)).parents, [])
  const [one, two] = await at.claim(await at.worker())
  await at.saved(aMove(one!))
  assert.deepEqual((await at.store.due(10)).parents, [])
  await at.saved(aMove(two!, { state: 'failed', reason: 'torn', sums: { bytes: 5 } }))
  const { due, move } = await look()
  const { counts, open, reasons, sums } = due.lanes[0]!
  assert.deepEqual(
    { counts, open, reasons, sums },
    { counts: { done: 1, failed: 1 }, open: 0, reasons: { torn: 1 }, sums: { bytes: 5 } },
  )
  await at.saved(aMove(await at.get(two!.id), { state: 'ready', reason: null, sums: null }))
  assert.deepEqual(await at.verdict(move), { kind: 'stale' }, 'what was read is old')
  assert.deepEqual((await at.store.lanes([parent.id]))[0]?.reasons, {})
})

test('lanes: gate, rest and stop hold children back and let them through again', async () => {
  const at = await scene()
  let parent = await parentOf(at, 2, { wait: { for: 'run', at: 0, gated: true } })
  const worker = await at.worker()
  const order = async (changes: Partial<Move>) => {
    parent = await at.saved(aChange(parent, changes))
  }
  assert.deepEqual(await at.claim(worker), [])
  await order({ opens: ['parcels'] })
  await order({ lanes: 'rest' })
  assert.deepEqual(await at.claim(worker), [])
  await order({ lanes: 'go' })
  const [one] = await at.claim(worker, {}, 1)
  assert.deepEqual(one?.wait, { for: 'run', at: 0 }, 'the gate is behind it')
  await order({ lanes: 'stop', children: [aChild(parent, 2, { lane: 'late' })] })
  assert.equal((await at.get(one!.id)).stopped, true)
  assert.deepEqual(await at.verdict(aMove(one!)), { kind: 'stale' })
  assert.deepEqual(
    (await at.store.lanes([parent.id])).map((lane) => [lane.name, lane.status]),
    [
      ['parcels', 'stopped'],
      ['late', 'stopped'],
    ],
  )
  await order({ lanes: 'go' })
  assert.equal((await at.claim(worker)).length, 2)
})

test('spawning: staged children are unseen until published, and surplus ones never were', async () => {
  const at = await scene()
  const source = await at.create({ machine: 'shipment', state: 'open', labels: [null], wait: waitForNothing })
  await at.saved(aChange(source, { staging: 'stage', children: someChildren(source, 3, { key: null }) }))
  assert.deepEqual((await at.store.list({ parent: source.id, limit: 10 })).entities, [])
  assert.deepEqual(await at.claim(await at.worker()), [])
  await at.saved(aChange(source, { staging: 'stage', children: [aChild(source, 1, { data: '"again"', key: 'one' })] }))
  await at.saved(aMove(source, { state: 'filled', wait: waitForChildren, staging: 'publish', spawned: 2 }))
  const { entities } = await at.store.list({ parent: source.id, limit: 10 })
  assert.deepEqual(
    entities.map(({ ordinal, data }) => [ordinal, data]),
    [
      [0, '{}'],
      [1, '"again"'],
    ],
  )
  assert.equal((await at.store.lanes([source.id]))[0]?.total, 2)
})

test('spawning: onto what exists, the failed is reopened and the rest left alone', async () => {
  const at = await scene()
  const parent = await parentOf(at, 2)
  const { entities: children } = await at.store.list({ parent: parent.id, limit: 10 })
  const failed = await at.saved(aMove(children[0]!, { state: 'failed', reason: 'torn', error: 'torn in two' }))
  const respawn = { from: ['failed'], transition: 'again', to: 'ready', wait: { for: 'run' as const, at: 0 } }
  await at.saved(aChange(parent, { children: someChildren(parent, 2, { data: '"new"', respawn }) }))
  const reopened = await at.get(failed.id)
  assert.deepEqual(
    [reopened.state, reopened.data, reopened.generation, reopened.epoch, reopened.seq, reopened.reason, reopened.error],
    ['ready', '"new"', 1, failed.epoch + 1, failed.seq + 1, null, null],
  )
  assert.deepEqual(await at.get(children[1]!.id), children[1])
  assert.deepEqual((await at.store.lanes([parent.id]))[0]?.counts, { ready: 2 })
  const { moves } = await at.store.events({ entity: failed.id, afterSeq: 1, limit: 10 })
  assert.deepEqual(
    [moves[0]?.cause, moves[0]?.hops],
    ['respawn', [{ transition: 'again', from: 'failed', to: 'ready' }]],
  )
})

test('holds: judged at claim and at commit, until lifted or over', async () => {
  const at = await scene()
  await at.create({ labels: ['maps', null] })
  const worker = await at.worker()
  await assert.rejects(at.store.holds({ set: {}, reason: 'no', owner: 'olga', until: null }), { code: 'invalid' })
  const scope = { label: { name: 'collection', value: 'maps' } }
  const until = at.clock.now() + 100
  const [hold] = await at.store.holds({ set: scope, reason: 'audit', owner: 'olga', until })
  assert.deepEqual(await at.claim(worker, { holdable: true }), [])
  const [entity] = await at.claim(worker, { holdable: false })
  const onward = { state: 'packed', keep: true, holdable: true }
  assert.deepEqual(await at.verdict(aMove(entity!, { ...onward, holds: [] })), { kind: 'held', holds: [hold] })
  at.clock.advance(100)
  assert.deepEqual(await at.store.holds(), [])
  await at.saved(aMove(entity!, { ...onward, holds: [] }))
})

test('pools: what is taken is given back by move, by the end of a lease and by purging', async () => {
  const at = await scene()
  const one = await at.create()
  const two = await at.create()
  const take = { pool: 'disk', amount: 6, ceiling: 10 }
  const taken = await at.saved(aChange(one, { takes: [take] }))
  assert.deepEqual(await at.verdict(aChange(two, { takes: [take] })), { kind: 'full', pool: 'disk', holders: [one.id] })
  await at.saved(aChange(taken, { takes: [{ ...take, amount: 10 }] }))
  await at.saved(aChange(taken, { gives: ['disk'] }))
  assert.deepEqual(await at.store.pools(['disk', 'unknown']), [{ name: 'disk', ceiling: 10, taken: 0, holders: [] }])

  const worker = await at.worker()
  const pool = { name: 'run', ceiling: 1 }
  const [running] = await at.claim(worker, { pool })
  assert.deepEqual(await at.claim(worker, { pool }), [])
  const done = await at.saved(aMove(running!, { takes: [take] }))
  assert.equal((await at.store.pools(['run']))[0]?.taken, 0)
  assert.equal(await at.store.purge(done.id, 10), true)
  assert.equal((await at.store.pools(['disk']))[0]?.taken, 0)
})

test('retention: a tree goes in groups, and its key still answers', async () => {
  const at = await scene()
  const born = await at.create({
    machine: 'shipment',
    state: 'open',
    labels: [null],
    wait: waitForNothing,
    key: 'march',
  })
  const filled = await at.saved(
    aMove(born, { state: 'filled', wait: waitForChildren, children: someChildren(born, 5) }),
  )
  await assert.rejects(at.store.purge(born.id, 2), { code: 'conflict' })
  const { entities: children } = await at.store.list({ parent: born.id, limit: 10 })
  const root = await at.saved(aMove(filled, { state: 'done' }))
  assert.equal(await at.store.purge(root.id, 2), false)
  assert.deepEqual(await at.claim(await at.worker()), [], 'nothing of the tree is started any more')
  assert.deepEqual(await at.verdict(aMove(root, { state: 'filled', generation: 1 })), { kind: 'stale' })
  assert.equal(await at.store.purge(root.id, 2), false)
  assert.equal(await at.store.purge(root.id, 2), true)
  assert.equal(await at.store.purge(root.id, 2), true, 'safe to repeat')
  assert.deepEqual(await at.store.get([root.id, ...children.map((child) => child.id)]), Array(6).fill(null))
  const [tombstone] = await at.store.tombstones([root.id])
  assert.deepEqual([tombstone?.state, tombstone?.key, tombstone?.lanes[0]?.total], ['done', 'march', 5])
  assert.deepEqual(await at.store.create('again', [aBirth({ key: 'march' })]), [{ kind: 'existing', id: root.id }])
  await assert.rejects(at.store.purge(9_999, 2), { code: 'not_found' })
})

test('time never steps back', async () => {
  const at = await scene()
  const now = at.store.time()
  at.clock.set(now - 500)
  assert.equal(at.store.time(), now)
})

test('machines: another digest under a known version is refused', async () => {
  const at = await scene()
  await at.store.define([parcelMachine])
  await assert.rejects(at.store.define([{ ...parcelMachine, digest: 'other' }]), { code: 'conflict' })
})

test('signals reach every listener after the change', async () => {
  const at = await scene()
  const heard: (Signal & { there: boolean })[] = []
  for (let listener = 0; listener < 2; listener += 1) {
    at.store.signals?.((signal) => {
      at.store.get([1]).then(([entity]) => heard.push({ ...signal, there: entity !== null }))
    })
  }
  await at.create()
  await at.store.get([])
  assert.deepEqual(heard, Array(2).fill({ work: true, due: false, ended: false, there: true }))
})

test('with yields: commits, claims and repeats interleave, and each move is whole', async () => {
  const turns: (() => void)[] = []
  const clock = manualClock(0, 7)
  const at = await scene({}, () => new Promise((resolve) => turns.push(resolve)))
  let running = true
  const scheduler = (async () => {
    while (running) {
      await new Promise<void>((resolve) => clock.soon(resolve))
      turns.splice(Math.floor(clock.random() * turns.length), 1)[0]?.()
    }
  })()
  const parent = await parentOf(at, 40)
  const worker = await at.worker()
  const claims = await Promise.all([at.claim(worker, {}, 15), at.claim(worker, {}, 15), at.claim(worker, {}, 15)])
  const claimed = claims.flat()
  assert.equal(new Set(claimed.map((entity) => entity.id)).size, claimed.length, 'nobody is claimed twice')
  const groups = [claimed.slice(0, 10), claimed.slice(5, 15).reverse(), claimed.slice(0, 15)]
  const commits = groups.map((group, index) =>
    at.store.commit(
      `group-${index}`,
      group.map((entity) => aMove(entity)),
    ),
  )
  const repeated = at.store.commit('group-0', [])
  const verdicts = await Promise.all(commits)
  assert.deepEqual(await repeated, verdicts[0])
  assert.equal(verdicts.flat().filter((verdict) => verdict.kind === 'saved').length, 15, 'each is moved once')
  assert.deepEqual(await at.store.recount([null, parent.id], null), [])
  running = false
  await scheduler
})

test('a checkpoint proves nothing about a suspect', async () => {
  const at = await scene()
  await at.create()
  const first = await at.worker(1_000)
  await at.claim(first)
  at.clock.advance(1_000)
  await at.store.release({ kind: 'dead' })
  const [suspect] = await at.claim(await at.worker(), { state: 'working', hops: [] })
  assert.equal(suspect?.suspect, 1)
  const kept = await at.saved(aCheckpoint(suspect!, { checkpoint: { cursor: '5', spawned: 0 } }))
  assert.equal(kept.suspect, 1)
  assert.equal((await at.saved(aMove(kept))).suspect, 0)
})
