import { type EntityId, rootLane } from '../../entity.ts'
import { emptyLane } from '../../lane.ts'
import { refusalOfBirth } from '../../refusal.ts'
import type { Birth, Signal } from '../../store.ts'
import { hintOfWait, rootDescent, rowOfBirth } from './births.ts'
import type { Session } from './database.ts'
import type { Desk } from './desk.ts'
import { Holds } from './facts.ts'
import type { Taker } from './handover.ts'
import type { LaneRow } from './lanes.ts'
import { Ledger } from './ledger.ts'
import { enterBirth } from './operation.ts'
import { place } from './placing.ts'
import { type EntityRow, entityOf, isCold } from './row.ts'
import { latestTime } from './sealed.ts'
import { proof, proven } from './sealed-claim.ts'
import { Stock } from './stock.ts'
import { refusalOfBirthTexts } from './text-fault.ts'
import { strayMsMax, Unproven } from './uniform.ts'
import { bornColumns } from './writing.ts'

export interface Born {
  readonly id: EntityId
  readonly hints: Signal | null
}

/** The id is drawn where the row is made, in both statements. */
const ownColumns = bornColumns.filter(([name]) => name !== 'id')
const own = ownColumns.map(([, type], index) => `$${index + 1}::${type}`)
const [cold, lane, machine, state, open, revision, at] = Array.from(
  { length: 7 },
  (_, index) => `$${ownColumns.length + index + 1}`,
)
const names = ownColumns.map(([name]) => name).join(', ')

/** As of moves (`sealed.ts`): what must be true is part of the statement, which fails if it is not. */
const write = `WITH counted AS (
    UPDATE lane SET total = total + 1, open = open + ${open}::int8, wake = wake + CASE open WHEN 0 THEN 1 ELSE 0 END,
      counts = (counts::jsonb || jsonb_build_object(${state}::text, coalesce((counts::jsonb ->> ${state})::int8, 0) + 1))::text
    WHERE id = ${lane}::int8 AND parent IS NULL AND watches = '[]' AND status = 'going' AND NOT hidden AND machine = ${machine}::int4
      AND (SELECT value FROM counter WHERE name = 'machines') = ${revision}::int8
      AND ${latestTime} <= ${at}::int8 + ${strayMsMax}
    RETURNING 1),
  born AS (
    INSERT INTO entity (id, ${names}, cold, trail) SELECT nextval('entity_id'), ${own.join(', ')}, ${cold}::bool, '' FROM counted RETURNING id)
  SELECT CASE (SELECT count(*) FROM born) WHEN 1 THEN (SELECT id FROM born)
    ELSE ('sluice: not a plain birth, made step by step; rows: ' || (SELECT count(*) FROM born))::int8 END, ${latestTime}`

/** In the hands of a worker, in the place of what it is through with. If it is gone, the table refuses that nobody has it. */
const hand = `WITH gone AS (DELETE FROM claimed WHERE worker = $1 AND number = ANY($2::int8[]))
  INSERT INTO claimed (worker, number, firsts, counts) OVERRIDING SYSTEM VALUE
  VALUES ((SELECT id FROM worker WHERE id = $1 FOR KEY SHARE), currval('claimed_number_seq'), ARRAY[currval('entity_id')], ARRAY[1])`

/**
 * One root that has nothing to take, into a lane that is known: made and counted in one way to the server, and leased in the same if a
 * worker of this process waits for it. Null: nothing was written.
 */
export async function createSealed(desk: Desk, name: string, birth: Birth): Promise<Born | null> {
  const laneName = rootLane(birth.machine, birth.version)
  const id = desk.rootLaneIds.get(laneName)
  if (id === undefined || !isPlain(birth)) return null
  if (refusalOfBirth(birth, desk.limits) ?? refusalOfBirthTexts(birth)) return null
  const lane = laneOf(id, laneName, birth)
  const taker = desk.rootLanes.has(id) ? desk.handover.takerOf(birth, desk.time()) : null
  return (taker && (await bornTo(desk, name, birth, lane, taker))) ?? bearSealed(desk, name, birth, lane, null)
}

async function bornTo(desk: Desk, name: string, birth: Birth, lane: LaneRow, taker: Taker): Promise<Born | null> {
  try {
    return await bearSealed(desk, name, birth, lane, taker)
  } catch (error) {
    // It may be there, leased, and nobody would know of it.
    desk.handover.lost(taker, error)
    desk.tell({ work: true, due: false, ended: false })
    throw error
  } finally {
    desk.handover.decided()
  }
}

async function bearSealed(
  desk: Desk,
  name: string,
  birth: Birth,
  lane: LaneRow,
  taker: Taker | null,
): Promise<Born | null> {
  let isTried = false
  try {
    const { born, give } = await desk.learning(() =>
      desk.database.write(async (session) => {
        // It stood in somebody's way, or was done before.
        if (isTried) throw new Unproven()
        const now = desk.time()
        const facts = { now, holds: new Holds([]), purging: new Set<EntityId>(), stagings: new Set<number>() }
        const ledger = new Ledger(desk, facts, new Stock(session, desk.dictionary), { entities: [], stagings: [] })
        const row = rowOf(ledger, birth, lane)
        isTried = true
        const handing = taker && beginHanding(session, desk, row, taker)
        const counted = [lane.id, row.machine, birth.state, birth.settled ? 0 : 1, desk.dictionary.revision, now]
        const written = session.one(write, [...ownColumns.map(([, , of]) => of(row)), isCold(row), ...counted])
        const noted = handing?.note()
        enterBirth(session, name, now)
        void session.commit()
        const [answer, number] = await proven(session, [written, handing?.proved ?? unproved, noted])
        const [id, latest] = answer as [EntityId, number | null]
        desk.time(latest ?? 0)
        row.id = id
        return { born: { id, hints: ledger.hints() }, give: () => handing?.given(number) }
      }),
    )
    give()
    return born
  } catch (error) {
    if (error instanceof Unproven) return null
    throw error
  }
}

const unproved = Promise.resolve(0)

/** The row is born leased, as if its worker had claimed it. */
function beginHanding(session: Session, desk: Desk, row: EntityRow, taker: Taker) {
  const { worker, plan } = taker
  const over = desk.leases.over(worker)
  row.owner = worker
  row.epoch += 1
  row.attempts += 1
  return {
    // Whoever stands in line was there before.
    proved: proof(session, desk, worker, plan, plan.lines),
    note: () => session.one(hand, [worker, over]),
    given(number: number) {
      desk.leases.removed(worker, over)
      desk.leases.begun(worker, number, [row.id], row.lane)
      desk.handover.born(taker, entityOf(row, desk.rootLanes.get(row.lane)!, desk.dictionary))
    },
  }
}

function isPlain({ key, reason, sums, wait }: Birth): boolean {
  const isGated = wait.for === 'run' && wait.gated === true
  return key === null && reason === null && sums === null && !isGated
}

/** All that placing asks of a lane of roots is that it is one. */
function laneOf(id: number, name: string, { machine, version }: Birth): LaneRow {
  const lane = emptyLane(null, name, machine, version, [])
  return { id, lane, machine: null, awaited: false, hidden: false, pending: [], dirty: false, size: 0 }
}

function rowOf(ledger: Ledger, birth: Birth, lane: LaneRow): EntityRow {
  const row = rowOfBirth(ledger, birth, 0, lane, rootDescent)
  place(ledger, row, lane, 0)
  hintOfWait(ledger, row)
  return row
}
