/** The two drivers in one shape: prepared statements, rows as arrays, numbers as numbers, statements sent without waiting. */
import { loadPeer, type Peer } from './peer.ts'

export interface Driver {
  readonly name: 'pg' | 'postgres'
  /** One connection. With `answerMs`, as far as the driver can, no statement waits longer for its answer. */
  connect(url: string, answerMs?: number): Promise<Connection>
}

export type Rows = readonly (readonly unknown[])[]

export interface Connection {
  ask(text: string, values?: readonly unknown[]): Promise<Rows>
  /** BEGIN, the statements, COMMIT, all sent at once. One promise each: they may end differently when the connection is cut. */
  transact(statements: readonly Statement[]): readonly Promise<unknown>[]
  /** Ends it, whatever state it is in. */
  end(): Promise<void>
}

export interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
}

interface PgModule {
  readonly Client: new (config: Readonly<Record<string, unknown>>) => PgClient
  readonly types: { getTypeParser(oid: number, format?: string): (text: string) => unknown }
}

interface PgClient {
  connect(): Promise<unknown>
  on(event: 'error', listener: (error: Error) => void): void
  query(config: Readonly<Record<string, unknown>>): Promise<{ readonly rows: Rows }>
  end(): Promise<void>
}

interface Sql {
  reserve(): Promise<Sql>
  release(): void
  unsafe(text: string, values?: readonly unknown[], options?: { readonly prepare: boolean }): Pending
  end(options: { readonly timeout: number }): Promise<void>
}

interface Pending extends Promise<unknown> {
  values(): Promise<Rows>
}

type PostgresModule = (url: string, options: Readonly<Record<string, unknown>>) => Sql

export const pgDriver: Driver = {
  name: 'pg',
  async connect(url, answerMs) {
    const { Client, types } = await loadPeer<PgModule>('pg')
    const numbers = {
      getTypeParser: (oid: number, format?: string) =>
        oid === 20 || oid === 21 || oid === 23 ? Number : types.getTypeParser(oid, format),
    }
    const client = new Client({ connectionString: url, pipeline: true, types: numbers, query_timeout: answerMs })
    // Without it, a connection that ends while nobody waits for an answer would end the process.
    client.on('error', () => {})
    await client.connect()
    const names = new Map<string, string>()
    const nameOf = (text: string) => {
      if (!names.has(text)) names.set(text, `s${names.size}`)
      return names.get(text)!
    }
    const query = (text: string, values: readonly unknown[] = []) =>
      client.query({ name: nameOf(text), text, values, rowMode: 'array' })
    return {
      ask: async (text, values) => (await query(text, values)).rows,
      transact: (statements) => [
        client.query({ text: 'BEGIN' }),
        ...statements.map(({ text, values }) => query(text, values)),
        client.query({ text: 'COMMIT' }),
      ],
      end: () => client.end(),
    }
  },
}

export const postgresDriver: Driver = {
  name: 'postgres',
  async connect(url) {
    const postgres = await loadPeer<PostgresModule>('postgres')
    const number = { to: 20, from: [20, 21, 23], serialize: String, parse: Number }
    const pool = postgres(url, { max: 1, types: { number }, onnotice: () => {}, max_lifetime: null })
    // It is a pool that connects anew by itself: only what is reserved stays on one connection.
    const sql = await pool.reserve()
    const query = (text: string, values: readonly unknown[] = []) =>
      sql.unsafe(text, values, { prepare: true }).values()
    return {
      ask: query,
      // Its own transactions wait for the answers to BEGIN and to the last statement; this does not.
      transact: (statements) => [
        sql.unsafe('BEGIN').values(),
        ...statements.map(({ text, values }) => query(text, values)),
        sql.unsafe('COMMIT').values(),
      ],
      end: () => pool.end({ timeout: 0 }),
    }
  },
}

export const drivers = [pgDriver, postgresDriver] as const
export const driverPeers = ['pg', 'postgres'] as const satisfies readonly Peer[]
