import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomInt, randomUUID } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'

/**
 * A PostgreSQL server for tests. Each test file that needs one starts its own, in a folder of its own on a free port of
 * this machine, and removes it at its end.
 *   SLUICE_POSTGRES_URL  a server to use instead, by a role that may create databases. Tests that stop their server start their own even then.
 *   SLUICE_POSTGRES_BIN  the folder of initdb and postgres, if it is not where Debian has it.
 */
const oldestVersion = 15
const given = process.env.SLUICE_POSTGRES_URL || null
const programs = process.env.SLUICE_POSTGRES_BIN || newestPrograms('/usr/lib/postgresql')
const missing = `PostgreSQL ${oldestVersion} or later is not installed: \`npm run services -- postgres\` installs it`

/** False: tests that stop and start their server run. Otherwise the line that says why not, and what to do. */
export const skipOwn: string | false =
  programs === null ? `${missing}, or name its programs in SLUICE_POSTGRES_BIN.` : false

/** False: the tests run. Otherwise the line that says why not, and what to do. */
export const skip: string | false =
  given === null && programs === null ? `${missing}, or name a server in SLUICE_POSTGRES_URL.` : false

export interface PostgresOptions {
  /** False is for tests whose machine does not fail: a crash of the server itself loses nothing even so. Default: false. */
  readonly fsync?: boolean
  /** Settings of postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>
  /** The test stops its server, or needs its settings: it is never the one that SLUICE_POSTGRES_URL names. */
  readonly own?: boolean
}

/** `fast` ends the connections and writes everything out; `immediate` is a crash, from which the next start recovers. */
export type StopMode = 'fast' | 'immediate'

export interface PostgresServer extends AsyncDisposable {
  /** The first database, by a role that may do everything. */
  readonly url: string
  readonly port: number
  /** A fresh and empty database, and its address. */
  database(name?: string): Promise<string>
  /** Rows of the last statement as `psql -At` shows them: one line each, with bars between. */
  psql(sql: string, url?: string): Promise<string>
  stop(mode?: StopMode): Promise<void>
  /** Starts again on the same port, and returns when it accepts connections. */
  start(): Promise<void>
  /** What the server has said, at most the last of it. */
  log(): string
  /** Ends it and removes all that was made. */
  close(): Promise<void>
}

export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const { fsync = false, settings = {}, own = Object.keys(settings).length > 0 } = options
  if (given !== null && !own) return new GivenServer(given)
  if (programs === null) throw new Error(String(skipOwn))
  const folder = await mkdtemp(join(tmpdir(), 'sluice-postgres-'))
  try {
    const owner = await ownerOf()
    if (owner) await chown(folder, owner.uid, owner.gid)
    await makeCluster(folder)
    return await OwnServer.start(folder, { ...quick, ...(fsync ? {} : careless), ...settings })
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

/** Small, silent and in English: what the server says is read. */
const quick = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  shared_buffers: '32MB',
  max_connections: '150',
  max_wal_senders: '0',
  wal_level: 'minimal',
  lc_messages: 'C',
  log_min_messages: 'warning',
  log_destination: 'stderr',
  logging_collector: 'off',
}

/** Nothing is lost by a crash of the server even so, only by a crash of the machine. */
const careless = { fsync: 'off', full_page_writes: 'off' }

const superuser = 'postgres'
/** Below the ports that systems give out by themselves, so that nobody takes it while the server is stopped. */
const ports = { min: 20_000, max: 32_000 } as const
const triesMax = 20
const logMax = 64_000

/** What both kinds of server do by way of a connection. */
abstract class Connected {
  abstract readonly url: string

  async psql(sql: string, url = this.url): Promise<string> {
    const client = new pg.Client({ connectionString: url, application_name: 'test harness' })
    await client.connect()
    try {
      // Every value as the server writes it.
      const answer = await client.query({ text: sql, rowMode: 'array', types: { getTypeParser: () => String } })
      const last = (Array.isArray(answer) ? answer.at(-1) : answer) as pg.QueryArrayResult
      return last.rows.map((row) => row.map((value) => value ?? '').join('|')).join('\n')
    } finally {
      await client.end()
    }
  }

  async database(name = `sluice_${randomUUID().replaceAll('-', '')}`): Promise<string> {
    // Nothing but what PostgreSQL itself brings, whatever a server's owner has put into the usual template.
    await this.psql(`CREATE DATABASE ${pg.escapeIdentifier(name)} TEMPLATE template0 ENCODING 'UTF8'`)
    const url = new URL(this.url)
    url.pathname = `/${encodeURIComponent(name)}`
    return url.href
  }
}

