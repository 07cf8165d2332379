import type { Entity, EntityId } from '../../entity.ts'
import { SluiceError } from '../../errors.ts'
import { refusalOfPath } from '../../refusal.ts'
import type { ClaimRequest, ClaimResult, Signal } from '../../store.ts'
import { suspectGroup } from '../../suspicion.ts'
import { type Reading, readAhead } from './candidates.ts'
import { heldIds, ownerOfHeld } from './claimed.ts'
import type { Row, Session } from './database.ts'
import type { Desk } from './desk.ts'
import { isMissing } from './fault.ts'
import { letsThrough } from './lane-row.ts'
import { idsOf, writeLeases } from './leasing.ts'
import { decided, Ledger } from './ledger.ts'
import type { Line } from './line.ts'
import { note } from './operation.ts'
import { edgeOf, place } from './placing.ts'
import { entityOf, plans, rowColumnsWithoutData, rowOf, sharesOf, textOfShares, waits } from './row.ts'
import { claimSealed, plainLines, type SealedClaim } from './sealed-claim.ts'
import { type Aside, labelPool, type Pick, Selection } from './selection.ts'
import { keyOf, linesOf, type Served, servedOf } from './served.ts'
import { Stock } from './stock.ts'

/** Waits whose time has come that are put into their lines at once. */
const ripenMax = 1_000
/** The newest of them may well be running. */
const youngMax = 8
/** More are not worth a guess. */
const lanesGuessedMax = 8
const linesGuessedMax = 2
/** When the next wait is over, and who asks. */
const ofWorker = `json_build_array((SELECT at FROM entity_hot WHERE plan = ${plans.run} ORDER BY at LIMIT 1),
  (SELECT identity FROM worker WHERE id = $1), (SELECT expires_at FROM worker WHERE id = $1))`
const noIds = { entities: [], stagings: [] } as const

export function checkClaim(request: ClaimRequest): void {
  for (const { hops, machine, state } of request.runs) {
    const from = hops[0]?.from ?? state
    const refusal = from === state ? refusalOfPath(hops, hops.at(-1)?.to ?? state) : `The path begins in ${from}.`
    if (refusal)
      throw new SluiceError('invalid', `A claim of ${machine} in ${state} is malformed: ${refusal}`, { machine, state })
  }
}

export async function claim(desk: Desk, request: ClaimRequest): Promise<ClaimResult> {
  checkClaim(request)
  const given = desk.handover.take(request)
  if (given) {
    await tidy(desk, request.worker)
    return given
  }
  for (;;) {
    const over = desk.leases.over(request.worker)
    const attempt = await attemptOf(desk, request, over)
    if (attempt.isRipe) {
      await ripen(desk)
      continue
    }
    attempt.saved()
    if (attempt.isTidied) desk.leases.removed(request.worker, over)
    if (attempt.claimed) desk.leases.begun(request.worker, attempt.number, attempt.claimed, attempt.rootLane)
    if (attempt.hints) desk.tell(attempt.hints)
    if (attempt.empty.length > 0) await rest(desk, attempt.empty)
    if (attempt.claimed) await tidy(desk, request.worker)
    if (!attempt.again) return attempt.result
  }
}

interface Attempt {
  readonly result: ClaimResult
  readonly claimed: readonly EntityId[] | null
  readonly rootLane: number | null
  readonly number: number
  /** What is over stands in the table no more. */
  readonly isTidied: boolean
  readonly hints: Signal | null
  readonly empty: readonly Line[]
  readonly saved: () => void
  /** Nothing was found, but so many rows were put aside that more may stand behind them. */
  readonly again: boolean
  /** Somebody's time has come: they are put into their lines first. */
  readonly isRipe: boolean
}

const none: readonly never[] = []
const noAttempt: Attempt = {
  ...{ result: { entities: [], suspects: false }, claimed: null, rootLane: null, number: 0, isTidied: false },
  ...{ hints: null, empty: [], again: false, isRipe: false, saved() {} },
}

async function attemptOf(desk: Desk, request: ClaimRequest, over: readonly number[]): Promise<Attempt> {
  try {
    const sealed = await claimSealed(desk, request, over)
    if (sealed) {
      const { worker, runs, awaits } = request
      if (awaits && sealed.isExhausted) desk.handover.waits({ worker, runs, plan: sealed.plan })
      return attemptOfSealed(sealed, request)
    }
    return await desk.learning(() => desk.database.write((session) => claimOnce(desk, session, request, over)))
  } catch (error) {
    // Nobody knows what became of those it would have taken.
    desk.floors.forgetAll()
    throw error
  }
}

