/**
 * An entity that kills its process must end in `failed`, and its neighbours must not. Whoever was held by a worker that
 * died is suspect. Suspects are claimed in ever smaller groups; a death counts as an attempt only against the one that
 * was held alone.
 */

/** What the death of its worker does to an entity. `heldByWorker` counts everything that the worker held, this one included. */
export function afterDeath(
  entity: { suspect: number; attempts: number },
  heldByWorker: number,
): { suspect: number; attempts: number } {
  const suspect = entity.suspect === 0 ? heldByWorker : entity.suspect
  const attempts = suspect === 1 ? entity.attempts : Math.max(0, entity.attempts - 1)
  return { suspect, attempts }
}

/** How many suspects one claim may take, led by a suspect of this number: half as many as last time, alone at last. */
export function suspectGroup(suspect: number): number {
  return Math.max(1, Math.floor(suspect / 2))
}
