import type { EntityId } from '../../entity.ts'
import { Locks } from './locks.ts'

/** What a transaction locks before it judges and changes anything. */
export interface Footprint {
  /** Two transactions of one operation go one after the other, and the second finds what the first answered. */
  readonly operation: string | null
  entities(): readonly EntityId[]
  lanes(): readonly LaneKey[]
}

export interface LaneKey {
  readonly parent: EntityId | null
  readonly name: string
}

/**
 * Runs what changes state. With `yields` others get their turn wherever a database at READ COMMITTED would let them: after
 * the entities are locked (by id), after the lanes are locked (in order, always last), and after the commit, before the
 * answer arrives. Judging and changing is one step all the same, so that no move is ever half done.
 */
export class Transactions {
  readonly #locks = new Locks()
  readonly #yields: (() => Promise<void>) | undefined

  constructor(yields: (() => Promise<void>) | undefined) {
    this.#yields = yields
  }

  async run<Answer>(footprint: Footprint, act: () => Answer): Promise<Answer> {
    const yields = this.#yields
    if (!yields) return act()
    const held: string[] = []
    let answer: Answer
    try {
      if (footprint.operation !== null) await this.#take(held, [`operation ${footprint.operation}`])
      await this.#lockEntities(held, footprint)
      await yields()
      await this.#take(
        held,
        [...footprint.lanes()].sort(inOrder).map(({ parent, name }) => `lane ${parent} ${name}`),
      )
      await yields()
      answer = act()
    } finally {
      for (const key of held) this.#locks.give(key)
    }
    await yields()
    return answer
  }

  isLocked(id: EntityId): boolean {
    return this.#locks.isHeld(entityKey(id))
  }

  /** Which rows are concerned may have changed while it waited for them: then it lets go and asks anew, for the order's sake. */
  async #lockEntities(held: string[], footprint: Footprint): Promise<void> {
    for (;;) {
      const keys = keysOf(footprint)
      await this.#take(held, keys)
      const now = keysOf(footprint)
      const locked = new Set(keys)
      if (now.every((key) => locked.has(key))) return
      for (const key of held.splice(held.length - keys.length)) this.#locks.give(key)
    }
  }

  async #take(held: string[], keys: readonly string[]): Promise<void> {
    for (const key of new Set(keys)) {
      const turn = this.#locks.take(key)
      if (turn) await turn
      held.push(key)
    }
  }
}

function keysOf(footprint: Footprint): readonly string[] {
  return [...new Set(footprint.entities())].sort((one, other) => one - other).map(entityKey)
}

const entityKey = (id: EntityId) => `entity ${id}`

function inOrder(one: LaneKey, other: LaneKey): number {
  return (one.parent ?? 0) - (other.parent ?? 0) || (one.name < other.name ? -1 : one.name > other.name ? 1 : 0)
}