function attemptOfSealed({ entities, number, rootLane, isExhausted }: SealedClaim, { runs }: ClaimRequest): Attempt {
  const hasFound = entities.length > 0
  return {
    ...noAttempt,
    ...{ number, rootLane, isTidied: hasFound },
    result: { entities, suspects: false, idle: isExhausted ? runs : none },
    claimed: hasFound ? entities.map(({ id }) => id) : null,
  }
}

async function claimOnce(
  desk: Desk,
  session: Session,
  request: ClaimRequest,
  over: readonly number[],
): Promise<Attempt> {
  const served = servedOf(desk.dictionary, request.runs)
  const [{ facts, answer }, lines, ahead] = await Promise.all([
    desk.factsAnd(session, { sql: ofWorker, values: [request.worker] }),
    linesOf(session, served),
    guess(desk, session, request, served),
  ])
  const [planned, identity, expiresAt] = answer as [number | null, string | null, number | null]
  if (identity === null || expiresAt! <= facts.now) throw leaseLost(request.worker)
  const isRipe = planned !== null && planned <= facts.now
  if (isRipe) {
    session.undo()
    return { ...noAttempt, again: true, isRipe }
  }
  const stock = new Stock(session, desk.dictionary)
  const selection = new Selection(desk, session, facts, stock, request, served, lines, ahead)
  const { picks: chosen, suspects } = await choose(session, request, selection)
  const isPlain = selection.asides.length === 0 && !suspects && !chosen.some(({ row }) => row.suspect > 0)
  desk.habit.learn(keyOf(served), isPlain ? plainLines(facts, lines, chosen, desk.rootLanes) : null)
  if (chosen.length === 0 && selection.asides.length === 0) {
    session.undo()
    return {
      ...noAttempt,
      result: { entities: [], suspects, idle: selection.isExhausted ? request.runs : none },
      empty: selection.empty,
      again: selection.cut,
    }
  }
  desk.lanesLately = lanesOf(chosen)
  const { name } = JSON.parse(identity) as { readonly name: string }
  const { ledger, result } = await decided(
    stock,
    () => new Ledger(desk, facts, stock, noIds),
    (ledger) => {
      for (const aside of selection.asides) putAside(ledger, aside)
      return leaseAll(ledger, chosen)
    },
  )
  const { units, picks } = result
  const data = writeLeases(desk, session, request.worker, over, picks, facts, name)
  if (units.size > 0) {
    session.send(
      'UPDATE entity_hot SET shares = u.shares FROM unnest($1::int8[], $2::text[]) AS u (id, shares) WHERE entity_hot.id = u.id',
      [[...units.keys()], [...units.values()]],
    )
  }
  ledger.flush(session)
  if (!ledger.changes.isEmpty) note(session, ledger.changes.text(), facts.now)
  // Made before the end is sent: a name that is not known yet must undo the claim.
  const leased = entitiesOf(desk, selection, picks)
  void session.commit()
  const { number, rows } = await data.catch((error: unknown) => {
    throw isMissing(error) ? leaseLost(request.worker) : error
  })
  const entities = rows.length === 0 ? leased : withData(leased, rows)
  return {
    result: { entities, suspects, idle: selection.isExhausted ? request.runs : none },
    ...{ number, isTidied: true, isRipe: false },
    ...{ hints: ledger.hints(), empty: selection.empty },
    claimed: picks.length > 0 ? idsOf(picks) : null,
    rootLane: rootLaneOf(selection, picks),
    saved: () => (picks.length < chosen.length ? desk.floors.forgetAll() : selection.raiseFloors()),
    again: entities.length === 0 && selection.cut,
  }
}

function rootLaneOf(selection: Selection, picks: readonly Pick[]): number | null {
  const [first] = picks
  if (!first || selection.laneOf(first.row).parent !== null) return null
  return picks.every(({ row }) => row.lane === first.row.lane) ? first.row.lane : null
}

function lanesOf(picks: readonly Pick[]): readonly number[] {
  const lanes = new Set<number>()
  for (const { row } of picks) if (lanes.size < lanesGuessedMax) lanes.add(row.lane)
  return [...lanes]
}

