import type { EntityId } from '../../entity.ts'
import { emptyLane, type Lane } from '../../lane.ts'
import type { Actor, Drift } from '../../store.ts'
import { actorText } from './actor-text.ts'
import type { Session } from './database.ts'
import type { Desk } from './desk.ts'
import type { Facts } from './facts.ts'
import { type LaneColumns, laneColumns, laneOf } from './lane-row.ts'
import { decided, Ledger } from './ledger.ts'
import { note } from './operation.ts'
import { idsIn, isSeen } from './reading.ts'
import { Stock } from './stock.ts'

type Figures = Readonly<Record<string, number>>

interface Difference {
  readonly row: LaneColumns
  readonly counted: Lane
  readonly drift: Drift
}

/** Compares each lane with its children, row by row; `mend` makes the lane say what the rows say. */
export async function recount(
  desk: Desk,
  parents: readonly (EntityId | null)[],
  mend: Actor | null,
): Promise<readonly Drift[]> {
  const asked = [...new Set(parents)]
  const found = await desk.read(async (session, facts) =>
    differences(session, desk, await lanesOf(session, desk, asked, facts)),
  )
  const drifts = found.map(({ drift }) => drift)
  if (mend === null) return inOrder(drifts, asked)
  const mended: Drift[] = []
  // One transaction each: the lanes of one parent are locked for as long as its children are counted.
  for (const parent of new Set(drifts.map(({ parent }) => parent))) mended.push(...(await mendOne(desk, parent, mend)))
  return inOrder(mended, asked)
}

/** What is being purged has fewer children than its lanes say, and shall: the tombstone keeps the figures. */
async function lanesOf(
  session: Session,
  desk: Desk,
  parents: readonly (EntityId | null)[],
  { purging }: Facts,
): Promise<readonly LaneColumns[]> {
  const judged = idsIn(parents).filter((parent) => !purging.has(parent))
  const [own, roots] = await Promise.all([
    session.all(`SELECT ${laneColumns} FROM lane WHERE parent = ANY($1::int8[])`, [judged]),
    parents.includes(null) ? session.all(`SELECT ${laneColumns} FROM lane WHERE parent IS NULL`) : [],
  ])
  return [...own, ...roots].map((row) => laneOf(row, desk.dictionary))
}

/**
 * The parent first, then its lanes: then nobody counts a child in or out. Whoever is about to has changed the child already, unseen by us,
 * and adds his change to what we write.
 */
async function mendOne(desk: Desk, parent: EntityId | null, mend: Actor): Promise<readonly Drift[]> {
  const { drifts, hints } = await desk.write(async (session, facts) => {
    const path = desk.dictionary.path('repair', [])
    const stock = new Stock(session, desk.dictionary)
    if (parent !== null) await stock.loadRows([parent])
    const lanes = await lanesOf(session, desk, [parent], facts)
    await stock.loadLanes({ ids: lanes.map(({ id }) => id) })
    const locked = lanes.flatMap(({ id }) => stock.lanes.get(id) ?? [])
    const found = await differences(session, desk, locked)
    const { ledger } = await decided(
      stock,
      () => new Ledger(desk, facts, stock, { entities: [], stagings: [] }),
      (ledger) => {
        for (const difference of found) correct(ledger, difference, path, mend)
      },
    )
    ledger.flush(session)
    if (!ledger.changes.isEmpty) note(session, ledger.changes.text(), facts.now)
    return { drifts: found.map(({ drift }) => drift), hints: ledger.hints() }
  })
  if (hints) desk.tell(hints)
  return drifts
}

/**
 * The parent was judged by wrong figures: it looks again. A history row without hops counts as a move, so that whoever decided by the
 * wrong figures is stale.
 */
function correct(ledger: Ledger, { row, counted }: Difference, path: number, mend: Actor): void {
  const { counts, reasons, sums, total, open } = counted
  const lane = ledger.lanes.byId(row.id)
  ledger.lanes.change(lane, { counts, reasons, sums, total, open, wake: lane.lane.wake + 1 })
  const parent = row.lane.parent === null ? null : ledger.row(row.lane.parent)
  if (!parent) return
  parent.seq += 1
  ledger.record(parent, path, actorText(mend), null)
  ledger.writing.change(parent, null)
}

