import { systemClock } from '../../clock.ts'
import { isSluiceError } from '../../errors.ts'
import { checkSchema, Database, type Session } from './database.ts'
import { versionOf } from './migrate.ts'
import { migrations, newest } from './migrations.ts'

/** One thing that was looked at, in words; `advice` says what to change. */
export interface Finding {
  readonly level: 'ok' | 'warning' | 'error'
  readonly what: string
  readonly advice: string | null
}

export interface ExamineOptions {
  readonly url: string
  readonly schema?: string
  /** How many connections a process opens at most, with the two that listen and renew. */
  readonly connectionsMax?: number
}

/** The server's clock and ours may differ by so much without a word. */
const clockDifferenceMs = 2_000
/** A transaction that is older holds back vacuum, and the feed if it writes. */
const oldTransactionMs = 10 * 60_000
const oldestVersion = 150_000

/** Looks at a server as an operator would, and changes nothing. Whatever is wrong is a finding, never an exception. */
export async function examine(options: ExamineOptions): Promise<readonly Finding[]> {
  const { url, schema = 'sluice', connectionsMax = 8 } = options
  const clock = systemClock()
  let database: Database
  try {
    database = new Database(url, checkSchema(schema), 1, clock)
  } catch (error) {
    return [problem('error', wordsOf(error))]
  }
  const ask = (work: (session: Session) => Promise<readonly Finding[]>) => asked(database, work)
  try {
    const begun = clock.now()
    const [reached, server] = await reach(database, (serverTime) => serverTime - (begun + clock.now()) / 2)
    if (!server) return reached
    return [
      ...reached,
      ...(await pooler(database, schema)),
      ...(await ask((session) => durability(session))),
      ...(await ask((session) => tables(session, schema))),
      ...(await ask((session) => room(session, connectionsMax))),
      ...(await ask((session) => vacuum(session))),
    ]
  } finally {
    await database.close()
  }
}

/** Whether there is a server that a store can be on at all. */
async function reach(
  database: Database,
  differenceOf: (serverTime: number) => number,
): Promise<readonly [readonly Finding[], boolean]> {
  let row: readonly unknown[] | null
  try {
    row = await database.single((session) =>
      session.one(
        `SELECT current_setting('server_version_num')::int4, current_setting('server_version'), current_setting('server_encoding'),
         pg_is_in_recovery(), current_setting('default_transaction_read_only') = 'on', (extract(epoch FROM clock_timestamp()) * 1000)::int8`,
      ),
    )
  } catch (error) {
    return [[problem('error', wordsOf(error))], false]
  }
  const [number, version, encoding, isReplica, isReadOnly, time] = row as [
    number,
    string,
    string,
    boolean,
    boolean,
    number,
  ]
  const difference = Math.round(differenceOf(time))
  const findings = [
    number >= oldestVersion
      ? ok(`PostgreSQL ${version} at ${database.where}.`)
      : problem('error', `PostgreSQL ${version} at ${database.where}: 15 or later is needed.`, 'Upgrade the server.'),
    encoding === 'UTF8'
      ? ok('The database is encoded in UTF8.')
      : problem(
          'error',
          `The database is encoded in ${encoding}; UTF8 is needed.`,
          'Create it with: createdb --encoding=UTF8 --template=template0 NAME.',
        ),
    isReplica
      ? problem('error', 'The server is a replica, which is read-only.', 'Give the address of the primary.')
      : isReadOnly
        ? problem(
            'error',
            'Transactions are read-only by default.',
            'Set default_transaction_read_only = off for this role or database.',
          )
        : ok('The server accepts writes.'),
    Math.abs(difference) <= clockDifferenceMs
      ? ok('The clocks of this machine and the server agree.')
      : problem(
          'warning',
          `The clock of this machine is ${Math.abs(difference)} ms ${difference > 0 ? 'behind' : 'ahead of'} that of the server, by which all times go.`,
          'Synchronize both (NTP), or times that people see here and there will differ.',
        ),
  ]
  return [findings, number >= oldestVersion]
}

