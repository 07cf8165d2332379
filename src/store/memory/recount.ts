import type { EntityId } from '../../entity.ts'
import { changeLane, emptyLane, type Lane } from '../../lane.ts'
import type { Actor, Drift } from '../../store.ts'
import { figureOf } from './lanes.ts'
import type { Memory } from './memory.ts'

type Figures = Readonly<Record<string, number>>

/** Compares each lane with its children, row by row; `mend` makes the lane say what the rows say. */
export function recount(
  memory: Memory,
  parents: readonly (EntityId | null)[],
  mend: Actor | null,
  now: number,
): readonly Drift[] {
  // What is being purged has fewer children than its lanes say, and shall: the tombstone keeps the figures.
  const judged = [...new Set(parents)].filter((parent) => parent === null || !memory.purging.has(parent))
  return judged.flatMap((parent) =>
    memory.lanes.of(parent).flatMap((row) => {
      const { lane } = row
      const counted = count(memory, lane)
      const drift = compareFigures(figuresOf(lane), figuresOf(counted))
      if (!drift) return []
      if (mend) {
        const { counts, reasons, sums, total, open } = counted
        // The parent was judged by wrong figures: it looks again.
        memory.lanes.set(row, { ...lane, counts, reasons, sums, total, open, wake: lane.wake + 1 }, now)
        if (parent !== null) audit(memory, parent, mend, now)
      }
      return [{ parent, lane: lane.name, ...drift }]
    }),
  )
}

/** A history row without hops: it counts as a move, so that whoever decided by the wrong figures is stale. */
function audit(memory: Memory, parent: EntityId, mend: Actor, now: number): void {
  const row = memory.rows.get(parent)
  memory.replace(row, { seq: row.entity.seq + 1 }, now)
  const { seq, epoch, generation } = row.entity
  memory.record({ entity: parent, seq, epoch, generation, at: now, cause: 'repair', hops: [], error: null, ...mend })
}

function count(memory: Memory, lane: Lane): Lane {
  const changes = [...memory.rows.children(lane.parent)]
    .map(({ id }) => memory.rows.get(id))
    .filter((row) => row.lane?.lane === lane)
    .map((row) => ({ from: null, to: figureOf(row.entity), times: 1 }))
  return changeLane(emptyLane(lane.parent, lane.name, lane.machine, lane.version, []), changes)
}

function figuresOf({ total, open, counts, reasons, sums }: Lane): Figures {
  const parts = { counts, reasons, sums }
  const named = Object.entries(parts).flatMap(([part, figures]) =>
    Object.entries(figures).map(([name, figure]) => [`${part}.${name}`, figure] as const),
  )
  return { total, open, ...Object.fromEntries(named) }
}

function compareFigures(said: Figures, counted: Figures): { said: Figures; counted: Figures } | null {
  const names = [...new Set([...Object.keys(said), ...Object.keys(counted)])]
  const wrong = names.filter((name) => (said[name] ?? 0) !== (counted[name] ?? 0))
  if (wrong.length === 0) return null
  const only = (figures: Figures) => Object.fromEntries(wrong.map((name) => [name, figures[name] ?? 0]))
  return { said: only(said), counted: only(counted) }
}
