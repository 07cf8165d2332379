import { SluiceError } from '../../errors.ts'
import type { Database, Session } from './database.ts'
import { migrations, newest } from './migrations.ts'

/** What `migrate()` would do, without doing it. */
export interface MigrationPlan {
  readonly schema: string
  readonly from: number
  readonly to: number
  readonly sql: readonly string[]
}

/** One process at a time; the others wait and find it done. Any number that nobody else uses. */
const lockKey = 0x534c_5549

/** All or nothing: a migration that fails half-way leaves the schema as it was. */
export async function migrate(database: Database, schema: string): Promise<void> {
  await checkServer(database)
  await database.write(async (session) => {
    // Another process may migrate for as long as it takes, and so may this one.
    await session.exec('SET LOCAL statement_timeout = 0')
    await session.all('SELECT pg_advisory_xact_lock($1)', [lockKey])
    const { sql } = await planWithin(session, schema)
    for (const statement of sql) await session.exec(statement)
  })
}

export async function plan(database: Database, schema: string): Promise<MigrationPlan> {
  await checkServer(database)
  return database.read((session) => planWithin(session, schema))
}

/** 0: there is nothing yet. */
export async function versionOf(session: Session, schema: string): Promise<number> {
  const found = await session.one(`SELECT obj_description(to_regnamespace($1)::oid, 'pg_namespace')`, [schema])
  const comment = found?.[0] as string | null
  return Number(/^sluice (\d+)$/.exec(comment ?? '')?.[1] ?? 0)
}

async function planWithin(session: Session, schema: string): Promise<MigrationPlan> {
  const from = await versionOf(session, schema)
  if (from > newest) {
    throw new SluiceError(
      'conflict',
      `The schema ${schema} is of number ${from}, made by a newer program; this one knows ${newest}. Update this program.`,
      { schema, from, newest },
    )
  }
  const [isThere, isOurs] = (await session.one(
    `SELECT to_regnamespace($1) IS NOT NULL, to_regclass($1 || '.entity') IS NOT NULL`,
    [schema],
  )) as [boolean, boolean]
  if (from === 0 && isOurs) {
    throw new SluiceError(
      'conflict',
      `The schema ${schema} has a table entity that is not ours. Name another schema.`,
      { schema },
    )
  }
  const missing = migrations.filter(({ number }) => number > from)
  const sql = missing.flatMap(({ number, sql }) => [sql, `COMMENT ON SCHEMA ${schema} IS 'sluice ${number}'`])
  if (sql.length > 0) sql.unshift(...(isThere ? [] : [`CREATE SCHEMA ${schema}`]), `SET LOCAL search_path = ${schema}`)
  return { schema, from, to: newest, sql }
}

async function checkServer(database: Database): Promise<void> {
  const [version, encoding, isReplica, isReadOnly] = (await database.single((session) =>
    session.one(
      `SELECT current_setting('server_version_num')::int4, current_setting('server_encoding'), pg_is_in_recovery(),
         current_setting('transaction_read_only')::bool`,
    ),
  )) as [number, string, boolean, boolean]
  if (version < 150_000) {
    throw new SluiceError(
      'unsupported',
      `PostgreSQL 15 or later is needed; the server is ${Math.floor(version / 10_000)}.`,
      {
        version,
      },
    )
  }
  if (encoding !== 'UTF8') {
    throw new SluiceError(
      'unsupported',
      `The database is encoded in ${encoding}; UTF8 is needed. Create it with: createdb --encoding=UTF8 --template=template0 NAME.`,
      { encoding },
    )
  }
  if (isReadOnly && !isReplica) {
    throw new SluiceError(
      'unsupported',
      `PostgreSQL at ${database.where} is read-only (default_transaction_read_only). Set it off for this role or database.`,
    )
  }
  if (isReplica) {
    throw new SluiceError(
      'unsupported',
      `PostgreSQL at ${database.where} is a replica, which is read-only. Give the address of the primary.`,
    )
  }
}
