import type { Entity } from '../../entity.ts'
import type { ClaimRequest, ClaimRun } from '../../store.ts'
import { beginningOf, inOrder, type Mark, standing, valuesOfMarks } from './candidates.ts'
import type { Row, Session } from './database.ts'
import type { Desk } from './desk.ts'
import type { Facts } from './facts.ts'
import { isMissing, isRefusedValue } from './fault.ts'
import type { Plan } from './habit.ts'
import { type Line, runKey } from './line.ts'
import {
  commonOf,
  commonSeen,
  dataAtOnceMax,
  type EntityRow,
  entityOf,
  moreOf,
  plans,
  sentColumns,
  standingRowOf,
  valuesOf,
} from './row.ts'
import { latestTime } from './sealed.ts'
import type { Pick } from './selection.ts'
import { keyOf, linesServed, servedOf, valuesOfServed } from './served.ts'
import { Unproven } from './uniform.ts'

/** More are merged by whoever reads them bit by bit. */
const linesMax = 2
/** Of roots there is one for each version of a machine. */
const lanesMax = 64

/** What a claim would ask first: who asks, and whether anything stands between the rows and their worker. Draws the claim's number. */
const prove = `WITH told AS MATERIALIZED (SELECT ${latestTime} AS latest),
    now AS MATERIALIZED (SELECT greatest($2::int8, latest) AS at FROM told)
  SELECT CASE WHEN (SELECT expires_at FROM worker WHERE id = $1) > (SELECT at FROM now)
      AND NOT EXISTS (SELECT FROM entity_hot WHERE plan = ${plans.run} AND at <= (SELECT at FROM now))
      AND NOT EXISTS (SELECT FROM hold WHERE until IS NULL OR until > (SELECT at FROM now))
      AND NOT EXISTS (SELECT FROM tombstone WHERE purged_at IS NULL)
      AND (SELECT value FROM counter WHERE name = 'machines') = $3
      AND ARRAY(SELECT id FROM (${linesServed('id', 6)}) found ORDER BY id) = $4::int4[]
      AND NOT EXISTS (SELECT FROM entity_hot WHERE line = ANY($5::int4[]) AND rank IS NOT NULL AND owner IS NULL)
    THEN nextval('claimed_number_seq') ELSE ('sluice: not a plain claim, made step by step; worker: ' || $1)::int8 END,
    (SELECT latest FROM told)`

/** Takes them, and notes who has them. A row that has more to it than can be judged here fails the statement. */
const take = `WITH chosen AS MATERIALIZED (
    SELECT l.number, c.id FROM ${standing('e.id, e.rank')} ORDER BY c.rank, c.id LIMIT $6),
  gone AS (DELETE FROM claimed WHERE worker = $7 AND number = ANY($8::int8[]) AND EXISTS (SELECT FROM chosen)),
  noted AS (
    INSERT INTO claimed (worker, number, firsts, counts) OVERRIDING SYSTEM VALUE
    SELECT (SELECT id FROM worker WHERE id = $7 FOR KEY SHARE), currval('claimed_number_seq'),
      CASE WHEN max(id) - min(id) < count(*) THEN ARRAY[min(id)] ELSE array_agg(id) END,
      CASE WHEN max(id) - min(id) < count(*) THEN ARRAY[count(*)::int4] ELSE array_fill(1, ARRAY[count(*)::int4]) END
    FROM chosen HAVING count(*) > 0)
  UPDATE entity_hot e SET epoch = e.epoch + 1, attempts = e.attempts + 1,
    owner = CASE WHEN e.lane = ANY($9::int8[]) AND octet_length(e.data) <= ${dataAtOnceMax}
      AND (e.more IS NULL OR e.more NOT LIKE '%"pool":%')
      THEN $7 ELSE ('sluice: not a plain row, judged by itself: ' || e.id)::int4 END
  FROM chosen WHERE e.id = chosen.id RETURNING ${sentColumns('e', 'chosen.number', 10)}`

export interface SealedClaim {
  readonly entities: readonly Entity[]
  readonly number: number
  /** The lane of all of them, if it is one. */
  readonly rootLane: number | null
  /** Nobody else stands in any of the lines. */
  readonly isExhausted: boolean
  readonly plan: Plan
}

/**
 * A claim as one, like commits (`sealed.ts`): of roots that wait for nothing but a worker, in the lines where the claim before found such.
 * What must be true for that is part of the statements; if it is not, they fail, nothing is written, and the claim is made step by step.
 * Null: nothing was written.
 */
export async function claimSealed(
  desk: Desk,
  request: ClaimRequest,
  over: readonly number[],
): Promise<SealedClaim | null> {
  const plan = await desk.learning(async () => planOf(desk, request))
  if (!plan) return null
  try {
    for (;;) {
      const claim = await claimAs(desk, request.worker, over, plan)
      desk.habit.proved()
      if (claim) return claim
    }
  } catch (error) {
    if (!(error instanceof Unproven)) throw error
    desk.habit.failed(plan.kind)
    return null
  }
}