/** Of those that were chosen, whom it may take; and what they then have of pools. */
function leaseAll(
  ledger: Ledger,
  chosen: readonly Pick[],
): { readonly units: ReadonlyMap<EntityId, string | null>; readonly picks: readonly Pick[] } {
  const units = new Map<EntityId, string | null>()
  const picks: Pick[] = []
  for (const pick of chosen) if (lease(ledger, pick, units)) picks.push(pick)
  return { units, picks }
}

function entitiesOf({ dictionary }: Desk, selection: Selection, picks: readonly Pick[]): readonly Entity[] {
  const entities: Entity[] = []
  for (const { row } of picks) entities.push(entityOf(row, selection.laneOf(row), dictionary))
  return entities
}

/** Long data comes by itself. */
function withData(entities: readonly Entity[], rows: readonly Row[]): readonly Entity[] {
  const texts = new Map(rows.map(([id, text]) => [id as number, text as string]))
  return entities.map((entity): Entity => {
    const text = texts.get(entity.id)
    return text === undefined ? entity : { ...entity, data: text }
  })
}

export function leaseLost(id: number): SluiceError {
  return new SluiceError('lease_lost', `The lease of worker ${id} has run out. Drop what it holds and register anew.`, {
    worker: id,
  })
}

/** Most claims find what the last one found: its lines are read before it is known which there are. One way to the server less. */
function guess(
  { linesLately, floors, clock, limits }: Desk,
  session: Session,
  { limit }: ClaimRequest,
  served: readonly Served[],
): Promise<Reading> | null {
  const { lines } = linesLately
  if (lines.length === 0 || lines.length > linesGuessedMax || linesLately.served !== keyOf(served)) return null
  return readAhead(session, floors, clock.now(), lines, Math.min(limit, limits.claimMax))
}

async function choose(
  session: Session,
  request: ClaimRequest,
  selection: Selection,
): Promise<{ readonly picks: readonly Pick[]; readonly suspects: boolean }> {
  if (!selection.hasSuspectLines) return { picks: await selection.ordinary(), suspects: false }
  const [lead] = await selection.suspects(1)
  if (!lead) return { picks: await selection.ordinary(), suspects: false }
  if (await holdsSuspect(session, request.worker)) return { picks: await selection.ordinary(), suspects: true }
  // Only suspects of one run: whatever happens to the worker now, it happened to this group.
  const picks = await selection.suspects(suspectGroup(lead.row.suspect), lead.served)
  const rest = await selection.suspects(1, null, new Set(picks.map(({ row }) => row.id)))
  for (const { row } of picks) row.suspect = picks.length
  return { picks, suspects: rest.length > 0 }
}

async function holdsSuspect(session: Session, worker: number): Promise<boolean> {
  const found = await session.one(
    `SELECT 1 FROM claimed CROSS JOIN LATERAL ${heldIds} held
     WHERE worker = $1 AND (SELECT suspect FROM entity_hot WHERE entity_hot.id = held.id AND owner = $1) > 0 LIMIT 1`,
    [worker],
  )
  return found !== null
}

function putAside(ledger: Ledger, aside: Aside): void {
  const row = ledger.row(aside.row.id)!
  const suspect = row.suspect > 0
  const { lines } = ledger
  const { served } = aside
  switch (aside.kind) {
    case 'lane': {
      // Under its lock the lane may say otherwise: then the row stands where it stood.
      const { id, lane } = ledger.lanes.byId(row.lane)
      const gated = row.wait === waits.gatedRun
      if (letsThrough(lane, gated)) {
        ledger.hint('work')
        return
      }
      row.line = lines.enter(lines.ofLane(served, id, lane, gated, null, suspect))
      break
    }
    case 'avoided': {
      const { id, lane } = ledger.lanes.byId(row.lane)
      row.line = lines.enter(lines.ofLane(served, id, lane, row.wait === waits.gatedRun, null, suspect))
      ledger.hint('work')
      break
    }
    case 'hold':
      row.line = lines.enter(lines.ofHold(served, aside.hold, served.run.holdable, suspect))
      break
    case 'pool':
      row.line = lines.enter(lines.ofPool(served, aside.pool, suspect))
      break
    case 'label':
      row.line = lines.enter(lines.ofLabel(served, aside.pool, suspect))
      break
    default:
      aside satisfies never
  }
  ledger.writing.change(row, null)
}

/**
 * What the lease does beside the row itself: units of pools, and the counts of the lane where the claim takes hops. False: under its lock
 * the lane says that it lets nobody through any more; the next claim puts the row aside.
 */
