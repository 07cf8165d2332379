import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { type PostgresServer, skipOwn, startPostgres } from '../../../test/postgres/server.ts'
import { aBirth, aMove, aRun, aWorker, parcelMachine, shipmentMachine } from '../../testing/builders.ts'
import { type PostgresStore, postgresStore } from './index.ts'

const waiting = 20_000
/** Two for each entity that is named, and some for each statement: far less than a tenth of what all that wait take up. */
const blocksMax = 300

suite('while many wait', { skip: skipOwn }, () => {
  let server: PostgresServer
  let url: string
  let store: PostgresStore

  before(async () => {
    server = await startPostgres({ settings: { shared_preload_libraries: 'pg_stat_statements' } })
    url = await server.database()
    await server.psql('CREATE EXTENSION pg_stat_statements', url)
    store = postgresStore({ url })
    await store.migrate()
    await store.define([parcelMachine, shipmentMachine])
    for (let from = 0; from < waiting; from += 5_000)
      await store.create(
        `births-${from}`,
        Array.from({ length: 5_000 }, () => aBirth()),
      )
    await server.psql('VACUUM ANALYZE', url)
  })
  after(async () => {
    await store?.close()
    await server?.close()
  })

  /** The statement that read the most at one time, and how much. */
  async function most(act: () => Promise<unknown>): Promise<{ readonly blocks: number; readonly query: string }> {
    await server.psql('SELECT pg_stat_statements_reset()', url)
    await act()
    const told = await server.psql(
      `SELECT round((shared_blks_hit + shared_blks_read) / calls), regexp_replace(query, '\\s+', ' ', 'g') FROM pg_stat_statements
       WHERE calls > 0 AND query !~ 'pg_stat_statements' ORDER BY 1 DESC LIMIT 1`,
      url,
    )
    const bar = told.indexOf('|')
    return { blocks: Number(told.slice(0, bar)), query: told.slice(bar + 1) }
  }

  const plain = [aRun({ hops: [] })]
  const runs = [aRun(), aRun({ state: 'working' })]
  const claim = (worker: number, of = plain) => store.claim({ worker, runs: of, limit: 10, bytes: 2 ** 20 })
  const join = async () => (await store.renew({ id: null, identity: aWorker(), leaseMs: 600_000 })).id

  const acts: Readonly<Record<string, (worker: number) => Promise<unknown>>> = {
    'a worker that begins, and has nothing yet': (worker) => store.release({ kind: 'all_but', worker, keep: [] }),
    claims: async (worker) => {
      for (let round = 0; round < 5; round += 1) await claim(worker)
      for (let round = 0; round < 5; round += 1) await claim(worker, runs)
    },
    'so many claims that old ones are looked for': async (worker) => {
      for (let round = 0; round < 130; round += 1) await store.claim({ worker, runs: plain, limit: 1, bytes: 2 ** 20 })
    },
    commits: async (worker) => {
      const { entities } = await claim(worker)
      for (const [index, entity] of entities.entries()) await store.commit(`done-${worker}-${index}`, [aMove(entity)])
    },
    'what nobody knows of goes back': async (worker) => {
      const { entities } = await claim(worker)
      await claim(worker)
      await store.release({ kind: 'all_but', worker, keep: entities.map(({ id }) => id) })
    },
    'a worker that ends': async (worker) => {
      await claim(worker)
      await store.release({ kind: 'retire', worker })
    },
    'a worker that is dead': async (worker) => {
      await claim(worker)
      await server.psql(`UPDATE sluice.worker SET expires_at = 1 WHERE id = ${worker}`, url)
      await store.release({ kind: 'dead' })
      // Its suspects are taken first, and one group at a time.
      const next = await join()
      await claim(next)
      await claim(next)
    },
    'the list of workers': async (worker) => {
      await claim(worker)
      await store.workers()
    },
    'what is due': () => store.due(100),
  }

  for (const [name, act] of Object.entries(acts)) {
    test(`${name}: nobody reads all of them`, async () => {
      const worker = await join()
      const { blocks, query } = await most(() => act(worker))
      for (const { id } of await store.workers()) await store.release({ kind: 'retire', worker: id })
      assert.ok(blocks <= blocksMax, `${blocks} blocks: ${query}`)
    })
  }
})
