import type { Entity, EntityId } from '../../entity.ts'
import { SluiceError } from '../../errors.ts'
import { refusalOfPath } from '../../refusal.ts'
import type { ClaimRequest, ClaimResult, ClaimRun } from '../../store.ts'
import { suspectGroup } from '../../suspicion.ts'
import { idSet } from './id-set.ts'
import { liveWorker } from './leases.ts'
import type { Ledger } from './ledger.ts'
import type { Line } from './lines.ts'
import { edgeOf, place } from './placing.ts'
import { plans, rowOf, selectRowsWithoutData, sharesOf, textOfShares, waits } from './row.ts'
import { labelPool, type Pick, Selection, type Served } from './selection.ts'

/** Waits whose time has come that one claim puts into their lines. */
const ripenMax = 5_000

export interface ClaimAttempt extends ClaimResult {
  /** Nothing was found, but so many rows were put aside that more may stand behind them. */
  readonly again: boolean
}

export function checkClaim(request: ClaimRequest): void {
  for (const { hops, machine, state } of request.runs) {
    const from = hops[0]?.from ?? state
    const refusal = from === state ? refusalOfPath(hops, hops.at(-1)?.to ?? state) : `The path begins in ${from}.`
    if (refusal)
      throw new SluiceError('invalid', `A claim of ${machine} in ${state} is malformed: ${refusal}`, { machine, state })
  }
}

export function claim(ledger: Ledger, request: ClaimRequest): ClaimAttempt {
  return ledger.write((now) => claimNow(ledger, request, now))
}

function claimNow(ledger: Ledger, request: ClaimRequest, now: number): ClaimAttempt {
  const worker = liveWorker(ledger, request.worker, now)
  const ripe = ripen(ledger, now)
  const selection = new Selection(ledger, request, now)
  const { picks, suspects } = choose(ledger, request, selection)
  putAside(ledger, selection.asides)
  lease(ledger, request.worker, worker.name, picks, now)
  const entities: Entity[] = []
  for (const { row } of picks) entities.push(ledger.entity(row))
  return {
    entities,
    suspects,
    idle: selection.idle,
    again: entities.length === 0 && (selection.cut || ripe >= ripenMax),
  }
}

function choose(
  ledger: Ledger,
  request: ClaimRequest,
  selection: Selection,
): { picks: readonly Pick[]; suspects: boolean } {
  const [lead] = selection.suspects(1)
  if (!lead) return { picks: selection.ordinary(), suspects: false }
  if (holdsSuspect(ledger, request.worker)) return { picks: selection.ordinary(), suspects: true }
  // Only suspects of one run: whatever happens to the worker now, it happened to this group.
  const picks = selection.suspects(suspectGroup(lead.row.suspect), lead.served)
  const rest = selection.suspects(1, null, new Set(picks.map(({ row }) => row.id)))
  for (const { row } of picks) row.suspect = picks.length
  return { picks, suspects: rest.length > 0 }
}

function holdsSuspect(ledger: Ledger, worker: number): boolean {
  return (
    ledger.database.get('SELECT 1 FROM entity WHERE line = ? AND rank IS NOT NULL AND suspect > 0 LIMIT 1', -worker) !==
    undefined
  )
}

/** Whoever's time has come stands in line from now on. */
function ripen(ledger: Ledger, now: number): number {
  const { database, lanes } = ledger
  const rows = database.all(
    `${selectRowsWithoutData} WHERE plan = ${plans.run} AND at <= ? ORDER BY at LIMIT ${ripenMax}`,
    now,
  )
  for (const values of rows) {
    const row = rowOf(values)
    place(ledger, row, lanes.byId(row.lane), edgeOf(ledger, row), now)
    database.run('UPDATE entity SET line = ?, rank = ?, plan = NULL WHERE id = ?', row.line, row.rank, row.id)
  }
  return rows.length
}

function putAside(ledger: Ledger, asides: ReadonlyMap<EntityId, Line>): void {
  if (asides.size === 0) return
  for (const [line, rows] of Map.groupBy(asides, ([, line]) => line)) {
    const ids = JSON.stringify(rows.map(([id]) => id))
    ledger.database.run(
      'UPDATE OR ROLLBACK entity SET line = ? WHERE id IN (SELECT value FROM json_each(?))',
      ledger.lines.enter(line),
      ids,
    )
  }
}

