import { existsSync, statSync } from 'node:fs'
import { SluiceError } from '../errors.ts'
import { parseStoreAddress, postgresPlace, shownStore } from '../store-address.ts'
import { commandLine } from './text.ts'

/** What has to be done so that this program can use a store. Tables are numbered; 0 is none at all. */
export interface Migration {
  /** Null: a file has no schemas. */
  readonly schema: string | null
  readonly from: number
  readonly to: number
  /** What makes the step, as a person could do it by hand; none if there is none to make. */
  readonly sql: readonly string[]
}

/** Looks, and changes nothing. A store of a newer program is refused, as it is when it is opened. */
export async function migrationOf(store: string): Promise<Migration> {
  const address = parseStoreAddress(store)
  switch (address.kind) {
    case 'memory':
      throw new SluiceError('invalid', 'A store in memory has no tables to bring up to date.')
    case 'sqlite':
      return fileMigration(address.file)
    case 'postgres': {
      const { planMigration } = await import('../store/postgres/index.ts')
      const { schema, from, to, sql } = await planMigration(postgresPlace(address))
      return { schema, from, to, sql }
    }
    default:
      return address satisfies never
  }
}

async function fileMigration(file: string): Promise<Migration> {
  const { applicationId, migrations, newest } = await import('../store/sqlite/migrations.ts')
  const from = await fileNumber(file)
  const marks = [`PRAGMA application_id = ${applicationId}`, `PRAGMA user_version = ${newest}`]
  const steps = migrations.filter(({ number }) => number > from).map(({ sql }) => sql)
  return { schema: null, from, to: newest, sql: steps.length === 0 ? [] : [...steps, ...marks] }
}

/** Opening a file makes it: one that is not there is not opened. */
async function fileNumber(file: string): Promise<number> {
  if (!existsSync(file) || statSync(file).size === 0) return 0
  const { Database } = await import('../store/sqlite/database.ts')
  const database = new Database(file)
  try {
    return database.number('PRAGMA user_version') ?? 0
  } finally {
    database.close()
  }
}

/** For whoever may not, or does not want to, change the tables by using them. */
export function refuseOlder(store: string, migration: Migration): void {
  const { from, to } = migration
  if (from === to) return
  const command = commandLine(['sluice', 'migrate', '--store', store])
  throw new SluiceError('conflict', `${standingOf(store, migration)} Run: ${command}`, { from, to })
}

/** `The store at sluice.db has tables of number 1; this program needs 2.` */
export function standingOf(store: string, { from, to }: Migration): string {
  const at = `The store at ${shownStore(store)}`
  if (from === 0) return `${at} has no tables yet; this program needs number ${to}.`
  if (from === to) return `${at} has the tables that this program needs (number ${to}).`
  return `${at} has tables of number ${from}; this program needs ${to}.`
}
