/**
 * What SQLite itself gives: a loop with hand-written SQL that claims, completes, fences, tallies and writes history, in
 * groups, every group durable (WAL, FULL). No port, no entities, no verdicts: the limit that the store is measured by.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite'

export interface RawOptions {
  readonly file: string
  readonly count: number
  /** Items in one claim and in one completion. */
  readonly group?: number
}

const schema = `
  PRAGMA page_size = 8192;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA cache_size = -32768;
  PRAGMA wal_autocheckpoint = 4000;
  CREATE TABLE item (
    id INTEGER PRIMARY KEY, state INTEGER NOT NULL, rank INTEGER NOT NULL, owner INTEGER, epoch INTEGER NOT NULL, seq INTEGER NOT NULL,
    attempts INTEGER NOT NULL, changed_at INTEGER NOT NULL, data TEXT NOT NULL
  );
  CREATE INDEX item_ready ON item (rank, id) WHERE state = 0 AND owner IS NULL;
  CREATE INDEX item_owner ON item (owner) WHERE owner IS NOT NULL;
  CREATE INDEX item_state ON item (state, id);
  CREATE TABLE history (
    item INTEGER NOT NULL, seq INTEGER NOT NULL, epoch INTEGER NOT NULL, at INTEGER NOT NULL, path INTEGER NOT NULL, PRIMARY KEY (item, seq)
  ) WITHOUT ROWID;
  CREATE TABLE tally (state INTEGER PRIMARY KEY, count INTEGER NOT NULL);
  INSERT INTO tally VALUES (0, 0), (1, 0);
`

/** Items per second through claim and completion. */
export function rawLoop({ file, count, group = 1_000 }: RawOptions): number {
  const database = new DatabaseSync(file)
  database.exec(schema)
  fill(database, count)
  const ready = arrays(
    database,
    'SELECT id, epoch, seq, data FROM item WHERE state = 0 AND owner IS NULL ORDER BY rank, id LIMIT ?',
  )
  const among = 'id IN (SELECT value FROM json_each(?))'
  const claim = database.prepare(`UPDATE item SET owner = 7, epoch = epoch + 1, attempts = attempts + 1 WHERE ${among}`)
  const proofs = arrays(database, `SELECT id, epoch, seq FROM item WHERE +owner = 7 AND ${among}`)
  const complete = database.prepare(
    `UPDATE item SET state = 1, owner = NULL, seq = seq + 1, attempts = 0, changed_at = ? WHERE ${among}`,
  )
  const record = database.prepare(
    `INSERT INTO history (item, seq, epoch, at, path) SELECT id, seq, epoch, ?, 1 FROM item WHERE ${among}`,
  )
  const tally = database.prepare('UPDATE tally SET count = count + ? WHERE state = ?')
  const begin = performance.now()
  let done = 0
  for (;;) {
    database.exec('BEGIN IMMEDIATE')
    const items = ready.all(group) as unknown as readonly (readonly number[])[]
    claim.run(JSON.stringify(items.map(([id]) => id)))
    database.exec('COMMIT')
    if (items.length === 0) break
    const held = new Map(items.map(([id = 0, epoch = 0, seq = 0]) => [id, { epoch: epoch + 1, seq }]))
    database.exec('BEGIN IMMEDIATE')
    const now = Date.now()
    const found = proofs.all(JSON.stringify([...held.keys()])) as unknown as readonly (readonly number[])[]
    const proven = found.filter(([id = 0, epoch, seq]) => held.get(id)?.epoch === epoch && held.get(id)?.seq === seq)
    const ids = JSON.stringify(proven.map(([id]) => id))
    complete.run(now, ids)
    record.run(now, ids)
    tally.run(-proven.length, 0)
    tally.run(proven.length, 1)
    database.exec('COMMIT')
    done += proven.length
  }
  const perSecond = (done * 1_000) / (performance.now() - begin)
  database.close()
  return perSecond
}

function arrays(database: DatabaseSync, sql: string): StatementSync {
  const statement = database.prepare(sql)
  statement.setReturnArrays(true)
  return statement
}

function fill(database: DatabaseSync, count: number): void {
  const insert = database.prepare(
    'INSERT INTO item (id, state, rank, epoch, seq, attempts, changed_at, data) VALUES (?, 0, ?, 0, 0, 0, ?, ?)',
  )
  for (let from = 0; from < count; from += 10_000) {
    database.exec('BEGIN IMMEDIATE')
    const now = Date.now()
    for (let id = from + 1; id <= Math.min(from + 10_000, count); id += 1) insert.run(id, now, now, `{"n":${id}}`)
    database.prepare('UPDATE tally SET count = count + ? WHERE state = 0').run(Math.min(10_000, count - from))
    database.exec('COMMIT')
  }
}
