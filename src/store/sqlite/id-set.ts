import type { EntityId } from '../../entity.ts'
import type { Value } from './database.ts'

/** A condition that names many rows at once, and its values. */
export interface IdSet {
  readonly where: string
  readonly values: readonly Value[]
}

/**
 * Rows by their ids, each named once. Ids without a gap, which groups often have, are a range: a third less work for each row
 * than looking them up one by one. `from` is the number of the statement's first free parameter.
 */
export function idSet(ids: readonly EntityId[], from = 1): IdSet {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const id of ids) {
    if (id < low) low = id
    if (id > high) high = id
  }
  if (ids.length > 1 && high - low === ids.length - 1) {
    return { where: `id BETWEEN ?${from} AND ?${from + 1}`, values: [low, high] }
  }
  return { where: `id IN (SELECT value FROM json_each(?${from}))`, values: [JSON.stringify(ids)] }
}