async function differences(session: Session, desk: Desk, rows: readonly LaneColumns[]): Promise<readonly Difference[]> {
  const counted = await count(session, desk, rows)
  return rows.flatMap((row) => {
    const { parent, name } = row.lane
    const lane = counted.get(row.id)!
    const drift = compareFigures(figuresOf(row.lane), figuresOf(lane))
    return drift ? [{ row, counted: lane, drift: { parent, lane: name, ...drift } }] : []
  })
}

const children = `FROM entity WHERE lane = ANY($1::int8[]) AND ${isSeen}`

/** What the lanes should say. Sums are added up by the server: they may be as many as there are children. */
async function count(session: Session, desk: Desk, rows: readonly LaneColumns[]): Promise<ReadonlyMap<number, Lane>> {
  const ids = rows.map(({ id }) => id)
  if (ids.length === 0) return new Map()
  const [states, reasons, sums] = (await Promise.all([
    session.all(`SELECT lane, state, settled, count(*) ${children} GROUP BY lane, state, settled`, [ids]),
    session.all(`SELECT lane, reason, count(*) ${children} AND reason IS NOT NULL GROUP BY lane, reason`, [ids]),
    session.all(
      `SELECT lane, sum.name, sum(sum.amount::numeric)::text
       FROM (SELECT lane, sums ${children} AND sums IS NOT NULL) child CROSS JOIN LATERAL json_each_text(sums::json) AS sum (name, amount)
       GROUP BY lane, sum.name HAVING sum(sum.amount::numeric) <> 0`,
      [ids],
    ),
  ])) as [[number, number, boolean, number][], [number, string, number][], [number, string, string][]]
  const [statesOf, reasonsOf, sumsOf] = [byLane(states), byLane(reasons), byLane(sums)]
  return new Map(
    rows.map(({ id, lane }) => {
      const own = statesOf.get(id) ?? []
      const counts = new Map<string, number>()
      for (const [, state, , times] of own) {
        const text = desk.dictionary.text(state)
        counts.set(text, (counts.get(text) ?? 0) + times)
      }
      return [
        id,
        {
          ...emptyLane(lane.parent, lane.name, lane.machine, lane.version, []),
          counts: Object.fromEntries(counts),
          total: own.reduce((sum, [, , , times]) => sum + times, 0),
          open: own.reduce((sum, [, , settled, times]) => sum + (settled ? 0 : times), 0),
          reasons: Object.fromEntries((reasonsOf.get(id) ?? []).map(([, name, times]) => [name, times])),
          sums: Object.fromEntries((sumsOf.get(id) ?? []).map(([, name, sum]) => [name, Number(sum)])),
        },
      ]
    }),
  )
}

function byLane<Found extends readonly [number, ...unknown[]]>(rows: readonly Found[]): ReadonlyMap<number, Found[]> {
  return Map.groupBy(rows, ([lane]) => lane)
}

function figuresOf({ total, open, counts, reasons, sums }: Lane): Figures {
  const named = Object.entries({ counts, reasons, sums }).flatMap(([part, figures]) =>
    Object.entries(figures).map(([name, figure]) => [`${part}.${name}`, figure] as const),
  )
  return { total, open, ...Object.fromEntries(named) }
}

function compareFigures(said: Figures, counted: Figures): { said: Figures; counted: Figures } | null {
  const names = [...new Set([...Object.keys(said), ...Object.keys(counted)])]
  const wrong = names.filter((name) => !isSame(said[name] ?? 0, counted[name] ?? 0))
  if (wrong.length === 0) return null
  const only = (figures: Figures): Figures => Object.fromEntries(wrong.map((name) => [name, figures[name] ?? 0]))
  return { said: only(said), counted: only(counted) }
}

/** Sums of fractions depend on their order in the last digits; whole numbers are exact. */
function isSame(one: number, other: number): boolean {
  if (one === other) return true
  if (Number.isInteger(one) && Number.isInteger(other)) return false
  return Math.abs(one - other) <= 1e-9 * Math.max(Math.abs(one), Math.abs(other))
}

/** By parent as asked, then by name. */
function inOrder(drifts: readonly Drift[], parents: readonly (EntityId | null)[]): readonly Drift[] {
  const places = new Map(parents.map((parent, place) => [parent, place]))
  return [...drifts].sort(
    (one, other) => places.get(one.parent)! - places.get(other.parent)! || (one.lane < other.lane ? -1 : 1),
  )
}
