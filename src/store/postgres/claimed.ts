import type { EntityId } from '../../entity.ts'

/** The ids of a row of `claimed`, as a table: most of a claim's entities were created one after another. */
export const heldIds =
  '(SELECT first + step AS id FROM unnest(claimed.firsts, claimed.counts) AS run (first, count) CROSS JOIN LATERAL generate_series(0, count - 1) AS step)'

/** Asked for each by itself: joined, the planner may read all that wait, of whom there can be millions. */
export const ownerOfHeld = '(SELECT owner FROM entity_hot WHERE entity_hot.id = held.id)'

export interface Runs {
  readonly firsts: readonly EntityId[]
  readonly counts: readonly number[]
}

export function runsOf(ids: readonly EntityId[]): Runs {
  const firsts: EntityId[] = []
  const counts: number[] = []
  for (const id of ids) {
    const last = firsts.length - 1
    if (last >= 0 && firsts[last]! + counts[last]! === id) counts[last]! += 1
    else {
      firsts.push(id)
      counts.push(1)
    }
  }
  return { firsts, counts }
}
