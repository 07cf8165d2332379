import type { Ledger } from './ledger.ts'
import { type EntityRow, sharesOf, textOfShares } from './row.ts'

/** Gives back what was taken for as long as the lease lasts. */
export function endUnits(ledger: Ledger, row: EntityRow): void {
  if (row.shares === null) return
  const shares = sharesOf(row)
  if (!shares.lease) return
  for (const pool of shares.lease) if (ledger.pools.give(pool, row.id)) ledger.hint('work')
  row.shares = textOfShares({ own: shares.own ?? [] })
}