/**
 * Gives the worker its leases: one statement per run, whatever their number. If it is refused the whole claim is undone, so that SQLite
 * need not note what it changes (`OR ROLLBACK`).
 */
function lease(ledger: Ledger, worker: number, name: string, picks: readonly Pick[], now: number): void {
  for (const [served, group] of Map.groupBy(picks, servedOf)) leaseRun(ledger, worker, name, served, group, now)
}

function servedOf({ served }: Pick): Served {
  return served
}

function leaseRun(
  ledger: Ledger,
  worker: number,
  name: string,
  served: Served,
  picks: readonly Pick[],
  now: number,
): void {
  const { database } = ledger
  const { run } = served
  const ids: EntityId[] = []
  for (const { row } of picks) ids.push(row.id)
  const suspect = picks[0]!.row.suspect
  if (run.hops.length === 0) {
    const { where, values } = idSet(ids, 3)
    database.run(
      `UPDATE OR ROLLBACK entity SET line = ?1, rank = 0, epoch = epoch + 1, attempts = attempts + 1, suspect = ?2 WHERE ${where}`,
      -worker,
      suspect,
      ...values,
    )
    for (const { row } of picks) {
      row.line = -worker
      row.epoch += 1
      row.attempts += 1
    }
  } else {
    hop(ledger, worker, name, run, picks, ids, suspect, now)
  }
  if (run.pool || run.poolPer) takeUnits(ledger, run, picks)
}

/** The hops that the claim itself takes are a move, with its history. Behind the gate nothing is gated any more. */
function hop(
  ledger: Ledger,
  worker: number,
  name: string,
  { hops }: ClaimRun,
  picks: readonly Pick[],
  ids: readonly EntityId[],
  suspect: number,
  now: number,
): void {
  const { database, dictionary, lanes, feed } = ledger
  const state = dictionary.word(hops.at(-1)!.to)
  const moved = idSet(ids, 5)
  database.run(
    `UPDATE OR ROLLBACK entity SET line = ?1, rank = 0, epoch = epoch + 1, attempts = attempts + 1, suspect = ?2, state = ?3, seq = seq + 1,
     changed_at = ?4, wait = CASE wait WHEN ${waits.gatedRun} THEN ${waits.run} ELSE wait END WHERE ${moved.where}`,
    -worker,
    suspect,
    state,
    now,
    ...moved.values,
  )
  const recorded = idSet(ids, 4)
  database.run(
    `INSERT OR ROLLBACK INTO history (entity, seq, epoch, generation, at, path, actor)
     SELECT id, seq, epoch, generation, ?1, ?2, ?3 FROM entity WHERE ${recorded.where}`,
    now,
    dictionary.path('claim', hops),
    JSON.stringify([name]),
    ...recorded.values,
  )
  for (const { row } of picks) {
    const before = ledger.figure(row)
    row.line = -worker
    row.epoch += 1
    row.attempts += 1
    row.state = state
    row.seq += 1
    row.changedAt = now
    if (row.wait === waits.gatedRun) row.wait = waits.run
    lanes.count(lanes.byId(row.lane), before, ledger.figure(row))
    feed.moved(row.id, row.seq)
  }
  feed.close(null, null, now)
}

/** One unit of each pool, for as long as the lease lasts. A share that the entity took for itself stays as it is. */
function takeUnits(ledger: Ledger, run: ClaimRun, picks: readonly Pick[]): void {
  const { database, pools } = ledger
  for (const { row } of picks) {
    const names: string[] = []
    for (const pool of [run.pool, labelPool(row, run)]) {
      if (!pool || pools.share(pool.name, row.id) !== null) continue
      pools.take(pool.name, row.id, 1, pool.ceiling)
      names.push(pool.name)
    }
    if (names.length === 0) continue
    row.shares = textOfShares({ ...sharesOf(row), lease: names })
    database.run('UPDATE entity SET shares = ? WHERE id = ?', row.shares, row.id)
  }
}
