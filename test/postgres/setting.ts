import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type PostgresStore, postgresStore } from '../../src/store/postgres/index.ts'
import { aWorker, parcelMachine, shipmentMachine } from '../../src/testing/builders.ts'
import type { PostgresServer } from './server.ts'

/** Two processes on a database of their own, and a worker of the first. */
export interface Setting {
  readonly url: string
  readonly store: PostgresStore
  readonly other: PostgresStore
  readonly worker: number
}

/** For the test that is about to begin; closed at its end. */
export async function settingFor(context: unknown, server: PostgresServer): Promise<Setting> {
  const url = await server.database()
  const [store, other] = [postgresStore({ url }), postgresStore({ url })]
  ;(context as { after(end: () => Promise<void>): void }).after(async () => {
    await store.close()
    await other.close()
  })
  await store.migrate()
  await store.define([parcelMachine, shipmentMachine])
  const { id: worker } = await store.renew({ id: null, identity: aWorker(), leaseMs: 600_000 })
  return { url, store, other, worker }
}

/** What a server with `log_statement = all` is asked meanwhile. */
export async function overheard<Result>(
  server: PostgresServer,
  act: () => Promise<Result>,
): Promise<readonly [Result, string]> {
  const mark = `mark ${randomUUID()}`
  await server.psql(`SELECT '${mark}'`)
  const result = await act()
  const [, said] = server.log().split(mark)
  assert.ok(said !== undefined, 'The server said more than is kept.')
  return [result, said]
}
