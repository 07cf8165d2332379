import pg from 'pg'
import { type Clock, systemClock } from '../../clock.ts'
import { SluiceError } from '../../errors.ts'
import { explained, isConflict, isStaleStatement } from './fault.ts'
import { Patience } from './patience.ts'
import { Session } from './session.ts'
import { parserOf, type Row, type Value } from './statement.ts'

export type { Row, Session, Value }

/** A transaction that lost against others is done again so often. */
const attemptsMax = 20
/** Nobody waits longer for a connection of his own, or for one to be made. */
const connectMs = 10_000
/**
 * An answer that takes longer will not come: the connection is dropped, and whoever asked asks again. The server gives up a little sooner by
 * itself, and it ends what a process left open that was stopped in the middle of a transaction, so that nobody waits for its locks.
 */
export const answerMsDefault = 30_000
const statementShare = 0.8
const idleShare = 0.5

/** A server takes its time, whatever clock the store goes by. */
const networkClock = systemClock()

/** For what is not prepared. */
const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    return (format === 'binary' ? null : parserOf(oid)) ?? pg.types.getTypeParser(oid, format as 'text')
  },
}

/** The connections of one store, and the transactions on them. */
export class Database {
  readonly where: string
  readonly #pool: pg.Pool
  readonly #config: pg.ClientConfig
  readonly #settings: string
  readonly #clock: Clock
  readonly #patience: Patience
  #rowsWritten = 0
  #isClosed = false
  #hasWorked = false

  constructor(url: string, schema: string, connectionsMax: number, clock: Clock, answerMs = answerMsDefault) {
    this.#clock = clock
    this.where = placeOf(url)
    this.#config = configOf(url, answerMs)
    this.#settings = settingsOf(schema, answerMs)
    this.#patience = new Patience(networkClock, answerMs)
    // A timer of the driver's for every question would cost more than many of them do.
    this.#pool = new pg.Pool({ ...this.#config, query_timeout: 0, max: connectionsMax, idleTimeoutMillis: 30_000 })
    this.#pool.on('connect', (client) => void client.query(this.#settings).catch(() => {}))
    this.#pool.on('remove', (client) => this.#patience.forget(client))
    // An idle connection that is lost is no news: the next one is made when it is needed.
    this.#pool.on('error', () => {})
  }

  rowsWritten(): number {
    return this.#rowsWritten
  }

