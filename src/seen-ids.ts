import type { EntityId } from './entity.ts'

/** Which ids came before. Those of a group mostly grow: then each is told apart by the highest so far, and nothing is looked up. */
export class SeenIds {
  readonly #ids: EntityId[] = []
  #highest = Number.NEGATIVE_INFINITY
  #all: Set<EntityId> | null = null

  /** False: it was there before. */
  add(id: EntityId): boolean {
    if (id > this.#highest) this.#highest = id
    else {
      this.#all ??= new Set(this.#ids)
      if (this.#all.has(id)) return false
    }
    this.#ids.push(id)
    this.#all?.add(id)
    return true
  }
}
