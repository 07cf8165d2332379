const count = 16_384
/** Equal to no entity. */
const nobody = Number.NaN

/**
 * A slot for each of the entities that are on their way: those of a few groups, not those of a file. Two that would have the same one
 * push each other out, so whatever is kept in it must be possible to find again. No map: one that takes in and lets go of a
 * million entities copies itself again and again, and each copy that has grown old keeps what was in it alive.
 */
export class EntitySlots {
  readonly count = count
  readonly #entities = new Float64Array(count).fill(nobody)

  /** The entity's slot; -1: it has none. */
  of(entity: number): number {
    const slot = entity % count
    return this.#entities[slot] === entity ? slot : -1
  }

  /** Gives the entity a slot, whoever had it before. */
  take(entity: number): number {
    const slot = entity % count
    this.#entities[slot] = entity
    return slot
  }

  free(slot: number): void {
    this.#entities[slot] = nobody
  }
}
