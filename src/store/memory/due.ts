import type { EntityId } from '../../entity.ts'
import type { Due } from '../../store.ts'
import type { Memory } from './memory.ts'

/** What the engine must look at now, up to `limit` of each kind. */
export function due(memory: Memory, limit: number, now: number): Due {
  const { waiting, lanes, rows } = memory
  waiting.ripen(now)
  const parents = firstOf(limit, lanes.woken(), waiting.dueLooks(now))
  return {
    parents: parents.map((id) => ({
      entity: memory.read(rows.get(id)),
      lanes: lanes.of(id).map(({ lane }) => lane),
    })),
    timers: firstOf(limit, waiting.dueTimers(now)).map((id) => memory.read(rows.get(id))),
    purges: firstOf(limit, waiting.duePurges(now)),
    next: waiting.next(now),
  }
}

function firstOf(limit: number, ...sources: readonly Iterable<EntityId>[]): readonly EntityId[] {
  const ids = new Set<EntityId>()
  for (const source of sources) {
    for (const id of source) {
      if (ids.size >= limit) return [...ids]
      ids.add(id)
    }
  }
  return [...ids]
}
