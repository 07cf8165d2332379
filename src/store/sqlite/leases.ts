import type { EntityId } from '../../entity.ts'
import { SluiceError } from '../../errors.ts'
import type { Worker, WorkerIdentity } from '../../lease.ts'
import type { LeaseProof, Release, Renewal } from '../../store.ts'
import { afterDeath } from '../../suspicion.ts'
import { hintOfWait } from './births.ts'
import type { Row } from './database.ts'
import type { Ledger } from './ledger.ts'
import { edgeOf, place } from './placing.ts'
import {
  type EntityRow,
  moreOf,
  ownerOf,
  rowOf,
  selectRowsWithoutData,
  sharesOf,
  textOfMore,
  textOfShares,
} from './row.ts'

type WorkerRow = Omit<Worker, 'leases'>

const selectWorkers = 'SELECT id, identity, started_at, renewed_at, expires_at FROM worker'

/** The worker, if its lease stands. Once expired it is never revived: somebody may already have what it held. */
export function liveWorker(ledger: Ledger, id: number, now: number): WorkerRow {
  const row = ledger.database.get(`${selectWorkers} WHERE id = ? AND expires_at > ?`, id, now)
  if (row) return workerOf(row)
  throw new SluiceError('lease_lost', `The lease of worker ${id} has run out. Drop what it holds and register anew.`, {
    worker: id,
  })
}

export function renew(ledger: Ledger, { id, identity, leaseMs }: Renewal): Worker {
  return ledger.write((now) => {
    const { database } = ledger
    const known = id === null ? null : liveWorker(ledger, id, now)
    const { name, host, pid, program, roles, machines } = identity
    const worker: WorkerRow = {
      id: known?.id ?? database.take('worker', 1),
      ...{ name, host, pid, program, roles, machines },
      startedAt: known?.startedAt ?? now,
      renewedAt: now,
      expiresAt: now + leaseMs,
    }
    database.run(
      'INSERT OR REPLACE INTO worker (id, identity, started_at, renewed_at, expires_at) VALUES (?, ?, ?, ?, ?)',
      worker.id,
      JSON.stringify({ name, host, pid, program, roles, machines }),
      worker.startedAt,
      now,
      worker.expiresAt,
    )
    ledger.noteTime(now)
    return withLeases(ledger, worker)
  })
}

export function workers(ledger: Ledger): readonly Worker[] {
  return ledger.read((now) => {
    const rows = ledger.database.all(`${selectWorkers} WHERE expires_at > ? ORDER BY id`, now)
    return rows.map((row) => withLeases(ledger, workerOf(row)))
  })
}

/** Ends leases without a move. The attempt is given back, unless it is what went wrong. */
export function release(ledger: Ledger, order: Release): readonly EntityId[] {
  return ledger.write((now) => {
    switch (order.kind) {
      case 'give_back': {
        const rows = provenLeases(ledger, order.leases).filter((row) => ownerOf(row) === order.worker)
        return rows.map((row) => giveBack(ledger, row, now))
      }
      case 'all_but': {
        const keep = new Set(order.keep)
        const rows = held(ledger, order.worker).filter((row) => !keep.has(row.id))
        return rows.map((row) => giveBack(ledger, row, now))
      }
      case 'timed_out':
        return provenLeases(ledger, order.leases).map((row) => {
          row.more = textOfMore({ ...moreOf(row), error: order.error, timedOut: true })
          return endLease(ledger, row, now)
        })
      case 'retire': {
        const ids = held(ledger, order.worker).map((row) => giveBack(ledger, row, now))
        ledger.database.run('DELETE FROM worker WHERE id = ?', order.worker)
        return ids
      }
      case 'dead': {
        const dead = ledger.database.all('SELECT id FROM worker WHERE expires_at <= ?', now)
        return dead.flatMap(([id]) => bury(ledger, id as number, now))
      }
      default:
        return order satisfies never
    }
  })
}

function bury(ledger: Ledger, worker: number, now: number): readonly EntityId[] {
  const rows = held(ledger, worker)
  ledger.database.run('DELETE FROM worker WHERE id = ?', worker)
  return rows.map((row) => {
    const { suspect, attempts } = afterDeath(row, rows.length)
    row.suspect = suspect
    row.attempts = attempts
    return endLease(ledger, row, now)
  })
}

function held(ledger: Ledger, worker: number): readonly EntityRow[] {
  return ledger.database
    .all(`${selectRowsWithoutData} WHERE line = ? AND rank IS NOT NULL ORDER BY id`, -worker)
    .map(rowOf)
}

function provenLeases(ledger: Ledger, leases: readonly LeaseProof[]): readonly EntityRow[] {
  return leases.flatMap(({ id, epoch }) => {
    const values = ledger.database.get(`${selectRowsWithoutData} WHERE id = ? AND epoch = ? AND line < 0`, id, epoch)
    return values ? [rowOf(values)] : []
  })
}

function giveBack(ledger: Ledger, row: EntityRow, now: number): EntityId {
  row.attempts = Math.max(0, row.attempts - 1)
  return endLease(ledger, row, now)
}

/** What waited to run before its lease waits again, since when it did. */
function endLease(ledger: Ledger, row: EntityRow, now: number): EntityId {
  row.epoch += 1
  endUnits(ledger, row)
  place(ledger, row, ledger.lanes.byId(row.lane), edgeOf(ledger, row), now)
  ledger.database.run(
    'UPDATE entity SET line = ?, rank = ?, plan = ?, epoch = ?, attempts = ?, suspect = ?, more = ?, shares = ? WHERE id = ?',
    row.line,
    row.rank,
    row.plan,
    row.epoch,
    row.attempts,
    row.suspect,
    row.more,
    row.shares,
    row.id,
  )
  ledger.hint('ended')
  hintOfWait(ledger, row)
  return row.id
}

/** Gives back what was taken for as long as the lease lasts. */
export function endUnits(ledger: Ledger, row: EntityRow): void {
  if (row.shares === null) return
  const shares = sharesOf(row)
  if (!shares.lease) return
  for (const pool of shares.lease) if (ledger.pools.give(pool, row.id)) ledger.hint('work')
  row.shares = textOfShares({ own: shares.own ?? [] })
}

function workerOf([id, identity, startedAt, renewedAt, expiresAt]: Row): WorkerRow {
  return {
    id: id as number,
    ...(JSON.parse(identity as string) as WorkerIdentity),
    startedAt: startedAt as number,
    renewedAt: renewedAt as number,
    expiresAt: expiresAt as number,
  }
}

function withLeases(ledger: Ledger, worker: WorkerRow): Worker {
  const leases = ledger.database.number('SELECT count(*) FROM entity WHERE line = ? AND rank IS NOT NULL', -worker.id)
  return { ...worker, leases: leases ?? 0 }
}
