import type { EntityId } from '../../entity.ts'
import type { LeaseProof, Release, Signal } from '../../store.ts'
import { afterDeath } from '../../suspicion.ts'
import { hintOfWait } from './births.ts'
import { heldIds, ownerOfHeld } from './claimed.ts'
import type { Session } from './database.ts'
import type { Desk } from './desk.ts'
import { decided, Ledger } from './ledger.ts'
import { edgeOf, place } from './placing.ts'
import { type EntityRow, moreOf, rowColumnsWithoutData, rowOf, sharesOf, textOfMore } from './row.ts'
import { byId, Stock } from './stock.ts'
import { endUnits } from './units.ts'

/** A lease that ends, and what becomes of the entity by it. */
interface Ending {
  readonly id: EntityId
  change(row: EntityRow): void
}

/** Ends leases without a move. The attempt is given back, unless it is what went wrong. */
export async function release(desk: Desk, order: Release): Promise<readonly EntityId[]> {
  type Released = { readonly ids: readonly EntityId[]; readonly hints: Signal | null }
  const { ids, hints } = await desk.write(async (session, facts): Promise<Released> => {
    const stock = new Stock(session, desk.dictionary)
    const endings = await endingsOf(session, stock, order, facts.now)
    if (endings.length === 0) return { ids: [], hints: null }
    await read(stock, endings)
    const { ledger } = await decided(
      stock,
      () => new Ledger(desk, facts, stock, { entities: [], stagings: [] }),
      (ledger) => {
        for (const ending of endings) endLease(ledger, ending)
      },
    )
    ledger.flush(session)
    if (order.kind === 'all_but') session.send(tidy, [order.worker])
    return { ids: endings.map(({ id }) => id), hints: ledger.hints() }
  })
  if (hints) desk.tell(hints)
  desk.leases.released(ids)
  return ids
}

/** Claims of which nothing is left: also one whose answer was lost. */
const tidy = `DELETE FROM claimed WHERE worker = $1 AND NOT EXISTS (
  SELECT FROM ${heldIds} held WHERE ${ownerOfHeld} = $1)`

async function endingsOf(session: Session, stock: Stock, order: Release, now: number): Promise<readonly Ending[]> {
  switch (order.kind) {
    case 'give_back': {
      const rows = await proven(session, stock, order.leases)
      return rows.filter(({ owner }) => owner === order.worker).map(({ id }) => ({ id, change: giveBack }))
    }
    case 'all_but': {
      const keep = new Set(order.keep)
      const rows = await held(session, stock, [order.worker])
      return rows.filter(({ id }) => !keep.has(id)).map(({ id }) => ({ id, change: giveBack }))
    }
    case 'timed_out': {
      const rows = await proven(session, stock, order.leases)
      return rows.map(({ id }) => ({
        id,
        change: (row) => {
          row.more = textOfMore({ ...moreOf(row), error: order.error, timedOut: true })
        },
      }))
    }
    case 'retire': {
      // Locked first: no claim of this worker comes between.
      await session.all('DELETE FROM worker WHERE id = $1', [order.worker])
      const rows = await held(session, stock, [order.worker])
      session.send('DELETE FROM claimed WHERE worker = $1', [order.worker])
      return rows.map(({ id }) => ({ id, change: giveBack }))
    }
    case 'dead': {
      const gone = await session.all('DELETE FROM worker WHERE expires_at <= $1 RETURNING id', [now])
      const workers = gone.map(([id]) => id as number)
      if (workers.length === 0) return []
      const rows = await held(session, stock, workers)
      session.send('DELETE FROM claimed WHERE worker = ANY($1::int4[])', [workers])
      const counts = new Map<number, number>()
      for (const { owner } of rows) counts.set(owner!, (counts.get(owner!) ?? 0) + 1)
      return rows.map(({ id, owner }) => ({
        id,
        change: (row) => {
          const { suspect, attempts } = afterDeath(row, counts.get(owner!)!)
          row.suspect = suspect
          row.attempts = attempts
        },
      }))
    }
    default:
      return order satisfies never
  }
}

async function held(session: Session, stock: Stock, workers: readonly number[]): Promise<readonly EntityRow[]> {
  const found = await session.all(
    `SELECT ${rowColumnsWithoutData} FROM entity_hot WHERE owner = ANY($1::int4[])
     AND id = ANY(ARRAY(SELECT held.id FROM claimed CROSS JOIN LATERAL ${heldIds} held WHERE worker = ANY($1::int4[]))) ${byId}`,
    [workers],
  )
  return kept(stock, found.map(rowOf))
}

async function proven(session: Session, stock: Stock, leases: readonly LeaseProof[]): Promise<readonly EntityRow[]> {
  const epochs = new Map(leases.map(({ id, epoch }) => [id, epoch]))
  const found = await session.all(
    `SELECT ${rowColumnsWithoutData} FROM entity_hot WHERE owner IS NOT NULL AND id = ANY($1::int8[]) ORDER BY id FOR UPDATE`,
    [[...epochs.keys()]],
  )
  const rows = new Map(kept(stock, found.map(rowOf)).map((row) => [row.id, row]))
  return [...epochs].flatMap(([id, epoch]) => {
    const row = rows.get(id)
    return row && row.epoch === epoch ? [row] : []
  })
}

function kept(stock: Stock, rows: readonly EntityRow[]): readonly EntityRow[] {
  for (const row of rows) stock.rows.set(row.id, row)
  return rows
}

async function read(stock: Stock, endings: readonly Ending[]): Promise<void> {
  const rows = endings.flatMap(({ id }) => stock.rows.get(id) ?? [])
  const shares = rows.flatMap((row) => (sharesOf(row).lease ?? []).map((pool) => ({ pool, entity: row.id })))
  if (shares.length > 0)
    await Promise.all([stock.loadPools([...new Set(shares.map(({ pool }) => pool))]), stock.loadShares(shares)])
  await stock.loadLanes({ ids: [...new Set(rows.map(({ lane }) => lane))] })
}

function giveBack(row: EntityRow): void {
  row.attempts = Math.max(0, row.attempts - 1)
}

/** What waited to run before its lease waits again, since when it did. */
function endLease(ledger: Ledger, { id, change }: Ending): void {
  const row = ledger.row(id)!
  change(row)
  row.epoch += 1
  endUnits(ledger, row)
  place(ledger, row, ledger.lanes.byId(row.lane), edgeOf(ledger, row))
  ledger.writing.change(row, null)
  ledger.hint('ended')
  hintOfWait(ledger, row)
}
