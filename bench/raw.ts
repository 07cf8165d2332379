/**
 * What SQLite itself gives: a loop with hand-written SQL that claims, completes, fences, tallies and writes history, in
 * groups, every group durable (WAL, FULL). It keeps and hands out the same facts of each item as an entity has, with the
 * indexes that leases and lists need. No port, no verdicts, no operations: the limit that the store is measured by.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite'

export interface RawOptions {
  readonly file: string
  readonly count: number
  /** Items in one claim and in one completion. */
  readonly group?: number
  /**
   * each: a claim by UPDATE … RETURNING, then a fenced UPDATE and an INSERT for each item, as one writes such a loop by
   * hand. set: all items of a group by one statement of each kind, which is the least that can be done.
   */
  readonly style?: 'each' | 'set'
}

const schema = `
  PRAGMA page_size = 8192;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA cache_size = -32768;
  PRAGMA wal_autocheckpoint = 4000;
  CREATE TABLE item (
    id INTEGER PRIMARY KEY, machine INTEGER NOT NULL, state INTEGER NOT NULL, born INTEGER NOT NULL, rank INTEGER NOT NULL, owner INTEGER,
    epoch INTEGER NOT NULL, seq INTEGER NOT NULL, generation INTEGER NOT NULL, settled INTEGER NOT NULL, attempts INTEGER NOT NULL,
    suspect INTEGER NOT NULL, lane INTEGER NOT NULL, source INTEGER, ordinal INTEGER, label0 TEXT, label1 TEXT, label2 TEXT, label3 TEXT,
    priority INTEGER NOT NULL, wait INTEGER NOT NULL, at INTEGER, request TEXT, checkpoint TEXT, progress TEXT, reason TEXT, sums TEXT,
    error TEXT, key TEXT, created_at INTEGER NOT NULL, created_by TEXT, changed_at INTEGER NOT NULL, data TEXT NOT NULL
  );
  CREATE INDEX item_ready ON item (rank, id) WHERE state = 0 AND owner IS NULL;
  CREATE INDEX item_owner ON item (owner) WHERE owner IS NOT NULL;
  CREATE INDEX item_state ON item (lane, state, id);
  CREATE TABLE history (
    item INTEGER NOT NULL, seq INTEGER NOT NULL, epoch INTEGER NOT NULL, at INTEGER NOT NULL, path INTEGER NOT NULL, PRIMARY KEY (item, seq)
  ) WITHOUT ROWID;
  CREATE TABLE tally (state INTEGER PRIMARY KEY, count INTEGER NOT NULL);
  INSERT INTO tally VALUES (0, 0), (1, 0);
`
const ready = 'FROM item INDEXED BY item_ready WHERE state = 0 AND owner IS NULL ORDER BY rank, id LIMIT ?'
/** What a worker is handed of an item. */
const facts =
  'machine, state, born, generation, settled, attempts, suspect, lane, source, ordinal, label0, label1, label2, label3, priority, ' +
  'wait, at, request, checkpoint, progress, reason, sums, error, key, created_at, created_by, changed_at, data'
const among = 'id IN (SELECT value FROM json_each(?))'
const worker = 7

interface Item {
  readonly id: number
  readonly epoch: number
  readonly seq: number
}

/** Claims a group, and completes one: how many were saved. Each runs inside a transaction of its own. */
interface Loop {
  claim(group: number): readonly Item[]
  complete(items: readonly Item[], now: number): number
}

/** Items per second through claim and completion. */
export function rawLoop({ file, count, group = 1_000, style = 'each' }: RawOptions): number {
  const database = new DatabaseSync(file)
  database.exec(schema)
  fill(database, count)
  const loop = style === 'each' ? eachLoop(database) : setLoop(database)
  const tally = database.prepare('UPDATE tally SET count = count + ? WHERE state = ?')
  const begin = performance.now()
  let done = 0
  for (;;) {
    database.exec('BEGIN IMMEDIATE')
    const items = loop.claim(group)
    database.exec('COMMIT')
    if (items.length === 0) break
    database.exec('BEGIN IMMEDIATE')
    const saved = loop.complete(items, Date.now())
    tally.run(-saved, 0)
    tally.run(saved, 1)
    database.exec('COMMIT')
    done += saved
  }
  const perSecond = (done * 1_000) / (performance.now() - begin)
  database.close()
  return perSecond
}

