import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { memoryStore } from '../../src/store/memory/index.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Open } from '../../src/testing/index.ts'
import { conformance, differential } from '../../src/testing/index.ts'
import { type PostgresServer, skipOwn, startPostgres } from './server.ts'

let server: PostgresServer
let url: string
/** What the stories do behind the store's back. */
let outside: pg.Client
let schemas = 0

const postgres: Open = async ({ clock, limits = {} }) => {
  schemas += 1
  const schema = `story_${schemas}`
  const open = (ownClock = clock) => postgresStore({ url, schema, clock: ownClock, limits, connectionsMax: 3 })
  const store = open()
  const handles = [store]
  return {
    store,
    async reopen(ownClock = clock) {
      const other = open(ownClock)
      handles.push(other)
      // As every process begins: a handle that has asked nothing yet knows no time but its own.
      await other.migrate()
      return other
    },
    written: () => store.rowsWritten(),
    async damage({ parent, name, counts, total, open, reasons, sums }) {
      await outside.query(
        `UPDATE ${schema}.lane SET counts = $1, total = $2, open = $3, reasons = $4, sums = $5
         WHERE parent IS NOT DISTINCT FROM $6 AND name = $7`,
        [JSON.stringify(counts), total, open, JSON.stringify(reasons), JSON.stringify(sums), parent, name],
      )
    },
    async close() {
      for (const handle of handles) await handle.close()
      await outside.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
    },
  }
}

const memory: Open = async ({ clock, limits = {} }) => {
  const store = memoryStore({ clock, limits })
  return { store, close: () => store.close() }
}

const sqlite: Open = async ({ clock, limits = {} }) => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-stores-'))
  const store = sqliteStore({ file: join(folder, 'sluice.db'), clock, limits })
  return {
    store,
    async close() {
      await store.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

if (skipOwn) {
  test('the postgres store', { skip: skipOwn }, () => {})
} else {
  before(async () => {
    // The feed shows what is older than the oldest transaction of the whole server: here nobody else has one.
    server = await startPostgres({ settings: { autovacuum: 'off' } })
    url = await server.database()
    outside = new pg.Client({ connectionString: url })
    await outside.connect()
    // A notice for each table of a schema that is dropped is no news.
    await outside.query('SET client_min_messages = warning')
  })
  after(async () => {
    await outside?.end()
    await server?.close()
  })
  conformance('postgres', postgres)
  differential('memory and postgres', memory, postgres, { budgetMs: 12_000 })
  differential('sqlite and postgres', sqlite, postgres, { budgetMs: 12_000 })
  differential('memory and postgres, at plain work', memory, postgres, { work: 'plain', budgetMs: 12_000 })
}
