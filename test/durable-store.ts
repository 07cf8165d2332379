import { createHash } from 'node:crypto'
import type { Limits } from '../src/limits.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import type { Store } from '../src/store.ts'

/** The address of a PostgreSQL database: what tests would keep in a file is then kept there. See test/postgres/families.test.ts. */
export const postgresUrl: string | null = process.env.SLUICE_TEST_STORE || null

// Loaded only when it is used: processes that are started to be killed start faster without.
const postgres = postgresUrl === null ? null : await import('../src/store/postgres/index.ts')

/** The store in this file. On PostgreSQL it is a schema of its own, which every process that names the file finds. */
export function durableStore(file: string, limits: Partial<Limits> = {}): Store {
  return postgres && postgresUrl !== null
    ? postgres.postgresStore({ url: postgresUrl, schema: schemaOf(file), limits })
    : sqliteStore({ file, limits })
}

export function schemaOf(file: string): string {
  return `test_${createHash('sha256').update(file).digest('hex').slice(0, 24)}`
}
