import assert from 'node:assert/strict'
import { after, before, beforeEach, suite, test } from 'node:test'
import { type PostgresServer, skipOwn, startPostgres } from '../../../test/postgres/server.ts'
import { overheard, settingFor } from '../../../test/postgres/setting.ts'
import type { Entity } from '../../entity.ts'
import type { Birth, ClaimResult, ClaimRun } from '../../store.ts'
import { aBirth, aChange, aMove, aRun, aWorker, parcelMachine, runNow, someChildren } from '../../testing/builders.ts'
import type { PostgresStore } from './index.ts'

/** Taken as they stand: the claim itself makes no move. */
const plain = [aRun({ hops: [] })]

suite('a claim like the one before it', { skip: skipOwn }, () => {
  let server: PostgresServer
  let store: PostgresStore
  let other: PostgresStore
  let url: string
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

  const operation = () => `claim-${++operations}`

  async function born(count: number, changes: Partial<Birth> = {}): Promise<readonly number[]> {
    const births = Array.from({ length: count }, () => aBirth(changes))
    const verdicts = await store.create(operation(), births)
    return verdicts.map((verdict) => (verdict.kind === 'saved' ? verdict.id : assert.fail(verdict.kind)))
  }

  const claim = (limit = 100, runs: readonly ClaimRun[] = plain, from = store, by = worker): Promise<ClaimResult> =>
    from.claim({ worker: by, runs, limit, bytes: 2 ** 20 })

  const ids = (entities: readonly Entity[]) => entities.map(({ id }) => id)

  /** The store has seen that there is nothing to its claims but rows to be taken. */
  async function accustomed(): Promise<void> {
    const [id] = await born(1)
    assert.deepEqual(ids((await claim()).entities), [id])
  }

  /** How often a claim was proved by the server, and how often it was made step by step. */
  async function ways<Result>(act: () => Promise<Result>): Promise<readonly [Result, Ways]> {
    const [result, said] = await overheard(server, act)
    const count = (text: string) => said.split(text).length - 1
    const way = {
      sealed: count('WITH chosen AS'),
      refused: count('sluice: not a plain'),
      usual: count('(SELECT identity FROM worker'),
    }
    return [result, way]
  }

  interface Ways {
    readonly sealed: number
    /** The text stands in the statement, too. */
    readonly refused: number
    readonly usual: number
  }

  const isSealed = ({ sealed, usual }: Ways) => sealed > 0 && usual === 0

  test('is one flight, and gives what one made step by step gives', async () => {
    await accustomed()
    const changes: Partial<Birth> = {
      labels: ['Ünal', null],
      priority: 5,
      createdBy: 'ann',
      data: '{"text":"naïve \u{1f600}"}',
    }
    const one = await born(3, changes)
    const [{ entities, suspects, idle }, way] = await ways(() => claim())
    assert.ok(isSealed(way), JSON.stringify(way))
    assert.deepEqual(ids(entities), one)
    assert.deepEqual({ suspects, idle }, { suspects: false, idle: plain })
    const two = await born(3, changes)
    const usual = (await claim(100, plain, other)).entities
    assert.deepEqual(ids(usual), two)
    const bare = (all: readonly (Entity | null)[]) =>
      all.map((entity) => ({ ...entity, id: 0, createdAt: 0, changedAt: 0, wait: null }))
    assert.deepEqual(bare(entities), bare(usual))
    assert.deepEqual(await store.get(one), entities, 'What it gave is what is there.')
    assert.deepEqual(
      (
        await store.commit(
          operation(),
          entities.map((entity) => aMove(entity)),
        )
      ).map(({ kind }) => kind),
      ['saved', 'saved', 'saved'],
    )
    assert.deepEqual(await store.recount([null], null), [])
  })

  test('takes no more than it may, in the order of the line, and says when nobody is left', async () => {
    await accustomed()
    const last = await born(3, { priority: 100 })
    const first = await born(2, { priority: 1 })
    const [{ entities, idle }, way] = await ways(() => claim(3))
    assert.ok(isSealed(way), JSON.stringify(way))
    assert.deepEqual(ids(entities), [...first, last[0]])
    assert.deepEqual(idle, [])
    // Somebody more urgent comes in front of where the last one ended.
    const [urgent] = await born(1, { priority: 0 })
    assert.deepEqual(ids((await claim(2)).entities), [urgent, last[1]])
    const rest = await claim(2)
    assert.deepEqual(ids(rest.entities), [last[2]])
    const [none, again] = await ways(() => claim())
    assert.ok(isSealed(again), JSON.stringify(again))
    assert.deepEqual(none, { entities: [], suspects: false, idle: plain })
    assert.equal((await store.workers())[0]!.leases, 7)
  })

  test('of two runs takes from both lines, each within its own limit', async () => {
    const runs = [aRun({ hops: [], limit: 2 }), aRun({ state: 'packed', hops: [], limit: 50 })]
    await born(1)
    await born(1, { state: 'packed' })
    assert.equal((await claim(100, runs)).entities.length, 2)
    const packed = await born(2, { state: 'packed', priority: 7 })
    const ready = await born(3, { priority: 7 })
    const [{ entities, idle }, way] = await ways(() => claim(100, runs))
    assert.ok(isSealed(way), JSON.stringify(way))
    assert.deepEqual(ids(entities), [...packed, ...ready.slice(0, 2)])
    assert.deepEqual(idle, [])
    const more = await born(3, { state: 'packed', priority: 9 })
    assert.deepEqual(ids((await claim(2, runs)).entities), [ready[2], more[0]])
    assert.deepEqual(ids((await claim(2, runs)).entities), more.slice(1))
  })

  test('what its worker is through with leaves the table with the next one', async () => {
    await accustomed()
    for (let round = 0; round < 5; round += 1) {
      await born(2)
      const { entities } = await claim()
      await store.commit(
        operation(),
        entities.map((entity) => aMove(entity)),
      )
    }
    assert.equal(
      await server.psql('SELECT count(*) FROM sluice.claimed', url),
      '2',
      'The first, which nobody ended, and the last.',
    )
  })

  test('of those that do not stand one after another notes each', async () => {
    await accustomed()
    const all = await born(5)
    const rest = await store.get(all.filter((_, index) => index % 2 === 1))
    await other.commit(
      operation(),
      rest.map((entity) => aMove(entity!, { by: 'outside' })),
    )
    const { entities } = await claim()
    assert.deepEqual(ids(entities), [all[0], all[2], all[4]])
    assert.deepEqual(
      [...(await store.release({ kind: 'all_but', worker, keep: [all[2]!] }))].filter((id) => id >= all[0]!),
      [all[0], all[4]],
    )
    assert.deepEqual(
      ids((await claim()).entities).filter((id) => id >= all[0]!),
      [all[0], all[4]],
    )
  })

  interface Obstacle {
    readonly name: string
    /** What stands in the way, and whom the claim is to get. */
    put(): Promise<readonly number[]>
  }

  const obstacles: readonly Obstacle[] = [
    {
      name: 'a hold',
      async put() {
        await born(2, { labels: ['closed', null] })
        const free = await born(1)
        const set = { label: { name: 'collection', value: 'closed' }, state: 'ready' }
        await other.holds({ set, reason: 'Stocktaking.', owner: 'ann', until: null })
        return free
      },
    },
    {
      name: 'somebody whose time has come meanwhile',
      async put() {
        const [late] = await born(1, { wait: { for: 'run', at: store.time() + 40 } })
        await new Promise((resolve) => setTimeout(resolve, 60))
        return [late!]
      },
    },
    { name: 'long data', put: () => born(1, { data: JSON.stringify('x'.repeat(5_000)) }) },
    { name: 'somebody who waits for a pool', put: () => born(1, { wait: { for: 'run', at: 0, pool: 'disk' } }) },
    {
      name: 'children',
      async put() {
        await store.create(operation(), [
          aBirth({ machine: 'shipment', state: 'open', labels: [null], wait: { for: 'nothing' } }),
        ])
        const parent = (await store.list({ machine: 'shipment', limit: 1 })).entities[0]!
        await store.commit(operation(), [aChange(parent, { children: someChildren(parent, 3, { wait: runNow }) })])
        return ids((await store.list({ parent: parent.id, limit: 10 })).entities)
      },
    },
    {
      name: 'suspects, who are taken first',
      async put() {
        const [unlucky] = await born(1)
        const { id } = await other.renew({ id: null, identity: aWorker({ name: 'second' }), leaseMs: 600_000 })
        await claim(1, plain, other, id)
        await server.psql(`UPDATE sluice.worker SET expires_at = 1 WHERE id = ${id}`, url)
        await store.release({ kind: 'dead' })
        await born(1)
        return [unlucky!]
      },
    },
    {
      name: 'a machine that another has declared',
      async put() {
        const waiting = await born(1)
        await other.define([{ ...parcelMachine, version: 2 }])
        return waiting
      },
    },
  ]

  for (const { name, put } of obstacles) {
    test(`is made step by step where there is ${name}`, async () => {
      await accustomed()
      const expected = await put()
      const [{ entities }, way] = await ways(() => claim())
      assert.ok(way.usual > 0, JSON.stringify(way))
      assert.deepEqual(ids(entities), expected)
      assert.deepEqual(await store.recount([null], null), [])
    })
  }

  test('is refused to a worker whose lease has run out, or that is gone, and takes nothing', async () => {
    await accustomed()
    const [id] = await born(1)
    for (const end of [
      () => server.psql(`UPDATE sluice.worker SET expires_at = 1 WHERE id = ${worker}`, url),
      () => server.psql('DELETE FROM sluice.worker', url),
    ]) {
      await end()
      await assert.rejects(claim(), /lease of worker/)
      assert.equal((await store.get([id!]))[0]?.owner, null)
    }
  })

  test('after a wrong guess the next ones ask first, and later ones do not', async () => {
    await accustomed()
    await born(1, { data: JSON.stringify('x'.repeat(5_000)) })
    await claim()
    const tried: boolean[] = []
    for (let round = 0; round < 4; round += 1) {
      await born(1)
      const [{ entities }, way] = await ways(() => claim())
      assert.equal(entities.length, 1)
      tried.push(isSealed(way))
    }
    assert.deepEqual(tried, [false, true, true, true])
  })

  test('of two processes at the same time, over and over, gives each to one of them', async () => {
    const { id: second } = await other.renew({ id: null, identity: aWorker({ name: 'second' }), leaseMs: 600_000 })
    const all = await born(600)
    const given: number[] = []
    const work = async (from: PostgresStore, by: number) => {
      for (;;) {
        const { entities } = await claim(7, plain, from, by)
        if (entities.length === 0) break
        given.push(...ids(entities))
        const verdicts = await from.commit(
          operation(),
          entities.map((entity) => aMove(entity)),
        )
        assert.ok(verdicts.every(({ kind }) => kind === 'saved'))
      }
    }
    await Promise.all([work(store, worker), work(other, second)])
    assert.deepEqual(
      given.sort((one, two) => one - two),
      all,
    )
    assert.deepEqual(await store.recount([null], null), [])
    assert.deepEqual((await store.lanes([null]))[0]!.counts, { done: 600 })
    for (const [from, by] of [
      [store, worker],
      [other, second],
    ] as const) {
      const [, way] = await ways(() => claim(7, plain, from, by))
      assert.ok(isSealed(way), 'So were those before.')
    }
  })
})