  /** One transaction, all or nothing. It may be run more than once: what it does outside of the database must not matter. */
  write<Result>(work: (session: Session) => Promise<Result>): Promise<Result> {
    return this.#retrying(() =>
      this.#using(async (session) => {
        session.begin()
        const result = await work(session)
        if (session.isUndone) return result
        const end = session.commit()
        await session.settle()
        if ((await end) !== 'COMMIT') throw new SluiceError('internal', 'The transaction was undone by the server.')
        return result
      }),
    )
  }

  /** All that it reads is of one moment. */
  read<Result>(work: (session: Session) => Promise<Result>): Promise<Result> {
    return this.#retrying(() =>
      this.#using(async (session) => {
        session.beginReading()
        const result = await work(session)
        await session.settle()
        // What was read is known: nobody waits for the end.
        session.undo()
        return result
      }),
    )
  }

  /** Statements that stand alone. */
  single<Result>(work: (session: Session) => Promise<Result>): Promise<Result> {
    return this.#retrying(() =>
      this.#using(async (session) => {
        const result = await work(session)
        await session.settle()
        return result
      }),
    )
  }

  /** A connection of its own, for whoever listens. */
  async connect(): Promise<pg.Client> {
    const client = new pg.Client(this.#config)
    // An error that nobody listens for would end the process; whoever uses the connection sees it fail.
    client.on('error', () => {})
    try {
      await client.connect()
      await client.query(this.#settings)
    } catch (error) {
      client.end().catch(() => {})
      throw this.#explained(error)
    }
    return client
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#pool.end()
    this.#patience.stop()
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  async #using<Result>(work: (session: Session) => Promise<Result>): Promise<Result> {
    if (this.#isClosed) throw new SluiceError('conflict', 'The store is closed.')
    const client = await this.#pool.connect()
    // Without a listener an error between two statements would end the process.
    const ignore = () => {}
    client.on('error', ignore)
    const session = new Session(client, networkClock, (rows) => {
      this.#rowsWritten += rows
    })
    this.#patience.begin(client, session)
    const release = (isSound: boolean) => {
      this.#patience.end(client)
      client.off('error', ignore)
      client.release(!isSound)
    }
    try {
      const result = await work(session)
      void session.isOver().then(release)
      return result
    } catch (error) {
      release(await rolledBack(session))
      throw session.faultBehind(error)
    }
  }

  /** What says that the address is wrong, while starting, is a passing trouble once the same address has worked. */
  #explained(error: unknown): unknown {
    return explained(error, this.where, this.#hasWorked)
  }

  async #retrying<Result>(attempt: () => Promise<Result>): Promise<Result> {
    for (let attempts = 1; ; attempts += 1) {
      try {
        const result = await attempt()
        this.#hasWorked = true
        return result
      } catch (error) {
        const isWorthIt = isConflict(error) || isStaleStatement(error)
        if (!isWorthIt || attempts >= attemptsMax) throw this.#explained(error)
        await new Promise<void>((resolve) => this.#clock.soon(resolve))
      }
    }
  }
}

/** After an error the connection is used again only if the server confirms that nothing is left open. */
async function rolledBack(session: Session): Promise<boolean> {
  try {
    await session.settle().catch(() => {})
    await session.exec('ROLLBACK')
    return true
  } catch {
    return false
  }
}

function configOf(url: string, answerMs: number): pg.ClientConfig {
  const config = {
    connectionString: checkUrl(url),
    pipeline: true,
    types,
    application_name: 'sluice',
    connectionTimeoutMillis: connectMs,
    query_timeout: answerMs,
    keepAlive: true,
  }
  return config as pg.ClientConfig
}

/**
 * Sent over every new connection before anything else; not with its greeting, which poolers do not pass on. Every statement of ours is
 * meant to go by an index, row by row: the planner is kept from other ideas, which it has while a table is new or has just grown.
 */
function settingsOf(schema: string, answerMs: number): string {
  const settings = {
    search_path: `${checkSchema(schema)}, pg_temp`,
    ...{ client_encoding: "'UTF8'", timezone: "'UTC'", jit: 'off', plan_cache_mode: 'force_generic_plan' },
    statement_timeout: Math.ceil(answerMs * statementShare),
    idle_in_transaction_session_timeout: Math.ceil(answerMs * idleShare),
    ...{ enable_seqscan: 'off', enable_bitmapscan: 'off', enable_hashjoin: 'off', enable_mergejoin: 'off' },
  }
  const set = Object.entries(settings).map(([name, value]) => `SET ${name} = ${value}`)
  // What was acknowledged must be on the disk, and a name that this process remembers must not be taken back by a crash.
  const durable = `SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`
  return [...set, durable].join('; ')
}

export function checkSchema(schema: string): string {
  if (/^[a-z_][a-z0-9_]{0,62}$/.test(schema) && !schema.startsWith('pg_')) return schema
  throw new SluiceError(
    'invalid',
    `The schema must be named in small letters, digits and _, beginning with a letter; it was ${JSON.stringify(schema)}.`,
    { schema },
  )
}

function checkUrl(url: string): string {
  const isKnown = /^postgres(ql)?:\/\//.test(url)
  if (isKnown && URL.canParse(url)) {
    const address = new URL(url)
    // Ours, not the driver's.
    address.searchParams.delete('schema')
    return address.href
  }
  throw new SluiceError(
    'invalid',
    'The address of PostgreSQL must be like postgres://user:password@host:5432/database.',
    { given: isKnown ? placeOf(url) : 'something else' },
  )
}

/** The address without what is secret in it. */
export function placeOf(url: string): string {
  if (!URL.canParse(url)) return '(an address that cannot be read)'
  const { hostname, port, pathname } = new URL(url)
  return `${hostname || 'localhost'}:${port || 5432}${pathname}`
}
