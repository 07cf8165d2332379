import assert from 'node:assert/strict'
import { after, before, beforeEach, suite, test } from 'node:test'
import { type PostgresServer, skipOwn, startPostgres } from '../../../test/postgres/server.ts'
import { overheard, settingFor } from '../../../test/postgres/setting.ts'
import type { Entity } from '../../entity.ts'
import { aBirth, aChange, aMove, aRun, aWorker, runNow, someChildren } from '../../testing/builders.ts'
import type { PostgresStore } from './index.ts'

const runs = [aRun(), aRun({ state: 'working' })]

suite('what goes to the server as one', { skip: skipOwn }, () => {
  let server: PostgresServer
  let url: string
  let store: PostgresStore
  let other: PostgresStore
  let worker: number
  let operations = 0

  before(async () => {
    server = await startPostgres({ settings: { log_statement: 'all' } })
  })
  after(async () => {
    await server?.close()
  })
  beforeEach(async (context) => {
    ;({ url, store, other, worker } = await settingFor(context, server))
  })

  const operation = () => `sealed-${++operations}`

  async function claimed(count: number, from: PostgresStore = store, by = worker): Promise<readonly Entity[]> {
    await from.create(
      operation(),
      Array.from({ length: count }, () => aBirth()),
    )
    const { entities } = await from.claim({ worker: by, runs, limit: count, bytes: 2 ** 30 })
    assert.equal(entities.length, count)
    return entities
  }

  /** How often it was done by the statement that proves and counts, and by the one that only proves. */
  async function ways(act: () => Promise<unknown>): Promise<{ readonly sealed: number; readonly usual: number }> {
    const [, said] = await overheard(server, act)
    const count = (text: string) => said.split(text).length - 1
    return { sealed: count('WITH moved AS') - count('FOR UPDATE OF lane'), usual: count('FOR UPDATE OF lane') }
  }

  async function laneOf(of: PostgresStore = store) {
    const lane = (await of.lanes([null])).find(({ machine }) => machine === 'parcel')!
    return { counts: lane.counts, total: lane.total, open: lane.open, wake: lane.wake }
  }

  test('a commit leaves the lane as it would be if each were counted by itself', async () => {
    const [one, ...rest] = await claimed(5)
    const way = await ways(() => store.commit(operation(), [aMove(one!)]))
    assert.deepEqual(way, { sealed: 1, usual: 0 })
    assert.deepEqual(await laneOf(), { counts: { done: 1, working: 4 }, total: 5, open: 4, wake: 1 })
    assert.deepEqual(
      await store.commit(
        operation(),
        rest.map((entity) => aMove(entity)),
      ),
      rest.map(() => ({ kind: 'saved' })),
    )
    assert.deepEqual(await laneOf(), { counts: { done: 5 }, total: 5, open: 0, wake: 2 })
    assert.deepEqual(await store.recount([null], null), [])
    const { moves } = await store.events({ entity: one!.id, afterSeq: 0, limit: 10 })
    assert.deepEqual(
      moves.map(({ hops }) => hops.map(({ transition }) => transition).join('+')),
      ['start', 'to_done'],
    )
  })

  test('a commit is answered the same when it is repeated, and comes too late under another name', async () => {
    const moves = (await claimed(3)).map((entity) => aMove(entity))
    const name = operation()
    const first = await store.commit(name, moves)
    assert.deepEqual(await store.commit(name, moves), first)
    assert.deepEqual(await other.commit(name, moves), first)
    assert.deepEqual(
      (await store.commit(operation(), moves)).map(({ kind }) => kind),
      ['stale', 'stale', 'stale'],
    )
    assert.deepEqual(await laneOf(), { counts: { done: 3 }, total: 3, open: 0, wake: 2 })
  })

  test('a commit is not sealed where one of them is not as it was thought to be: each is judged', async () => {
    const [one, two, three] = await claimed(3)
    await other.release({ kind: 'timed_out', leases: [two!], error: 'It took too long.' })
    const verdicts = await store.commit(
      operation(),
      [one!, two!, three!].map((entity) => aMove(entity)),
    )
    assert.deepEqual(
      verdicts.map(({ kind }) => kind),
      ['saved', 'stale', 'saved'],
    )
    assert.deepEqual((await laneOf()).counts, { done: 2, working: 1 })
    assert.deepEqual(await store.recount([null], null), [])
  })

  test('a commit is not sealed for children, whose parents look at their lanes', async () => {
    await store.create(operation(), [
      aBirth({ machine: 'shipment', state: 'open', labels: [null], wait: { for: 'nothing' } }),
    ])
    const parent = (await store.list({ machine: 'shipment', limit: 1 })).entities[0]!
    await store.commit(operation(), [aChange(parent, { children: someChildren(parent, 3, { wait: runNow }) })])
    const { entities } = await store.claim({ worker, runs, limit: 10, bytes: 2 ** 30 })
    assert.equal(entities.length, 3)
    const moves = entities.map((entity) => aMove(entity))
    assert.equal((await ways(() => store.commit(operation(), moves))).sealed, 0)
    assert.deepEqual(await store.recount([parent.id], null), [])
    assert.deepEqual((await store.lanes([parent.id]))[0]!.counts, { done: 3 })
  })

  test('commits and births of two processes at the same time, over and over: every one is counted once', async () => {
    const { id: second } = await other.renew({ id: null, identity: aWorker({ name: 'second' }), leaseMs: 600_000 })
    const rounds = 40
    const work = async (from: PostgresStore, by: number) => {
      for (let round = 0; round < rounds; round += 1) {
        for (let count = 0; count < 3; count += 1) await from.create(operation(), [aBirth()])
        const { entities } = await from.claim({ worker: by, runs, limit: 3, bytes: 2 ** 30 })
        const verdicts = await from.commit(
          operation(),
          entities.map((entity) => aMove(entity)),
        )
        assert.ok(verdicts.every(({ kind }) => kind === 'saved'))
      }
    }
    await Promise.all([work(store, worker), work(other, second)])
    for (;;) {
      const { entities } = await store.claim({ worker, runs, limit: 100, bytes: 2 ** 30 })
      if (entities.length === 0) break
      await store.commit(
        operation(),
        entities.map((entity) => aMove(entity)),
      )
    }
    const { counts: found, total, open } = await laneOf()
    assert.deepEqual({ found, total, open }, { found: { done: rounds * 6 }, total: rounds * 6, open: 0 })
    assert.deepEqual(await store.recount([null], null), [])
  })

  test('a birth is the same as one that was made step by step', async () => {
    const future = store.time() + 60_000
    const births = [
      aBirth({ data: '{"text":"naïve \u{1f600}"}' }),
      aBirth({ labels: ['Ünal', null], priority: 5, createdBy: 'ann' }),
      aBirth({ state: 'done' }),
      aBirth({ wait: { for: 'run', at: future } }),
      aBirth({ wait: { for: 'run', at: 0, pool: 'disk' } }),
      aBirth({ wait: { for: 'time', at: future } }),
      aBirth({ wait: { for: 'nothing' } }),
    ]
    // Together they are made step by step; after that their lane is known.
    const together = await store.create(operation(), births)
    const alone = []
    for (const birth of births) alone.push(...(await store.create(operation(), [birth])))
    const ids = (verdicts: typeof together) =>
      verdicts.map((verdict) => (verdict.kind === 'saved' ? verdict.id : assert.fail(verdict.kind)))
    const plain = async (all: readonly number[]) =>
      (await store.get(all)).map((entity) => ({ ...entity, id: 0, createdAt: 0, changedAt: 0 }))
    assert.deepEqual(await plain(ids(alone)), await plain(ids(together)))
    assert.deepEqual(await laneOf(), { counts: { ready: 12, done: 2 }, total: 14, open: 12, wake: 1 })
    assert.deepEqual(await store.recount([null], null), [])
    const { births: told } = await store.events({ after: 0, limit: 100 })
    assert.deepEqual([...told].sort(), [...ids(together), ...ids(alone)].sort())
    const rows = await server.psql(
      `SELECT count(DISTINCT row(line, rank, plan, cold, state, wait, more, labels)) FROM sluice.entity`,
      url,
    )
    assert.equal(Number(rows), births.length)
  })

  test('a birth is answered the same when it is repeated, also by another process', async () => {
    await store.create(operation(), [aBirth()])
    await other.create(operation(), [aBirth()])
    const name = operation()
    const first = await store.create(name, [aBirth()])
    assert.deepEqual(await store.create(name, [aBirth()]), first)
    assert.deepEqual(await other.create(name, [aBirth()]), first)
    assert.equal((await laneOf()).total, 3)
  })

  test('a birth that has a key, or cannot be, goes the usual way', async () => {
    await store.create(operation(), [aBirth()])
    const [kept] = await store.create(operation(), [aBirth({ key: 'mine' })])
    assert.deepEqual(await store.create(operation(), [aBirth({ key: 'mine' })]), [
      { kind: 'existing', id: kept?.kind === 'saved' ? kept.id : 0 },
    ])
    const [refused] = await store.create(operation(), [aBirth({ data: '"\u0000"' })])
    assert.equal(refused?.kind, 'refused')
    assert.deepEqual((await laneOf()).counts, { ready: 2 })
  })
})