function lease(ledger: Ledger, { row, served }: Pick, units: Map<EntityId, string | null>): boolean {
  const { run } = served
  if (run.hops.length > 0 && !letsThrough(ledger.lanes.byId(row.lane).lane, row.wait === waits.gatedRun)) {
    ledger.hint('work')
    return false
  }
  const names: string[] = []
  for (const pool of [run.pool, labelPool(row, run)]) {
    // A share that the entity took for itself stays as it is.
    if (!pool || ledger.pools.share(pool.name, row.id) !== null) continue
    ledger.pools.take(pool.name, row.id, 1, pool.ceiling)
    names.push(pool.name)
  }
  if (names.length > 0) units.set(row.id, textOfShares({ ...sharesOf(row), lease: names }))
  if (run.hops.length === 0) return true
  const { lanes, dictionary } = ledger
  // Both must be known before anything is written.
  dictionary.path('claim', run.hops)
  dictionary.word(run.hops.at(-1)!.to)
  const before = ledger.figure(row)
  lanes.count(lanes.byId(row.lane), before, { ...before, state: run.hops.at(-1)!.to })
  ledger.changes.moved(row.id, row.seq + 1)
  return true
}

/** Whoever's time has come stands in line from now on. */
async function ripen(desk: Desk): Promise<void> {
  await desk.write(async (session, facts) => {
    const found = await session.all(
      `SELECT ${rowColumnsWithoutData} FROM entity_hot WHERE plan = ${plans.run} AND at <= $1 ORDER BY at LIMIT ${ripenMax} FOR UPDATE`,
      [facts.now],
    )
    const stock = new Stock(session, desk.dictionary)
    const rows = found.map(rowOf)
    for (const row of rows) stock.rows.set(row.id, row)
    await stock.loadLanes({ ids: [...new Set(rows.map(({ lane }) => lane))] })
    const { ledger } = await decided(
      stock,
      () => new Ledger(desk, facts, stock, noIds),
      (ledger) => {
        for (const { id } of rows) {
          const row = ledger.row(id)!
          place(ledger, row, ledger.lanes.byId(row.lane), edgeOf(ledger, row))
          ledger.writing.change(row, null)
        }
      },
    )
    ledger.flush(session)
  })
}

/** Claims pass by an empty line until somebody enters. Who is about to enter holds the lock that is asked for here. */
async function rest(desk: Desk, empty: readonly Line[]): Promise<void> {
  const lines = empty.filter(({ kind }) => kind !== 'shared')
  if (lines.length === 0) return
  await desk.database.write(async (session) => {
    const lanes = lines.flatMap(({ lane }) => lane ?? [])
    const locked = await session.all(
      'SELECT id FROM lane WHERE id = ANY($1::int8[]) ORDER BY id FOR UPDATE SKIP LOCKED',
      [lanes],
    )
    const own = new Set(locked.map(([id]) => id as number))
    const wanted = lines.filter(({ lane }) => lane === null || own.has(lane)).map(({ id }) => id)
    const free = await session.all(
      'SELECT id FROM line WHERE id = ANY($1::int4[]) ORDER BY id FOR UPDATE SKIP LOCKED',
      [wanted],
    )
    // Asked only now, under the locks: what stood there when they were taken is seen.
    session.send(
      `UPDATE line SET idle = true WHERE id = ANY($1::int4[])
       AND NOT EXISTS (SELECT FROM entity_hot WHERE entity_hot.line = line.id AND rank IS NOT NULL AND owner IS NULL)`,
      [free.map(([id]) => id as number)],
    )
  })
}

/** Now and then it is asked whether old claims, whose leases others may have ended, have come to an end. */
async function tidy(desk: Desk, worker: number): Promise<void> {
  if (!desk.leases.isDue()) return
  const old = desk.leases.lingering(worker).slice(0, -youngMax)
  if (old.length === 0) return
  const left = await desk.database.single((session) =>
    session.all(
      `WITH gone AS (
         DELETE FROM claimed WHERE worker = $1 AND number = ANY($2::int8[]) AND NOT EXISTS (
           SELECT FROM ${heldIds} held WHERE ${ownerOfHeld} = $1) RETURNING number)
       SELECT number FROM claimed WHERE worker = $1 AND number = ANY($2::int8[]) AND number NOT IN (SELECT number FROM gone)`,
      [worker, old],
    ),
  )
  // Others may have removed some before.
  const kept = new Set(left.map(([number]) => number as number))
  desk.leases.forget(worker, new Set(old.filter((number) => !kept.has(number))))
}
