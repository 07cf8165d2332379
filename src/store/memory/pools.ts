import type { EntityId } from '../../entity.ts'
import type { Pool } from '../../pool.ts'
import { frozen } from './frozen.ts'

/** How many holders an answer names: enough for a person to know whom to ask. */
const holdersMax = 10

interface PoolRow {
  ceiling: number
  taken: number
  /** Oldest first: a Map keeps the order in which shares were first taken. */
  readonly shares: Map<EntityId, number>
}

/** Who has taken how much of what. Every share belongs to an entity, so that nothing is taken by nobody. */
export class Pools {
  readonly #pools = new Map<string, PoolRow>()
  readonly #poolsOf = new Map<EntityId, Set<string>>()

  /** What is left for this entity under a ceiling; its own share counts as left, for taking again replaces it. */
  room(name: string, ceiling: number, entity: EntityId | null): number {
    const pool = this.#pools.get(name)
    if (!pool) return ceiling
    const own = entity === null ? 0 : (pool.shares.get(entity) ?? 0)
    return ceiling - (pool.taken - own)
  }

  /** Whether somebody who waits for this pool may try: one that nobody ever took of has room. */
  hasRoom(name: string): boolean {
    const pool = this.#pools.get(name)
    return !pool || pool.taken < pool.ceiling
  }

  holders(name: string): readonly EntityId[] {
    return [...(this.#pools.get(name)?.shares.keys() ?? [])].slice(0, holdersMax)
  }

  has(name: string, entity: EntityId): boolean {
    return this.#pools.get(name)?.shares.has(entity) ?? false
  }

  take(name: string, entity: EntityId, amount: number, ceiling: number): void {
    let pool = this.#pools.get(name)
    if (!pool) {
      pool = { ceiling, taken: 0, shares: new Map() }
      this.#pools.set(name, pool)
    }
    pool.ceiling = ceiling
    pool.taken += amount - (pool.shares.get(entity) ?? 0)
    pool.shares.set(entity, amount)
    const own = this.#poolsOf.get(entity)
    if (own) own.add(name)
    else this.#poolsOf.set(entity, new Set([name]))
  }

  /** True if there was a share to give back. */
  give(name: string, entity: EntityId): boolean {
    const pool = this.#pools.get(name)
    const amount = pool?.shares.get(entity)
    if (!pool || amount === undefined) return false
    pool.taken -= amount
    pool.shares.delete(entity)
    this.#poolsOf.get(entity)?.delete(name)
    return true
  }

  /** Everything that an entity took but this one (the key of a root, which outlives it). */
  giveAllBut(kept: string | null, entity: EntityId): boolean {
    let gave = false
    for (const name of [...(this.#poolsOf.get(entity) ?? [])]) if (name !== kept) gave = this.give(name, entity) || gave
    this.#poolsOf.delete(entity)
    return gave
  }

  read(names: readonly string[]): readonly Pool[] {
    return [...new Set(names)].flatMap((name) => {
      const pool = this.#pools.get(name)
      if (!pool) return []
      const holders = [...pool.shares].slice(0, holdersMax).map(([entity, amount]) => ({ entity, amount }))
      return [frozen({ name, ceiling: pool.ceiling, taken: pool.taken, holders })]
    })
  }
}
