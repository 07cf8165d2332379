import { keyPool } from '../../pool.ts'
import type { Ledger } from './ledger.ts'
import { type EntityRow, sharesOf } from './row.ts'

/** Gone as if they had never been, with history and shares. What their lanes counted is the caller's affair. */
export function removeRows(ledger: Ledger, rows: readonly EntityRow[]): void {
  if (rows.length === 0) return
  const { database, pools } = ledger
  for (const row of rows) {
    const { own = [], lease = [] } = sharesOf(row)
    for (const pool of [...own, ...lease]) if (pools.give(pool, row.id)) ledger.hint('work')
    // A purged root's key stays taken, so that the same submission is never run twice.
    const isRoot = ledger.lanes.byId(row.lane).lane.parent === null
    if (row.key !== null && !isRoot) pools.give(keyPool(row.key), row.id)
  }
  const ids = JSON.stringify(rows.map((row) => row.id))
  database.run('DELETE FROM history WHERE entity IN (SELECT value FROM json_each(?))', ids)
  database.run('DELETE FROM entity WHERE id IN (SELECT value FROM json_each(?))', ids)
}
