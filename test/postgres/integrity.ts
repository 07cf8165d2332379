import pg from 'pg'

/** What PostgreSQL itself finds wrong with the tables and indexes of a schema, row by row. 'ok': nothing. */
export async function postgresIntegrity(url: string, schema: string): Promise<readonly string[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('CREATE EXTENSION IF NOT EXISTS amcheck WITH SCHEMA public')
    const { rows: tables } = await client.query<{ name: string; said: string }>(
      `SELECT relname AS name, msg AS said
       FROM pg_class, LATERAL public.verify_heapam(pg_class.oid)
       WHERE relnamespace = to_regnamespace($1) AND relkind = 'r'`,
      [schema],
    )
    const { rows: indexes } = await client.query<{ oid: number; name: string }>(
      `SELECT pg_class.oid, relname AS name FROM pg_class JOIN pg_am ON pg_am.oid = relam
       WHERE relnamespace = to_regnamespace($1) AND relkind = 'i' AND amname = 'btree'`,
      [schema],
    )
    if (indexes.length === 0) return [`there is no index in ${schema}`]
    const complaints = tables.map(({ name, said }) => `${name}: ${said}`)
    for (const { oid, name } of indexes) {
      await client
        .query('SELECT public.bt_index_check($1::regclass, heapallindexed => true)', [oid])
        .catch((error: Error) => complaints.push(`${name}: ${error.message}`))
    }
    return complaints.length === 0 ? ['ok'] : complaints
  } finally {
    await client.end()
  }
}
