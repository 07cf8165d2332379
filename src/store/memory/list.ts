import type { Entity } from '../../entity.ts'
import type { Filter, MachineStates, Page, SpawnedBy } from '../../store.ts'
import type { Memory } from './memory.ts'
import type { Row } from './rows.ts'

/** One page by id, in either direction, or by (source, ordinal). */
export function list(memory: Memory, filter: Filter): Page {
  const limit = Math.max(0, Math.min(filter.limit, memory.limits.pageMax))
  const entities: Entity[] = []
  for (const row of filter.spawnedBy ? spawned(memory, filter.spawnedBy) : inOrder(memory, filter)) {
    if (!row.lane || !matches(memory, row.entity, filter)) continue
    if (entities.length >= limit) return { entities, next: entities.at(-1)?.id ?? null }
    entities.push(memory.read(row))
  }
  return { entities, next: null }
}

function idsOf(memory: Memory, { parent, after, upTo, newestFirst }: Filter) {
  const ids = parent === undefined ? memory.rows.all() : memory.rows.children(parent)
  if (!newestFirst) return ids.behind(standingOf(after ?? 0))
  const end = Math.min(after ?? Number.POSITIVE_INFINITY, (upTo ?? Number.POSITIVE_INFINITY) + 1)
  return ids.before(standingOf(end))
}

function* inOrder(memory: Memory, filter: Filter): Iterable<Row> {
  for (const { id } of idsOf(memory, filter)) yield memory.rows.get(id)
}

function* spawned(memory: Memory, { sources, after }: SpawnedBy): Iterable<Row> {
  for (const source of [...new Set(sources)].sort((one, other) => one - other)) {
    if (after && source < after.source) continue
    for (const row of memory.rows.spawned(source)) {
      if (!after || source > after.source || (row.entity.ordinal ?? 0) > after.ordinal) yield row
    }
  }
}

const standingOf = (id: number) => ({ order: id, id })

function isIn(entity: Entity, { machine, version, states }: MachineStates): boolean {
  return entity.machine === machine && entity.version === version && states.includes(entity.state)
}

function matches(memory: Memory, entity: Entity, filter: Filter): boolean {
  const { machine, version, states, parent, lane, label, settled, reason, upTo, anyOf } = filter
  if (upTo !== undefined && entity.id > upTo) return false
  if (machine !== undefined && entity.machine !== machine) return false
  if (version !== undefined && entity.version !== version) return false
  if (states !== undefined && !states.includes(entity.state)) return false
  if (anyOf !== undefined && !anyOf.some((one) => isIn(entity, one))) return false
  if (parent !== undefined && entity.parent !== parent) return false
  if (lane !== undefined && entity.lane !== lane) return false
  if (settled !== undefined && entity.settled !== settled) return false
  if (reason !== undefined && entity.reason !== reason) return false
  if (label === undefined) return true
  const position = memory.labelNames(entity.machine).indexOf(label.name)
  return position >= 0 && entity.labels[position] === label.value
}
