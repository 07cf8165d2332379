import type { EntityId } from '../entity.ts'
import { isSluiceError } from '../errors.ts'
import { keyPool } from '../pool.ts'
import type { Filter, Store } from '../store.ts'

/** A key is a pool of 1, so the index over pools finds who has it. Null: nobody has. */
export async function keyHolder(store: Store, key: string): Promise<EntityId | null> {
  const [pool] = await store.pools([keyPool(key)])
  return pool?.holders[0]?.entity ?? null
}

/** Narrows a filter to one entity; all else that it asks for still counts. No entity has the id 0. */
export function rangeOf(
  { after = 0, upTo = Number.MAX_SAFE_INTEGER, newestFirst }: Filter,
  id: EntityId | null,
): Pick<Filter, 'after' | 'upTo' | 'newestFirst'> {
  const isPast = id !== null && (newestFirst ? after > 0 && id >= after : id <= after)
  if (id === null || isPast || id > upTo) return { upTo: 0, newestFirst: false }
  return { after: id - 1, upTo: id, newestFirst: false }
}

export function unlessUnknown(error: unknown): null {
  if (isSluiceError(error, 'not_found')) return null
  throw error
}