class OwnServer extends Connected implements PostgresServer {
  readonly url: string
  readonly port: number
  readonly #folder: string
  readonly #settings: Readonly<Record<string, string>>
  #process: ChildProcess | null = null
  #ended: Promise<unknown> = Promise.resolve()
  #log = ''

  private constructor(folder: string, port: number, settings: Readonly<Record<string, string>>) {
    super()
    this.#folder = folder
    this.port = port
    this.#settings = settings
    this.url = `postgres://${superuser}@127.0.0.1:${port}/postgres`
  }

  static async start(folder: string, settings: Readonly<Record<string, string>>): Promise<OwnServer> {
    for (let tries = 1; ; tries += 1) {
      const server = new OwnServer(folder, randomInt(ports.min, ports.max), settings)
      try {
        await server.start()
        return server
      } catch (error) {
        if (tries === triesMax || !/Address already in use/.test(server.log())) throw error
      }
    }
  }

  async start(): Promise<void> {
    if (this.#process) throw new Error('The server runs already.')
    const settings = Object.entries({ ...this.#settings, port: String(this.port) })
    const [command, ...args] = asOwner(
      join(programs!, 'postgres'),
      ...['-D', join(this.#folder, 'data')],
      ...settings.flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    )
    const started = spawn(command!, args, { stdio: ['ignore', 'ignore', 'pipe'] })
    this.#process = started
    this.#ended = new Promise((resolve) => started.once('close', resolve))
    const isReady = Promise.withResolvers<void>()
    started.once('error', isReady.reject)
    started.once('close', () => {
      this.#process = null
      isReady.reject(new Error(`PostgreSQL did not start. It said:\n${this.#log}`))
    })
    let line = ''
    started.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#log = (this.#log + text).slice(-logMax)
      line = (line + text).slice(-1_000)
      if (line.includes('ready to accept connections')) isReady.resolve()
    })
    await isReady.promise
  }

  async stop(mode: StopMode = 'fast'): Promise<void> {
    this.#process?.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
    await this.#ended
  }

  log(): string {
    return this.#log
  }

  async close(): Promise<void> {
    // Nobody needs the data any more.
    await this.stop('immediate')
    await rm(this.#folder, { recursive: true, force: true })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** Somebody's server, of which only the databases made here are ours. */
class GivenServer extends Connected implements PostgresServer {
  readonly url: string
  readonly port: number
  readonly #databases: string[] = []

  constructor(url: string) {
    super()
    this.url = url
    this.port = Number(new URL(url).port || 5_432)
  }

  override async database(name?: string): Promise<string> {
    const url = await super.database(name)
    this.#databases.push(decodeURIComponent(new URL(url).pathname.slice(1)))
    return url
  }

  async stop(): Promise<void> {
    throw new Error('A test that stops its server starts it with own: true.')
  }

  async start(): Promise<void> {}

  log(): string {
    return ''
  }

  async close(): Promise<void> {
    for (const name of this.#databases.splice(0))
      await this.psql(`DROP DATABASE IF EXISTS ${pg.escapeIdentifier(name)} WITH (FORCE)`)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

const execute = promisify(execFile)

async function makeCluster(folder: string): Promise<void> {
  const [command, ...args] = asOwner(
    join(programs!, 'initdb'),
    ...['-D', join(folder, 'data'), '-U', superuser, '--auth=trust', '--encoding=UTF8', '--locale=C'],
    ...['--no-sync', '--no-instructions', '--wal-segsize=4'],
  )
  await execute(command!, args)
}

/** PostgreSQL does not run as root; the package brings a user for it. Null: it runs as whoever we are. */
async function ownerOf(): Promise<{ readonly uid: number; readonly gid: number } | null> {
  if (process.getuid?.() !== 0) return null
  const [uid, gid] = await Promise.all(
    ['-u', '-g'].map(async (what) => Number((await execute('id', [what, superuser])).stdout)),
  )
  return { uid: uid!, gid: gid! }
}

/** The command as the server's user. On Linux the server also ends when this process does, however that ends. */
function asOwner(program: string, ...args: readonly string[]): readonly string[] {
  if (process.platform !== 'linux') return [program, ...args]
  const owner = process.getuid?.() === 0 ? [`--reuid=${superuser}`, `--regid=${superuser}`, '--init-groups'] : []
  return ['setpriv', '--pdeathsig', 'INT', ...owner, '--', program, ...args]
}

/** Debian keeps each version in a folder of its own. */
function newestPrograms(folder: string): string | null {
  const versions = existsSync(folder) ? readdirSync(folder).map(Number) : []
  const newest = versions
    .filter((version) => version >= oldestVersion && existsSync(join(folder, String(version), 'bin', 'initdb')))
    .sort((one, other) => other - one)[0]
  return newest === undefined ? null : join(folder, String(newest), 'bin')
}
