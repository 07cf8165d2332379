import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { type PostgresServer, skip, startPostgres } from '../../../test/postgres/server.ts'
import type { Entity } from '../../entity.ts'
import { aBirth, aRun, aWorker, parcelMachine } from '../../testing/builders.ts'
import { Floors } from './floors.ts'
import { type PostgresStore, postgresStore } from './index.ts'

suite('how far a line was emptied', () => {
  const place = { rank: 5, id: 7 }

  test('is known for a moment, and only where announcements are heard', () => {
    const floors = new Floors()
    floors.raise(1, place, 1_000, floors.version)
    assert.equal(floors.of(1, 1_000), null)
    floors.isKept = true
    floors.raise(1, place, 1_000, floors.version)
    assert.deepEqual(floors.of(1, 1_100), { ...place, since: 1_000 })
    assert.equal(floors.of(1, 1_250), null, 'too old')
    assert.equal(floors.of(1, 900), null, 'the clock was set back')
    assert.equal(floors.of(2, 1_100), null)
  })

  test('is forgotten when something is announced, also by a claim that began before', () => {
    const floors = new Floors()
    floors.isKept = true
    const { version } = floors
    floors.raise(1, place, 1_000, version)
    floors.forgetAll()
    assert.equal(floors.of(1, 1_000), null)
    floors.raise(1, place, 1_000, version)
    assert.equal(floors.of(1, 1_000), null)
  })
})

suite('claims that begin where the last one ended', { skip }, () => {
  let server: PostgresServer
  let url: string
  let store: PostgresStore
  let worker: number
  let operations = 0

  before(async () => {
    server = await startPostgres()
    url = await server.database()
    store = postgresStore({ url })
    await store.migrate()
    await store.define([parcelMachine])
    store.signals!(() => {})
    worker = (await store.renew({ id: null, identity: aWorker(), leaseMs: 600_000 })).id
  })
  after(async () => {
    await store?.close()
    await server?.close()
  })

  async function claim(limit: number): Promise<readonly Entity[]> {
    return (await store.claim({ worker, runs: [aRun({ hops: [] })], limit, bytes: 2 ** 30 })).entities
  }

  async function create(count: number, priority = 0, by = store): Promise<readonly number[]> {
    operations += 1
    const births = Array.from({ length: count }, () => aBirth({ priority }))
    return (await by.create(`create-${operations}`, births)).map((verdict) =>
      verdict.kind === 'saved' ? verdict.id : 0,
    )
  }

  const idsOf = (entities: readonly Entity[]) => entities.map(({ id }) => id)

  test('take all in their order, and what is given back or urgent before the rest', async () => {
    const ids = await create(30)
    const first = await claim(10)
    assert.deepEqual(idsOf(first), ids.slice(0, 10))
    const second = await claim(5)
    assert.deepEqual(idsOf(second), ids.slice(10, 15))
    const back = first.slice(2, 4)
    await store.release({ kind: 'give_back', worker, leases: back.map(({ id, epoch }) => ({ id, epoch })) })
    assert.deepEqual(idsOf(await claim(3)), [ids[2], ids[3], ids[15]])
    const [urgent] = await create(1, -10)
    assert.deepEqual(idsOf(await claim(2)), [urgent, ids[16]])
    assert.deepEqual(idsOf(await claim(100)), ids.slice(17))
    assert.deepEqual(await claim(100), [])
  })

  test('find in a moment what another process has put before them, whether or not they hear of it', async () => {
    await create(2_000)
    await claim(10)
    const other = postgresStore({ url })
    try {
      const [urgent] = await create(1, -10, other)
      let claims = 0
      while (!idsOf(await claim(1)).includes(urgent!)) {
        claims += 1
        assert.ok(claims < 1_500, 'it is never found')
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    } finally {
      await other.close()
    }
    while ((await claim(1_000)).length > 0);
  })

  test('say when nothing is left', async () => {
    await create(3)
    const asked = { worker, runs: [aRun({ hops: [] })], bytes: 2 ** 30 }
    assert.equal((await store.claim({ ...asked, limit: 2 })).idle?.length, 0)
    assert.equal((await store.claim({ ...asked, limit: 2 })).entities.length, 1)
    assert.equal((await store.claim({ ...asked, limit: 2 })).idle?.length, 1)
  })
})

suite('an operation that is repeated while it is still under way', { skip }, () => {
  test('is done once, and both are told the same', async () => {
    await using server = await startPostgres()
    const url = await server.database()
    const stores = [postgresStore({ url }), postgresStore({ url })]
    await stores[0]!.migrate()
    await stores[0]!.define([parcelMachine])
    for (let round = 0; round < 20; round += 1) {
      const births = [aBirth(), aBirth({ key: `key-${round}` })]
      const [one, other] = await Promise.all(stores.map((store) => store.create(`round-${round}`, births)))
      assert.deepEqual(one, other)
    }
    const { entities } = await stores[0]!.list({ machine: 'parcel', limit: 100 })
    assert.equal(entities.length, 40)
    assert.deepEqual(await stores[0]!.recount([null], null), [])
    for (const store of stores) await store.close()
  })
})
