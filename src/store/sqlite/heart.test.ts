import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { sleep, systemClock } from '../../clock.ts'
import type { Birth, ClaimRun } from '../../store.ts'
import { type SqliteStore, sqliteStore } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-heart-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const clock = systemClock()
const identity = { name: 'w', host: 'h', pid: 1, program: '0', roles: [], machines: ['m@1'] }
const birth: Birth = {
  machine: 'm',
  version: 1,
  state: 's',
  settled: false,
  data: '{}',
  labels: [],
  priority: 0,
  wait: { for: 'run', at: 0 },
  reason: null,
  sums: null,
  key: null,
  createdBy: null,
}
const run: ClaimRun = {
  machine: 'm',
  version: 1,
  state: 's',
  edge: null,
  hops: [],
  holdable: false,
  limit: 10,
  pool: null,
  poolPer: null,
}

async function opened(name: string): Promise<SqliteStore> {
  const store = sqliteStore({ file: join(folder, `${name}.db`) })
  await store.migrate()
  return store
}

/** Blocks this thread's event loop, as a processor that never awaits does. */
function block(durationMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, durationMs)
}

async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    if (await holds()) return
    await sleep(clock, 25)
  }
  assert.fail('it did not come true in five seconds')
}

test('the lease is kept while the event loop is blocked for longer than it lasts', async () => {
  const store = await opened('blocked')
  const leaseMs = 600
  const worker = await store.renew({ id: null, identity, leaseMs })
  let lost = false
  const heart = store.heart!({
    identity,
    leaseMs,
    renewMs: 100,
    lost: () => {
      lost = true
    },
  })
  heart.keep(worker.id)
  await eventually(async () => (await store.workers())[0]!.renewedAt > worker.renewedAt)
  block(2 * leaseMs)
  assert.deepEqual(
    (await store.workers()).map(({ id }) => id),
    [worker.id],
  )
  assert.deepEqual(await store.release({ kind: 'dead' }), [])
  assert.equal(lost, false)
  await heart.stop()
  await store.close()
})

test('a run that outlasts its deadline loses its lease, even while it blocks the event loop', async () => {
  const store = await opened('outlasted')
  await store.create('one', [birth, birth])
  const worker = await store.renew({ id: null, identity, leaseMs: 30_000 })
  const { entities } = await store.claim({ worker: worker.id, runs: [run], limit: 2, bytes: 1_000 })
  const [slow, quick] = [entities[0]!, entities[1]!]
  const heart = store.heart!({ identity, leaseMs: 30_000, renewMs: 10_000, lost() {} })
  heart.keep(worker.id)
  heart.watch(slow.id, slow.epoch, store.time() + 50)
  heart.watch(quick.id, quick.epoch, store.time() + 50)
  heart.unwatch(quick.id)
  block(1_000)
  const [after, spared] = await store.get([slow.id, quick.id])
  assert.deepEqual([after!.owner, after!.epoch, after!.attempts], [null, slow.epoch + 1, 1])
  assert.match(after!.error ?? '', /longer than its time/)
  assert.deepEqual(spared, quick)
  await store.close()
})

test('a heart whose lease was lost says so once, and stops', async () => {
  const store = await opened('lost')
  const worker = await store.renew({ id: null, identity, leaseMs: 30_000 })
  let lost = 0
  const heart = store.heart!({
    identity,
    leaseMs: 30_000,
    renewMs: 50,
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

test('more runs are watched than the table first had room for', async () => {
  const store = await opened('many')
  await store.create(
    'many',
    Array.from({ length: 5_000 }, () => birth),
  )
  const worker = await store.renew({ id: null, identity, leaseMs: 30_000 })
  const heart = store.heart!({ identity, leaseMs: 30_000, renewMs: 10_000, lost() {} })
  heart.keep(worker.id)
  const claimed = []
  for (let group = 0; group < 5; group += 1) {
    const { entities } = await store.claim({
      worker: worker.id,
      runs: [{ ...run, limit: 1_000 }],
      limit: 1_000,
      bytes: 1e9,
    })
    claimed.push(...entities)
  }
  for (const { id, epoch } of claimed) heart.watch(id, epoch, store.time() + 200)
  await eventually(async () => (await store.workers())[0]!.leases === 0)
  await store.close()
})

test('a store that is handed a clock has no heart', async () => {
  const store = sqliteStore({ file: join(folder, 'clock.db'), clock })
  assert.equal(store.heart, undefined)
  await store.close()
})
