import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { openStore } from '../../index.ts'
import { shownStore, storeFile } from '../../store-address.ts'
import type { Host } from '../host.ts'
import { type Migration, migrationOf, standingOf } from '../migration.ts'
import { localLayout, type Place } from '../place.ts'
import { plain } from '../text.ts'

export interface MigrateOptions extends Pick<Place, 'folder' | 'store'> {
  readonly dryRun?: boolean
  readonly sql?: boolean
  readonly json?: boolean
}

/** Makes the tables of a store, or brings them up to date. All or nothing; done twice, or by two at once, it is done once. */
export async function migrate(options: MigrateOptions, { environment, terminal }: Host): Promise<number> {
  const { store } = localLayout(options, environment)
  const migration = await migrationOf(store)
  const isToDo = migration.from !== migration.to && !options.dryRun && !options.sql
  if (isToDo) await migrateNow(store)
  if (options.json) terminal.out(`${JSON.stringify(factsOf(store, migration, isToDo, options))}\n`)
  else if (options.sql) terminal.out(scriptOf(store, migration), 'exact')
  else terminal.out(`${plain(toldOf(store, migration, isToDo), 500)}\n`)
  return 0
}

async function migrateNow(store: string): Promise<void> {
  const file = storeFile(store)
  if (file !== null) mkdirSync(dirname(file), { recursive: true })
  const opened = await openStore(store)
  try {
    await opened.migrate()
  } finally {
    await opened.close()
  }
}

function factsOf(store: string, migration: Migration, isDone: boolean, options: MigrateOptions) {
  const { schema, from, to, sql } = migration
  return { store: shownStore(store), schema, from, to, migrated: isDone, ...(options.sql ? { sql } : {}) }
}

function toldOf(store: string, migration: Migration, isDone: boolean): string {
  const { from, to, schema } = migration
  if (from === to) return standingOf(store, migration)
  const where = `${shownStore(store)}${schema === null ? '' : `, schema ${schema}`}`
  const step = from === 0 ? `tables of number ${to}` : `its tables from number ${from} to ${to}`
  return isDone
    ? `Migrated ${where}: ${step}.`
    : `To do at ${where}: ${step}. Nothing was changed; --sql prints the statements.`
}

/**
 * Nothing but SQL, comments included. In one transaction: a step that fails half-way leaves all as it was, also in psql, which goes on
 * after an error if it is not told otherwise.
 */
function scriptOf(store: string, migration: Migration): string {
  const standing = `-- ${plain(standingOf(store, migration), 500)}\n`
  if (migration.sql.length === 0) return standing
  const statements = ['BEGIN', ...migration.sql, 'COMMIT'].map((sql) => `${sql.trim().replace(/;$/, '')};\n`)
  return `${standing}${statements.join('\n')}`
}
