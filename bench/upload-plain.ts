/**
 * The limit that an upload is measured by: read the file, parse each element, insert it into SQLite with the keys that a search needs, in
 * durable groups (WAL, FULL). No digests, no check before, no states, no history, no duplicates merged, no resuming.
 */
import { closeSync, openSync, readSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

const windowBytes = 1 << 20
const group = 1_000

interface Item {
  readonly id: number
  readonly type: string
  readonly by?: string
  readonly time?: number
  readonly score?: number
  readonly parent?: number
  readonly poll?: number
}

/** Items per second. The elements of the file stand on lines of their own, as samples are written. */
export function plainInsert(path: string, file: string): number {
  const database = new DatabaseSync(file)
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA cache_size = -16384;
    PRAGMA wal_autocheckpoint = 4096;
    CREATE TABLE item (
      id INTEGER PRIMARY KEY, type TEXT NOT NULL, author TEXT, time INTEGER, score INTEGER, parent INTEGER, offset INTEGER NOT NULL, length INTEGER NOT NULL
    );
    CREATE INDEX item_time ON item (type, time);
    CREATE INDEX item_score ON item (type, score);
    CREATE INDEX item_author ON item (author, time);
    CREATE INDEX item_parent ON item (parent);
  `)
  const insert = database.prepare('INSERT OR REPLACE INTO item VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
  const begin = performance.now()
  let items = 0
  database.exec('BEGIN IMMEDIATE')
  for (const { text, offset } of lines(path)) {
    const element = text.endsWith(',') ? text.slice(0, -1) : text
    if (element === '[' || element === ']' || element === '') continue
    const { id, type, by, time, score, parent, poll } = JSON.parse(element) as Item
    insert.run(id, type, by ?? null, time ?? null, score ?? null, parent ?? poll ?? null, offset, element.length)
    items += 1
    if (items % group === 0) database.exec('COMMIT; BEGIN IMMEDIATE')
  }
  database.exec('COMMIT')
  const perSecond = (items * 1_000) / (performance.now() - begin)
  database.close()
  return perSecond
}

function* lines(path: string): Generator<{ readonly text: string; readonly offset: number }> {
  const descriptor = openSync(path, 'r')
  try {
    const window = Buffer.allocUnsafe(windowBytes)
    let kept = 0
    let start = 0
    for (;;) {
      const read = readSync(descriptor, window, kept, windowBytes - kept, null)
      const filled = kept + read
      let from = 0
      for (let end = window.indexOf(10, from); end >= 0 && end < filled; end = window.indexOf(10, from)) {
        yield { text: window.toString('utf8', from, end), offset: start + from }
        from = end + 1
      }
      if (read === 0) {
        if (from < filled) yield { text: window.toString('utf8', from, filled), offset: start + from }
        return
      }
      window.copyWithin(0, from, filled)
      kept = filled - from
      start += from
    }
  } finally {
    closeSync(descriptor)
  }
}
