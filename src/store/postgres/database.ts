import pg from 'pg'
import type { Clock } from '../../clock.ts'
import { SluiceError } from '../../errors.ts'
import { explained, isAftermath, isConflict, isStaleStatement } from './fault.ts'
import { Flight, type Order, Prepared } from './flight.ts'
import { type Answer, parserOf, type Row, type Value } from './statement.ts'

export type { Row, Value }

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

/** For what is not prepared. */
const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    return (format === 'binary' ? null : parserOf(oid)) ?? pg.types.getTypeParser(oid, format as 'text')
  },
}

/** What each connection has prepared. */
const preparedBy = new WeakMap<pg.ClientBase, Prepared>()

function preparedOf(client: pg.ClientBase): Prepared {
  let prepared = preparedBy.get(client)
  if (!prepared) {
    prepared = new Prepared()
    preparedBy.set(client, prepared)
  }
  return prepared
}

/** What a connection is asked, one after another, without waiting for the answers in between. */
export class Session {
  readonly #client: pg.ClientBase
  readonly #noteWritten: (rows: number) => void
  /** Asked for since the last flight left. */
  #orders: Order[] = []
  #unanswered = 0
  #whenAnswered: (() => void)[] = []
  #fault: unknown = null
  /** The word that the server then says. */
  #end: Promise<string> | null = null
  #isUndone = false

  constructor(client: pg.ClientBase, noteWritten: (rows: number) => void) {
    this.#client = client
    this.#noteWritten = noteWritten
  }

  /** Rows as arrays. Sent at once; other statements may be sent before the answer is there. */
  all(sql: string, values: readonly Value[] = []): Promise<readonly Row[]> {
    return this.#ask(sql, values, ({ rows }) => rows)
  }

  one(sql: string, values: readonly Value[] = []): Promise<Row | null> {
    return this.#ask(sql, values, ({ rows }) => rows[0] ?? null)
  }

  /** Nobody asks for its answer; if it fails, the whole transaction does. */
  send(sql: string, values: readonly Value[] = []): void {
    this.#order(sql, values, nobodyAsks, nobodyAsks)
  }

  /** Statements whose text is used once: not prepared. */
  exec(sql: string): Promise<pg.QueryArrayResult> {
    this.#depart()
    this.#unanswered += 1
    const answer = this.#client.query({ text: sql, rowMode: 'array' }).then(
      (result) => {
        this.#note(result.command, result.rowCount ?? 0)
        this.#tick()
        return result
      },
      (error) => {
        this.#blame(error)
        this.#tick()
        throw error
      },
    )
    answer.catch(nobodyAsks)
    return answer
  }

  begin(): void {
    this.send('BEGIN')
  }

  /** All that is read from here on is of one moment. */
  beginReading(): void {
    this.send('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  }

  /**
   * The transaction ends here: its COMMIT goes out with what was sent last, and nobody waits for the answers in between. Whatever fails
   * after this on our side fails too late.
   */
  commit(): Promise<string> {
    this.#end ??= this.#ask('COMMIT', [], commandOf)
    return this.#end
  }

  /** Nothing was written that anybody needs: the server need not bring it to the disk. */
  undo(): void {
    this.#isUndone = true
    this.#end ??= this.#ask('ROLLBACK', [], commandOf)
  }

  /** Once the end is answered: whether the connection can be used again. */
  isOver(): Promise<boolean> {
    if (!this.#end) return Promise.resolve(true)
    return this.#end.then(
      () => true,
      () => false,
    )
  }

  get isUndone(): boolean {
    return this.#isUndone
  }

  /** The first thing that went wrong, once all that was sent has been answered. */
  async settle(): Promise<void> {
    if (this.#unanswered > 0) await new Promise<void>((resolve) => this.#whenAnswered.push(resolve))
    if (this.#fault !== null) throw this.#fault
  }

  /** What really went wrong: statements behind the one that failed are refused only because of it. */
  faultBehind(error: unknown): unknown {
    return isAftermath(error) ? (this.#fault ?? error) : error
  }

  #ask<Result>(sql: string, values: readonly Value[], read: (answer: Answer) => Result): Promise<Result> {
    const answer = new Promise<Result>((resolve, reject) =>
      this.#order(sql, values, (answer) => resolve(read(answer)), reject),
    )
    // Whoever asked may have given up already: then the transaction tells of it.
    answer.catch(nobodyAsks)
    return answer
  }

  #order(
    text: string,
    values: readonly Value[],
    answered: (answer: Answer) => void,
    failed: (error: unknown) => void,
  ): void {
    this.#unanswered += 1
    if (this.#orders.length === 0) queueMicrotask(() => this.#depart())
    this.#orders.push({
      text,
      values,
      answered: (answer) => {
        this.#note(answer.command, answer.rowCount)
        answered(answer)
        this.#tick()
      },
      failed: (error) => {
        this.#blame(error)
        failed(error)
        this.#tick()
      },
    })
  }

  /** All that is asked for without a pause goes out as one: a packet for each statement would cost more than the statements do. */
  #depart(): void {
    if (this.#orders.length === 0) return
    const flight = new Flight(this.#orders, preparedOf(this.#client))
    this.#orders = []
    this.#client.query(flight as unknown as pg.Submittable)
  }

  #note(command: string, rows: number): void {
    if (command !== 'SELECT' && rows > 0) this.#noteWritten(rows)
  }

  #blame(error: unknown): void {
    if (this.#fault === null || isAftermath(this.#fault)) this.#fault = error
  }

  #tick(): void {
    this.#unanswered -= 1
    if (this.#unanswered > 0) return
    for (const resolve of this.#whenAnswered.splice(0)) resolve()
  }
}

function nobodyAsks(): void {}

function commandOf({ command }: Answer): string {
  return command
}

/** The connections of one store, and the transactions on them. */
export class Database {
  readonly where: string
  readonly #pool: pg.Pool
  readonly #config: pg.ClientConfig
  readonly #settings: string
  readonly #clock: Clock
  #rowsWritten = 0
  #isClosed = false
  #hasWorked = false

  constructor(url: string, schema: string, connectionsMax: number, clock: Clock, answerMs = answerMsDefault) {
    this.#clock = clock
    this.where = placeOf(url)
    this.#config = configOf(url, answerMs)
    this.#settings = settingsOf(schema, answerMs)
    this.#pool = new pg.Pool({ ...this.#config, max: connectionsMax, idleTimeoutMillis: 30_000 })
    this.#pool.on('connect', (client) => void client.query(this.#settings).catch(() => {}))
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
    const session = new Session(client, (rows) => {
      this.#rowsWritten += rows
    })
    const release = (isSound: boolean) => {
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