function planOf(desk: Desk, { runs, limit: asked, bytes }: ClaimRequest): Plan | null {
  const { limits, habit, rootLanes } = desk
  const limit = Math.min(asked, limits.claimMax)
  if (limit < 1 || limit * dataAtOnceMax > Math.min(bytes, limits.claimBytesMax)) return null
  if (rootLanes.size === 0 || rootLanes.size > lanesMax) return null
  const served = servedOf(desk.dictionary, runs)
  const kind = keyOf(served)
  const lines = habit.linesOf(kind)
  if (!lines) return null
  const runOf = new Map(served.map((one) => [runKey(one), one.run]))
  const places: Plan['places'][number][] = []
  for (const line of lines) {
    if (line.suspect) continue
    const run = runOf.get(runKey(line))!
    if (!isPlain(run)) return null
    places.push({ line, run, most: Math.min(limit, run.limit) })
  }
  return { kind, served, lines, places, limit }
}

function isPlain({ hops, pool, poolPer, limit }: ClaimRun): boolean {
  return hops.length === 0 && !pool && !poolPer && limit > 0
}

/** Null: behind the floors nobody stands, and they are forgotten. It looks again, from the heads of the lines. */
async function claimAs(desk: Desk, worker: number, over: readonly number[], plan: Plan): Promise<SealedClaim | null> {
  const { floors, clock } = desk
  const { version } = floors
  const begun = clock.now()
  const { places } = plan
  const floorOf = places.map(({ line }) => floors.of(line.id, begun))
  const marks = places.map(({ line, most }, at): Mark => ({ line: line.id, chunk: most, ...beginningOf(floorOf[at]!) }))
  const { number, rows } = await takeFrom(desk, worker, over, plan, marks)
  const isFull = rows.length === plan.limit
  let isExhausted = !isFull
  for (const [at, { line, most }] of places.entries()) {
    const own = places.length === 1 ? rows : rows.filter((row) => row.line === line.id)
    const floor = floorOf[at]!
    const last = own.at(-1)
    if (own.length === most || isFull) {
      isExhausted = false
      if (last) floors.raise(line.id, { rank: last.rank!, id: last.id }, floor?.since ?? begun, version)
    } else if (floor) {
      // Whoever may stand in front of it is for the next claim, or for this one if it has found nobody.
      isExhausted = false
      floors.forget(line.id)
    }
  }
  if (rows.length === 0 && floorOf.some((floor) => floor !== null)) return null
  // Only now: a name that is not known yet must not undo what is done.
  const entities = await desk.learning(async () =>
    rows.map((row) => entityOf(row, desk.rootLanes.get(row.lane)!, desk.dictionary)),
  )
  const lane = rows[0]?.lane ?? null
  return { entities, number, isExhausted, plan, rootLane: rows.every((row) => row.lane === lane) ? lane : null }
}

async function takeFrom(desk: Desk, worker: number, over: readonly number[], plan: Plan, marks: readonly Mark[]) {
  const { lines, places, limit } = plan
  const seen = commonSeen()
  const suspects = lines.filter(({ suspect }) => suspect)
  let isTried = false
  return desk.database.write(async (session) => {
    // It stood in somebody's way.
    if (isTried) throw new Unproven()
    isTried = true
    const proved = proof(session, desk, worker, plan, suspects)
    const lanes = [...desk.rootLanes.keys()]
    const taken = session.all(take, [...valuesOfMarks(marks), limit, worker, over, lanes, ...valuesOf(seen)])
    void session.commit()
    const [number, found] = await proven<[number, readonly Row[]]>(session, [proved, taken])
    const rows: EntityRow[] = []
    for (const sent of found) {
      const common = commonOf(sent, seen)
      const { row } = standingRowOf(sent, common, places[common.numbers[0]!]!.line)
      row.owner = worker
      rows.push(row)
    }
    return { number, rows: rows.sort(inOrder) }
  })
}

/** Nothing stands between this worker and whoever waits as planned, and nobody in these lines. The number of the claim. */
export async function proof(
  session: Session,
  desk: Desk,
  worker: number,
  { lines, served }: Plan,
  empty: readonly Line[],
): Promise<number> {
  const [number, latest] = (await session.one(prove, [
    ...[worker, desk.time(), desk.dictionary.revision, idsOf(lines), idsOf(empty)],
    ...valuesOfServed(served),
  ])) as [number, number | null]
  desk.time(latest ?? 0)
  return number
}

/** All of the answers, unless the server says that things are not as it was told, or that the worker is gone. */
export async function proven<Answers extends readonly unknown[]>(
  session: Session,
  answers: readonly [...{ [Index in keyof Answers]: Promise<Answers[Index]> | Answers[Index] }],
): Promise<Answers> {
  try {
    return (await Promise.all(answers)) as unknown as Answers
  } catch (error) {
    const fault = session.faultBehind(error)
    throw isRefusedValue(fault) || isMissing(fault) ? new Unproven() : fault
  }
}

function idsOf(lines: readonly Line[]): readonly number[] {
  return lines.map(({ id }) => id)
}

/** What a claim that was made step by step tells those after it: its lines, if they could have been emptied without a question. */
export function plainLines(
  { purging, holds, now }: Facts,
  lines: readonly Line[],
  picks: readonly Pick[],
  rootLanes: ReadonlyMap<number, unknown>,
): readonly Line[] | null {
  if (purging.size > 0 || holds.standing(now).length > 0) return null
  const ordinary = lines.filter(({ suspect }) => !suspect).length
  if (ordinary === 0 || ordinary > linesMax || lines.some(({ kind }) => kind !== 'shared')) return null
  for (const { row, bytes } of picks)
    if (!rootLanes.has(row.lane) || bytes > dataAtOnceMax || moreOf(row).pool !== undefined) return null
  return [...lines].sort((one, other) => one.id - other.id)
}
