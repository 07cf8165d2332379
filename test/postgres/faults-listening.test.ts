import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { Signal, Store } from '../../src/store.ts'
import { aBirth, aWorker, parcelMachine } from '../../src/testing/builders.ts'
import { CuttingProxy } from './proxy.ts'
import { type PostgresServer, skip, startPostgres } from './server.ts'

const stepBytes = 16
const cutsMin = 30

describe('a connection that nobody waits for is lost', { skip, timeout: 60_000 }, () => {
  let server: PostgresServer
  let url: string
  let proxy: CuttingProxy
  let near: Store

  before(async () => {
    server = await startPostgres()
    url = await server.database()
    proxy = await CuttingProxy.start(server.port)
    near = postgresStore({ url, connectionsMax: 2 })
    await near.migrate()
    await near.define([parcelMachine])
  })
  after(async () => {
    await near?.close()
    await proxy?.[Symbol.asyncDispose]()
    await server?.close()
  })

  test('the one that listens, at any byte: it is made again, and whoever listens is told to look', async (t) => {
    const whole = await listen(null)
    let cuts = 0
    for (const way of ['answers', 'requests'] as const) {
      for (let bytes = Math.floor(Math.random() * stepBytes); bytes < whole[way]; bytes += stepBytes) {
        // Towards the end it may hear something before so many bytes have passed.
        if ((await listen({ way, bytes })).isCut) cuts += 1
      }
    }
    t.diagnostic(`${cuts} connections were cut`)
    assert.ok(cuts > cutsMin)
  })

  /** Listens over a connection that is lost on its way; resolves when a hint has come nevertheless. */
  async function listen(cut: { readonly way: 'answers' | 'requests'; readonly bytes: number } | null) {
    const ear = postgresStore({ url: proxy.through(url), connectionsMax: 1 })
    const heard = Promise.withResolvers<Signal>()
    try {
      proxy.cut({ of: cut?.way ?? 'answers', bytes: cut?.bytes ?? Number.POSITIVE_INFINITY }, 'reset')
      ear.signals?.(heard.resolve)
      // Without a loss nobody is told anything before somebody has done something.
      for (let told = false; !told; ) {
        await near.create(`hint-${Math.random()}`, [aBirth()])
        told = await Promise.race([heard.promise.then(() => true), moment().then(() => false)])
      }
      return proxy.spare()
    } finally {
      await ear.close()
    }
  }

  test('those of a heart, again and again: it keeps its lease', async () => {
    const store = postgresStore({ url: proxy.through(url), connectionsMax: 1 })
    const worker = await store.renew({ id: null, identity: aWorker({ name: 'beaten' }), leaseMs: 10_000 })
    let isLost = false
    const heart = store.heart?.({
      ...{ identity: aWorker({ name: 'beaten' }), leaseMs: 10_000, renewMs: 50 },
      lost: () => {
        isLost = true
      },
    })
    heart?.keep(worker.id)
    const renewed = async () => (await near.workers()).find(({ id }) => id === worker.id)?.expiresAt ?? 0
    for (let beats = 0; beats < 10; beats += 1) {
      const before = await renewed()
      await proxy.hangUp()
      while ((await renewed()) <= before) await moment()
    }
    assert.equal(isLost, false)
    await heart?.stop()
    await store.close()
  })
})

function moment(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 10))
}
