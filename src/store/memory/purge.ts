import type { EntityId } from '../../entity.ts'
import { SluiceError } from '../../errors.ts'
import type { Memory } from './memory.ts'
import type { Row } from './rows.ts'

/**
 * Removes a settled root and all below it, in groups. The root is marked first: from then on nothing of its tree is
 * claimed or committed, so that no half-purged tree comes to life again.
 */
export function purge(memory: Memory, root: EntityId, limit: number, now: number): boolean {
  const row = memory.rows.find(root)
  if (!row) {
    if (memory.tombstones.has(root)) return true
    throw new SluiceError('not_found', `There is no entity ${root} to purge.`, { id: root })
  }
  const { parent, settled, state } = row.entity
  if (parent !== null) {
    throw new SluiceError(
      'conflict',
      `Entity ${root} is a child of ${parent}; only a root is purged, with all below it.`,
      { id: root },
    )
  }
  if (!settled) {
    throw new SluiceError(
      'conflict',
      `Entity ${root} is ${state}, which is not settled. Let it end or cancel it first.`,
      { id: root },
    )
  }
  memory.purging.add(root)
  // Lanes keep their figures: they go into the tombstone as they were.
  for (const descendant of deepestFirst(memory, root, Math.max(1, limit))) memory.remove(descendant)
  if (memory.rows.children(root).size > 0) return false
  bury(memory, row, now)
  return true
}

/** Up to `limit` descendants, each after all that is below it. */
function deepestFirst(memory: Memory, parent: EntityId, limit: number): readonly Row[] {
  const found: Row[] = []
  for (const { id } of memory.rows.children(parent)) {
    if (found.length >= limit) break
    const below = deepestFirst(memory, id, limit - found.length)
    found.push(...below)
    if (found.length < limit) found.push(memory.rows.get(id))
  }
  return found
}

function bury(memory: Memory, row: Row, now: number): void {
  const { id, machine, version, state, key, data, createdAt } = row.entity
  const lanes = Object.freeze(memory.lanes.of(id).map(({ lane }) => lane))
  memory.tombstones.set(id, Object.freeze({ id, machine, version, state, key, data, lanes, createdAt, purgedAt: now }))
  memory.remove(row)
  if (row.lane) memory.lanes.count(row.lane, row.entity, null, now)
  memory.purging.delete(id)
}
