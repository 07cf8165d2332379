import { keyPool } from '../../pool.ts'
import type { Ledger } from './ledger.ts'
import { type EntityRow, sharesOf } from './row.ts'

/** Gone as if it had never been, with history and shares. What its lane counted is the caller's affair. */
export function removeRow(ledger: Ledger, row: EntityRow): void {
  const { pools } = ledger
  const { own = [], lease = [] } = sharesOf(row)
  for (const pool of [...own, ...lease]) if (pools.give(pool, row.id)) ledger.hint('work')
  // A purged root's key stays taken, so that the same submission is never run twice.
  const isRoot = ledger.lanes.byId(row.lane).lane.parent === null
  if (row.key !== null && !isRoot) pools.give(keyPool(row.key), row.id)
  ledger.remove(row)
}
