/**
 * What PostgreSQL itself gives: hand-written SQL on two connections, one that claims groups by SKIP LOCKED and one that
 * completes them, each group durable. With history and a tally as the product must have them, and without, as a plain
 * queue does it. No port, no verdicts, no operations: the limit that the store is measured by.
 */
import { Client } from 'pg'

export interface RawOptions {
  readonly url: string
  readonly count: number
  readonly history: boolean
  /** Items in one claim and in one completion. */
  readonly group?: number
}

interface Claimed {
  readonly id: string
  readonly epoch: number
}

const schema = `
  CREATE TABLE item (
    id int8 PRIMARY KEY, line int4, rank int8, owner int4, state int2 NOT NULL, epoch int4 NOT NULL, seq int4 NOT NULL,
    attempts int2 NOT NULL, lane int8 NOT NULL, changed_at int8 NOT NULL, data text NOT NULL
  );
  CREATE INDEX item_line ON item (line, rank, id) WHERE line IS NOT NULL;
  CREATE TABLE history (item int8 NOT NULL, seq int4 NOT NULL, epoch int4 NOT NULL, at int8 NOT NULL, path int4 NOT NULL, PRIMARY KEY (item, seq));
  CREATE TABLE tally (state int2 PRIMARY KEY, count int8 NOT NULL);
  INSERT INTO tally VALUES (0, 0), (1, 0);
`
/** Row by row over the indexes: the planner has other ideas while a table has just grown. */
const planning =
  'SET jit = off; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_bitmapscan = off; ' +
  'SET enable_hashjoin = off; SET enable_mergejoin = off'
const claim = `
  WITH chosen AS (
    SELECT id FROM item WHERE line = 1 ORDER BY rank, id LIMIT $1 FOR UPDATE SKIP LOCKED
  )
  UPDATE item SET line = NULL, owner = 7, epoch = epoch + 1, attempts = attempts + 1
  FROM chosen WHERE item.id = chosen.id RETURNING item.id, item.epoch, item.seq, item.state, item.lane, item.data`
const complete = `
  UPDATE item SET state = 1, owner = NULL, seq = seq + 1, attempts = 0, changed_at = $3
  FROM unnest($1::int8[], $2::int4[]) AS given (id, epoch) WHERE item.id = given.id AND item.epoch = given.epoch`
const record = `
  INSERT INTO history (item, seq, epoch, at, path) SELECT id, 1, epoch, $3, 1 FROM unnest($1::int8[], $2::int4[]) AS given (id, epoch)`
const tally = 'UPDATE tally SET count = count + CASE state WHEN 0 THEN -$1::int8 ELSE $1::int8 END'

/** Items per second through claim and completion. */
export async function rawLoop({ url, count, history, group = 1_000 }: RawOptions): Promise<number> {
  const [claims, completes] = await Promise.all([connect(url), connect(url)])
  await claims.query(schema)
  await claims.query(
    `INSERT INTO item SELECT n, 1, n, NULL, 0, 0, 0, 0, 1, 0, '{"n":' || n || '}' FROM generate_series(1, $1::int) AS n`,
    [count],
  )
  await claims.query('VACUUM ANALYZE')
  await claims.query('CHECKPOINT')
  const finish = async (items: readonly Claimed[]) => {
    const [ids, epochs, now] = [items.map(({ id }) => id), items.map(({ epoch }) => epoch), Date.now()]
    const values = [ids, epochs, now]
    await Promise.all([
      completes.query('BEGIN'),
      completes.query({ name: 'complete', text: complete, values }),
      ...(history ? [completes.query({ name: 'record', text: record, values })] : []),
      ...(history ? [completes.query({ name: 'tally', text: tally, values: [items.length] })] : []),
      completes.query('COMMIT'),
    ])
  }
  const from = performance.now()
  let pending = Promise.resolve()
  for (;;) {
    const { rows } = await claims.query<Claimed>({ name: 'claim', text: claim, values: [group] })
    await pending
    if (rows.length === 0) break
    pending = finish(rows)
  }
  const perSecond = (count * 1_000) / (performance.now() - from)
  await Promise.all([claims.end(), completes.end()])
  return perSecond
}

async function connect(url: string): Promise<Client> {
  // As the store's own connections: statements of one transaction are sent without waiting for the answers in between.
  const client = new Client({ connectionString: url, pipeline: true })
  await client.connect()
  await client.query(planning)
  return client
}
