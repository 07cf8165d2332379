import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type PostgresServer, skipOwn, startPostgres } from '../../../test/postgres/server.ts'
import { sleep, systemClock } from '../../clock.ts'
import { aBirth, aRun, aWorker } from '../../testing/builders.ts'
import { type PostgresStore, postgresStore } from './index.ts'

const options = { skip: skipOwn }
const clock = systemClock()
const identity = aWorker()
let server: PostgresServer

before(async () => {
  if (!skipOwn) server = await startPostgres({ own: true })
})
after(() => server?.close())

async function opened(): Promise<{ readonly store: PostgresStore; readonly url: string }> {
  const url = await server.database()
  const store = postgresStore({ url })
  await store.migrate()
  return { store, url }
}

/** Blocks this thread's event loop, as a processor that never awaits does. */
function block(durationMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, durationMs)
}

async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 400; tries += 1) {
    if (await holds()) return
    await sleep(clock, 25)
  }
  assert.fail('it did not come true in ten seconds')
}

async function renewedAt(store: PostgresStore): Promise<number> {
  return (await store.workers())[0]?.renewedAt ?? 0
}

test('the lease is kept while the event loop is blocked for longer than it lasts', options, async () => {
  const { store } = await opened()
  const leaseMs = 2_000
  const worker = await store.renew({ id: null, identity, leaseMs })
  let lost = false
  const heart = store.heart!({
    ...{ identity, leaseMs, renewMs: 200 },
    lost: () => {
      lost = true
    },
  })
  heart.keep(worker.id)
  await eventually(async () => (await renewedAt(store)) > worker.renewedAt)
  block(1.5 * leaseMs)
  assert.deepEqual(
    (await store.workers()).map(({ id }) => id),
    [worker.id],
  )
  assert.deepEqual(await store.release({ kind: 'dead' }), [])
  assert.equal(lost, false)
  await heart.stop()
  await store.close()
})

test('a run that outlasts its deadline loses its lease, even while it blocks the event loop', options, async () => {
  const { store, url } = await opened()
  await store.create('one', [aBirth(), aBirth()])
  const worker = await store.renew({ id: null, identity, leaseMs: 30_000 })
  const { entities } = await store.claim({ worker: worker.id, runs: [aRun()], limit: 2, bytes: 1_000 })
  const [slow, quick] = [entities[0]!, entities[1]!]
  const heart = store.heart!({ identity, leaseMs: 30_000, renewMs: 100, lost() {} })
  heart.keep(worker.id)
  await eventually(async () => (await renewedAt(store)) > worker.renewedAt)
  const heard: boolean[] = []
  const other = postgresStore({ url })
  other.signals!(({ ended }) => heard.push(ended))
  heart.watch(slow.id, slow.epoch, store.time() + 50)
  heart.watch(quick.id, quick.epoch, store.time() + 50)
  heart.unwatch(quick.id)
  block(2_000)
  const [after, spared] = await store.get([slow.id, quick.id])
  assert.deepEqual([after!.owner, after!.epoch, after!.attempts], [null, slow.epoch + 1, 1])
  assert.match(after!.error ?? '', /longer than its time/)
  assert.deepEqual(spared, quick)
  assert.equal((await store.workers())[0]!.leases, 1)
  await store.close()
  await other.close()
})

test('a heart whose lease was lost says so once, and stops', options, async () => {
  const { store } = await opened()
  const worker = await store.renew({ id: null, identity, leaseMs: 30_000 })
  let lost = 0
  const heart = store.heart!({
    ...{ identity, leaseMs: 30_000, renewMs: 50 },
    lost: () => {
      lost += 1
    },
  })
  heart.keep(worker.id)
  await store.release({ kind: 'retire', worker: worker.id })
  await eventually(() => lost === 1)
  await heart.stop()
  await store.close()
  assert.equal(lost, 1)
})

test('a connection that is lost is made again, and the lease goes on', options, async () => {
  const { store, url } = await opened()
  const worker = await store.renew({ id: null, identity, leaseMs: 30_000 })
  const heart = store.heart!({
    ...{ identity, leaseMs: 30_000, renewMs: 100 },
    lost: () => assert.fail('the lease was lost'),
  })
  heart.keep(worker.id)
  await eventually(async () => (await renewedAt(store)) > worker.renewedAt)
  for (let round = 0; round < 2; round += 1) {
    await server.psql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'sluice' AND datname = current_database()",
      url,
    )
    const cut = store.time()
    await eventually(async () => (await renewedAt(store).catch(() => 0)) > cut)
  }
  await heart.stop()
  await store.close()
})

test('a server that stays away until the lease has run out has lost it', options, async () => {
  const { store } = await opened()
  const leaseMs = 1_500
  const worker = await store.renew({ id: null, identity, leaseMs })
  let lost = 0
  const heart = store.heart!({
    ...{ identity, leaseMs, renewMs: 100 },
    lost: () => {
      lost += 1
    },
  })
  heart.keep(worker.id)
  await eventually(async () => (await renewedAt(store)) > worker.renewedAt)
  await server.stop('immediate')
  assert.equal(lost, 0, 'it may come back')
  await eventually(() => lost === 1)
  await heart.stop()
  await server.start()
  await store.close()
})

test('a store that is handed a clock has no heart', options, async () => {
  const store = postgresStore({ url: server.url, clock })
  assert.equal(store.heart, undefined)
  await store.close()
})
