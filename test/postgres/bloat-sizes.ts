import pg from 'pg'

/** Tables and indexes of a schema with their sizes in bytes; what a table keeps aside for long values counts with it. */
export type Sizes = ReadonlyMap<string, number>

/** Looks at a database from outside, over a connection of its own. */
export class Surveyor implements AsyncDisposable {
  readonly #client: pg.Client
  readonly #schema: string

  private constructor(client: pg.Client, schema: string) {
    this.#client = client
    this.#schema = schema
  }

  static async open(url: string, schema: string): Promise<Surveyor> {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    return new Surveyor(client, schema)
  }

  async sizes(): Promise<Sizes> {
    const { rows } = await this.#client.query<{ name: string; bytes: string }>(
      `SELECT relname AS name, CASE relkind WHEN 'r' THEN pg_relation_size(oid) + coalesce(pg_table_size(nullif(reltoastrelid, 0)), 0)
         ELSE pg_relation_size(oid) END AS bytes
       FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relkind IN ('r', 'i')`,
      [this.#schema],
    )
    return new Map(rows.map(({ name, bytes }) => [name, Number(bytes)]))
  }

  async count(table: string): Promise<number> {
    return this.#number(`SELECT count(*) FROM ${this.#schema}.${table}`)
  }

  /** What the rows of a table hold, without what pages have besides. */
  async held(table: string): Promise<number> {
    return this.#number(`SELECT coalesce(sum(pg_column_size(held.*)), 0) FROM ${this.#schema}.${table} AS held`)
  }

  /** Rows that nobody sees any more and that are still there, as far as the server has noticed. */
  async dead(table: string): Promise<number> {
    return this.#number('SELECT n_dead_tup FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = $2', [
      this.#schema,
      table,
    ])
  }

  /** How often the server has cleared a table by itself. */
  async vacuums(table: string): Promise<number> {
    return this.#number('SELECT autovacuum_count FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = $2', [
      this.#schema,
      table,
    ])
  }

  /** From now on nothing that anybody removes goes away, until it is over: as under a long report, or a backup. */
  async beginReading(): Promise<void> {
    await this.#client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    await this.#client.query('SELECT 1 FROM pg_class LIMIT 1')
  }

  async endReading(): Promise<void> {
    await this.#client.query('COMMIT')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end()
  }

  async #number(sql: string, values: readonly string[] = []): Promise<number> {
    const { rows } = await this.#client.query<unknown[]>({ text: sql, values: [...values], rowMode: 'array' })
    return Number(rows[0]?.[0] ?? 0)
  }
}

/** The most that each was in any of these looks. */
export function largest(looks: readonly Sizes[]): Sizes {
  const most = new Map<string, number>()
  for (const look of looks) for (const [name, bytes] of look) most.set(name, Math.max(bytes, most.get(name) ?? 0))
  return most
}
