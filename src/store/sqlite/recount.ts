import type { EntityId } from '../../entity.ts'
import { changeLane, emptyLane, type Lane } from '../../lane.ts'
import type { Actor, Drift } from '../../store.ts'
import type { LaneRow } from './lanes.ts'
import type { Ledger } from './ledger.ts'
import { rowOf, selectRowsWithoutData } from './row.ts'
import { actorText, record } from './row-writing.ts'

type Figures = Readonly<Record<string, number>>

/** Compares each lane with its children, row by row; `mend` makes the lane say what the rows say. */
export function recount(ledger: Ledger, parents: readonly (EntityId | null)[], mend: Actor | null): readonly Drift[] {
  if (mend === null) return ledger.read((now) => compareAll(ledger, parents, null, now))
  return ledger.write((now) => {
    const drifts = compareAll(ledger, parents, mend, now)
    ledger.feed.close(null, null, now)
    return drifts
  })
}

function compareAll(
  ledger: Ledger,
  parents: readonly (EntityId | null)[],
  mend: Actor | null,
  now: number,
): readonly Drift[] {
  // What is being purged has fewer children than its lanes say, and shall: the tombstone keeps the figures.
  const judged = [...new Set(parents)].filter((parent) => parent === null || !ledger.purging().has(parent))
  return judged.flatMap((parent) =>
    ledger.lanes.of(parent).flatMap((row) => {
      const lane = ledger.lanes.current(row)
      const counted = count(ledger, row, lane)
      const drift = compareFigures(figuresOf(lane), figuresOf(counted))
      if (!drift) return []
      if (mend) {
        const { counts, reasons, sums, total, open } = counted
        // The parent was judged by wrong figures: it looks again.
        ledger.lanes.change(row, { counts, reasons, sums, total, open, wake: lane.wake + 1 })
        row.size = total
        if (parent !== null) audit(ledger, parent, mend, now)
      }
      return [{ parent, lane: lane.name, ...drift }]
    }),
  )
}

/** A history row without hops: it counts as a move, so that whoever decided by the wrong figures is stale. */
function audit(ledger: Ledger, parent: EntityId, mend: Actor, now: number): void {
  const { database, dictionary } = ledger
  const values = database.get(`${selectRowsWithoutData} WHERE id = ?`, parent)
  if (!values) return
  const row = rowOf(values)
  row.seq += 1
  database.run('UPDATE entity SET seq = ? WHERE id = ?', row.seq, row.id)
  record(ledger, row, dictionary.path('repair', []), actorText(mend), null, now)
}

function count(ledger: Ledger, row: LaneRow, lane: Lane): Lane {
  const groups = ledger.database.all(
    `SELECT state, settled, reason, sums, count(*) FROM entity WHERE lane = ? AND (staging IS NULL OR staging NOT IN (SELECT id FROM staging))
     GROUP BY state, settled, reason, sums`,
    row.id,
  )
  const changes = groups.map(([state, settled, reason, sums, times]) => ({
    from: null,
    to: {
      state: ledger.dictionary.text(state as number),
      settled: settled === 1,
      reason: reason as string | null,
      sums: sums === null ? null : JSON.parse(sums as string),
    },
    times: times as number,
  }))
  return changeLane(emptyLane(lane.parent, lane.name, lane.machine, lane.version, []), changes)
}

function figuresOf({ total, open, counts, reasons, sums }: Lane): Figures {
  const named = Object.entries({ counts, reasons, sums }).flatMap(([part, figures]) =>
    Object.entries(figures).map(([name, figure]) => [`${part}.${name}`, figure] as const),
  )
  return { total, open, ...Object.fromEntries(named) }
}

function compareFigures(said: Figures, counted: Figures): { said: Figures; counted: Figures } | null {
  const names = [...new Set([...Object.keys(said), ...Object.keys(counted)])]
  const wrong = names.filter((name) => (said[name] ?? 0) !== (counted[name] ?? 0))
  if (wrong.length === 0) return null
  const only = (figures: Figures): Figures => Object.fromEntries(wrong.map((name) => [name, figures[name] ?? 0]))
  return { said: only(said), counted: only(counted) }
}
