import type { EntityId } from '../../entity.ts'
import { changeLane, emptyLane, type Lane } from '../../lane.ts'
import type { Drift } from '../../store.ts'
import type { LaneRow } from './lanes.ts'
import type { Ledger } from './ledger.ts'

type Figures = Readonly<Record<string, number>>

/** Compares each lane with its children, row by row; `mend` makes the lane say what the rows say. */
export function recount(ledger: Ledger, parents: readonly (EntityId | null)[], mend: boolean): readonly Drift[] {
  return mend
    ? ledger.write(() => compareAll(ledger, parents, true))
    : ledger.read(() => compareAll(ledger, parents, false))
}

function compareAll(ledger: Ledger, parents: readonly (EntityId | null)[], mend: boolean): readonly Drift[] {
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
      }
      return [{ parent, lane: lane.name, ...drift }]
    }),
  )
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
