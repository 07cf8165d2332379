import { createHash } from 'node:crypto'
import type { Limits, Store } from 'sluice'
import { sqliteStore } from 'sluice/sqlite'

/** The address of a PostgreSQL database: what tests would keep in a file or in memory is then kept there. */
const postgresUrl = process.env.SLUICE_TEST_STORE || null
const postgres = postgresUrl === null ? null : await import('sluice/postgres')

/** Where the tests of this family run. */
export const isPostgres = postgresUrl !== null

/** The store in this file. On PostgreSQL it is a schema of its own, which every process that names the file finds. */
export function durableStore(file: string, limits: Partial<Limits> = {}): Store {
  if (!postgres || postgresUrl === null) return sqliteStore({ file, limits })
  const schema = `test_${createHash('sha256').update(file).digest('hex').slice(0, 24)}`
  return postgres.postgresStore({ url: postgresUrl, schema, limits })
}