/** A pooler that gives each transaction another server process loses prepared statements, settings and notifications. */
async function pooler(database: Database, schema: string): Promise<readonly Finding[]> {
  try {
    const client = await database.connect()
    client.on('error', () => {})
    try {
      const seen = new Set<string>()
      for (let transaction = 0; transaction < 4; transaction += 1) {
        const { rows } = await client.query(
          "SELECT pg_backend_pid() || ' ' || current_setting('search_path') AS session",
        )
        seen.add(rows[0].session)
      }
      const isKept = [...seen].every((session) => session.includes(schema))
      if (seen.size === 1 && isKept) return [ok('A connection keeps its session from one transaction to the next.')]
      const what =
        seen.size > 1 ? 'Each transaction meets another server process' : `The setting search_path = ${schema} is lost`
      return [
        problem(
          'error',
          `${what}: there seems to be a pooler in transaction mode in between.`,
          'Set the pooler to session mode, or connect to the server directly.',
        ),
      ]
    } finally {
      await client.end()
    }
  } catch (error) {
    return [problem('error', wordsOf(error))]
  }
}

async function durability(session: Session): Promise<readonly Finding[]> {
  const row = await session.one(
    "SELECT current_setting('fsync'), current_setting('full_page_writes'), (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit')",
  )
  const [fsync, fullPageWrites, synchronousCommit] = row as [string, string, string]
  const findings: Finding[] = []
  if (fsync !== 'on') {
    findings.push(
      problem(
        'error',
        'fsync is off: a power loss may destroy the whole database.',
        'Set fsync = on, save for servers whose content may be lost.',
      ),
    )
  }
  if (fullPageWrites !== 'on') {
    findings.push(
      problem(
        'warning',
        'full_page_writes is off: a power loss may leave torn pages.',
        'Set full_page_writes = on, unless the file system writes pages as a whole.',
      ),
    )
  }
  if (synchronousCommit === 'off') {
    findings.push(
      problem(
        'warning',
        'synchronous_commit is off for this role or database. Sluice sets it on for its own connections.',
        'Set synchronous_commit = on, so that nobody is surprised.',
      ),
    )
  }
  return findings.length > 0 ? findings : [ok('What is acknowledged is on the disk.')]
}

/** The names of all tables and sequences that the migrations make. */
function namesMade(kind: 'TABLE' | 'SEQUENCE'): readonly string[] {
  const made = new RegExp(`CREATE ${kind} (\\w+)`, 'g')
  return migrations.flatMap(({ sql }) => [...sql.matchAll(made)].map(([, name]) => name!))
}

async function tables(session: Session, schema: string): Promise<readonly Finding[]> {
  const number = await versionOf(session, schema)
  if (number > newest) {
    return [
      problem(
        'error',
        `The schema ${schema} is of number ${number}, made by a newer program; this one knows ${newest}.`,
        'Update this program.',
      ),
    ]
  }
  if (number < newest) return beforeMigration(session, schema, number)
  const isUsed = await session.one("SELECT has_schema_privilege(to_regnamespace($1)::oid, 'USAGE')", [schema])
  if (isUsed?.[0] !== true)
    return [
      problem('error', `The role may not use the schema ${schema}.`, `GRANT USAGE ON SCHEMA ${schema} TO the role.`),
    ]
  const [missing, closed] = await Promise.all([
    session.all('SELECT name FROM unnest($1::text[]) name WHERE to_regclass($2 || name) IS NULL', [
      [...namesMade('TABLE'), ...namesMade('SEQUENCE')],
      `${schema}.`,
    ]),
    session.all(
      `SELECT name FROM unnest($1::text[]) name CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) may
       WHERE to_regclass($3 || name) IS NOT NULL AND NOT has_table_privilege(to_regclass($3 || name)::oid, may)
       UNION SELECT name FROM unnest($2::text[]) name
       WHERE to_regclass($3 || name) IS NOT NULL AND NOT (has_sequence_privilege(to_regclass($3 || name)::oid, 'USAGE') AND has_sequence_privilege(to_regclass($3 || name)::oid, 'SELECT')) ORDER BY 1`,
      [namesMade('TABLE'), [...namesMade('SEQUENCE'), 'claimed_number_seq'], `${schema}.`],
    ),
  ])
  const findings = [ok(`The schema ${schema} is of number ${number}, which is the newest.`)]
  if (missing.length > 0) {
    findings.push(
      problem(
        'error',
        `The schema ${schema} has no ${listed(missing)}.`,
        'Restore them from a backup: somebody has removed them.',
      ),
    )
  }
  if (closed.length > 0) {
    findings.push(
      problem(
        'error',
        `The role may not read and write ${listed(closed)}.`,
        `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} and USAGE, SELECT ON ALL SEQUENCES IN SCHEMA ${schema} TO the role.`,
      ),
    )
  }
  return findings
}

