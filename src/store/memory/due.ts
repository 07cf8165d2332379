import { type EntityId, rootLane } from '../../entity.ts'
import type { Due } from '../../store.ts'
import type { Memory } from './memory.ts'

/** What the engine must look at now, up to `limit` of each kind, of the machines that it knows. */
export function due(memory: Memory, limit: number, machines: readonly string[] | undefined, now: number): Due {
  const { waiting, lanes, rows } = memory
  waiting.ripen(now)
  const isKnown = (id: EntityId) => {
    const { machine, version } = rows.get(id).entity
    return machines === undefined || machines.includes(rootLane(machine, version))
  }
  const parents = firstOf(limit, isKnown, lanes.woken(), waiting.dueLooks(now))
  return {
    parents: parents.map((id) => ({
      entity: memory.read(rows.get(id)),
      lanes: lanes.of(id).map(({ lane }) => lane),
    })),
    timers: firstOf(limit, isKnown, waiting.dueTimers(now)).map((id) => memory.read(rows.get(id))),
    purges: firstOf(limit, isKnown, waiting.duePurges(now)),
    next: earliest(waiting.next(now), memory.holds.nextEnd(now)),
  }
}

function earliest(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other)
}

function firstOf(
  limit: number,
  isWanted: (id: EntityId) => boolean,
  ...sources: readonly Iterable<EntityId>[]
): readonly EntityId[] {
  const ids = new Set<EntityId>()
  for (const source of sources) {
    for (const id of source) {
      if (ids.size >= limit) return [...ids]
      if (isWanted(id)) ids.add(id)
    }
  }
  return [...ids]
}