function eachLoop(database: DatabaseSync): Loop {
  const claim = arrays(
    database,
    `UPDATE item SET owner = ${worker}, epoch = epoch + 1, attempts = attempts + 1
     WHERE id IN (SELECT id ${ready}) RETURNING id, epoch, seq, ${facts}`,
  )
  const complete = database.prepare(
    `UPDATE item SET state = 1, settled = 1, wait = 0, owner = NULL, seq = seq + 1, attempts = 0, changed_at = ?
     WHERE id = ? AND epoch = ? AND seq = ? AND +owner = ${worker}`,
  )
  const record = database.prepare('INSERT INTO history (item, seq, epoch, at, path) VALUES (?, ?, ?, ?, 1)')
  return {
    claim: (group) => itemsOf(claim.all(group)),
    complete(items, now) {
      let saved = 0
      for (const { id, epoch, seq } of items) {
        if (complete.run(now, id, epoch, seq).changes !== 1) continue
        record.run(id, seq + 1, epoch, now)
        saved += 1
      }
      return saved
    },
  }
}

function setLoop(database: DatabaseSync): Loop {
  const next = arrays(database, `SELECT id, epoch + 1, seq, ${facts} ${ready}`)
  const claim = database.prepare(
    `UPDATE item SET owner = ${worker}, epoch = epoch + 1, attempts = attempts + 1 WHERE ${among}`,
  )
  const proofs = arrays(database, `SELECT id, epoch, seq FROM item WHERE +owner = ${worker} AND ${among}`)
  const complete = database.prepare(
    `UPDATE item SET state = 1, settled = 1, wait = 0, owner = NULL, seq = seq + 1, attempts = 0, changed_at = ? WHERE ${among}`,
  )
  const record = database.prepare(
    `INSERT INTO history (item, seq, epoch, at, path) SELECT id, seq, epoch, ?, 1 FROM item WHERE ${among}`,
  )
  return {
    claim(group) {
      const items = itemsOf(next.all(group))
      claim.run(idsOf(items))
      return items
    },
    complete(items, now) {
      const held = new Map(items.map((item) => [item.id, item]))
      const proven = itemsOf(proofs.all(idsOf(items))).filter(({ id, epoch, seq }) => {
        const item = held.get(id)
        return item?.epoch === epoch && item.seq === seq
      })
      complete.run(now, idsOf(proven))
      record.run(now, idsOf(proven))
      return proven.length
    },
  }
}

function arrays(database: DatabaseSync, sql: string): StatementSync {
  const statement = database.prepare(sql)
  statement.setReturnArrays(true)
  return statement
}

function itemsOf(rows: unknown): readonly Item[] {
  return (rows as readonly (readonly number[])[]).map(([id = 0, epoch = 0, seq = 0]) => ({ id, epoch, seq }))
}

function idsOf(items: readonly Item[]): string {
  return JSON.stringify(items.map(({ id }) => id))
}

function fill(database: DatabaseSync, count: number): void {
  const insert = database.prepare(
    `INSERT INTO item (id, machine, state, born, rank, epoch, seq, generation, settled, attempts, suspect, lane, priority, wait, at, created_at, changed_at, data)
     VALUES (?1, 1, 0, 0, ?2, 0, 0, 0, 0, 0, 0, 1, 5, 1, ?2, ?2, ?2, ?3)`,
  )
  const tally = database.prepare('UPDATE tally SET count = count + ? WHERE state = 0')
  for (let from = 0; from < count; from += 10_000) {
    const size = Math.min(10_000, count - from)
    database.exec('BEGIN IMMEDIATE')
    const now = Date.now()
    for (let id = from + 1; id <= from + size; id += 1) insert.run(id, now, `{"n":${id}}`)
    tally.run(size)
    database.exec('COMMIT')
  }
}