async function beforeMigration(session: Session, schema: string, number: number): Promise<readonly Finding[]> {
  const [isThere, mayCreate, mayFill] = (await session.one(
    `SELECT to_regnamespace($1) IS NOT NULL, has_database_privilege(current_database(), 'CREATE'),
     coalesce(has_schema_privilege(to_regnamespace($1)::oid, 'CREATE'), false)`,
    [schema],
  )) as [boolean, boolean, boolean]
  const findings = [
    problem(
      'warning',
      number === 0
        ? `The tables are not there yet (schema ${schema}).`
        : `The schema ${schema} is of number ${number}; ${newest} is the newest.`,
      'Run: sluice migrate.',
    ),
  ]
  if (isThere ? !mayFill : !mayCreate) {
    findings.push(
      problem(
        'error',
        `The role may not ${isThere ? `make tables in the schema ${schema}` : 'make a schema in this database'}.`,
        'Migrate with a role that may, or grant it CREATE.',
      ),
    )
  }
  return findings
}

async function room(session: Session, connectionsMax: number): Promise<readonly Finding[]> {
  const [most, used] = (await session.one(
    `SELECT least(current_setting('max_connections')::int4 - current_setting('superuser_reserved_connections')::int4,
       (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database()),
       (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user)),
     (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')`,
  )) as [number, number]
  const left = most - used
  if (left >= connectionsMax) return [ok(`There is room for ${left} more connections.`)]
  return [
    problem(
      'warning',
      `There is room for ${Math.max(0, left)} more connections only; one process uses up to ${connectionsMax}.`,
      'Raise max_connections or the limit of the role or database, or lower connectionsMax of the processes.',
    ),
  ]
}

/** What a role may not see of others is taken to be well. */
async function vacuum(session: Session): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  const [autovacuum, counts] = (await session.one(
    "SELECT current_setting('autovacuum'), current_setting('track_counts')",
  )) as [string, string]
  if (autovacuum !== 'on' || counts !== 'on') {
    findings.push(
      problem(
        'error',
        'autovacuum does not run: the tables of waiting work grow without end, and slow down.',
        'Set autovacuum = on and track_counts = on.',
      ),
    )
  }
  const old = await session.all(
    `SELECT 'The transaction of process ' || pid || ' (' || coalesce(nullif(application_name, ''), 'unnamed') || ')',
       (extract(epoch FROM clock_timestamp() - xact_start) * 1000)::int8 FROM pg_stat_activity
     WHERE xact_start < clock_timestamp() - $1 * interval '1 millisecond' AND pid <> pg_backend_pid()
     AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
     UNION ALL SELECT 'The prepared transaction ' || gid, (extract(epoch FROM clock_timestamp() - prepared) * 1000)::int8
     FROM pg_prepared_xacts WHERE prepared < clock_timestamp() - $1 * interval '1 millisecond' ORDER BY 2 DESC LIMIT 5`,
    [oldTransactionMs],
  )
  for (const [who, ageMs] of old as readonly (readonly [string, number])[]) {
    findings.push(
      problem(
        'warning',
        `${who} is open for ${Math.round(ageMs / 60_000)} minutes: nothing that was removed since can be cleaned away.`,
        'End it, and set idle_in_transaction_session_timeout.',
      ),
    )
  }
  return findings.length > 0 ? findings : [ok('autovacuum runs, and no old transaction holds it back.')]
}

async function asked(
  database: Database,
  work: (session: Session) => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return await database.single(work)
  } catch (error) {
    return [problem('error', wordsOf(error))]
  }
}

function ok(what: string): Finding {
  return { level: 'ok', what, advice: null }
}

function problem(level: 'warning' | 'error', what: string, advice: string | null = null): Finding {
  return { level, what, advice }
}

function listed(rows: readonly (readonly unknown[])[]): string {
  return rows.map(([name]) => name).join(', ')
}

/** Errors of a store say what to do already. */
function wordsOf(error: unknown): string {
  if (isSluiceError(error)) return error.message
  return error instanceof Error ? error.message : String(error)
}
