import type { EntityId } from '../../entity.ts'
import { keyPool } from '../../pool.ts'
import type { Session } from './database.ts'
import { Missing } from './need.ts'
import { type Stock, shareKey } from './stock.ts'

const keyPrefix = keyPool('')

interface PoolRow {
  ceiling: number
  taken: number
  /** How many shares were ever taken: the order of the holders. */
  turns: number
}

interface ShareChange {
  readonly pool: string
  readonly entity: EntityId
  readonly amount: number | null
  readonly turn: number
}

/** Who has taken how much of what, in one decision. A key is a pool of 1 that has no row of its own. */
export class Pools {
  readonly #stock: Stock
  readonly #rows = new Map<string, PoolRow | null>()
  readonly #shares = new Map<string, ShareChange>()
  readonly #dirty = new Map<string, PoolRow>()

  constructor(stock: Stock) {
    this.#stock = stock
  }

  /** What is left for this entity under a ceiling; its own share counts as left, for taking again replaces it. */
  room(name: string, ceiling: number, entity: EntityId | null): number {
    const pool = this.#find(name)
    if (!pool || pool.taken === 0) return ceiling
    const own = entity === null ? 0 : (this.share(name, entity) ?? 0)
    return ceiling - (pool.taken - own)
  }

  /** Whether somebody who waits for this pool may try: one that nobody ever took of has room. */
  hasRoom(name: string): boolean {
    const pool = this.#find(name)
    return !pool || pool.taken < pool.ceiling
  }

  /** Those of before this decision, less those who gave back in it, and those who took in it. */
  holders(name: string): readonly EntityId[] {
    const before = this.#stock.holders.get(name)
    if (!before) throw new Missing({ kind: 'holders', pool: name })
    const kept = before.flatMap(({ entity }) =>
      this.#shares.get(shareKey(name, entity))?.amount === null ? [] : [entity],
    )
    const news = [...this.#shares.values()].flatMap(({ pool, entity, amount }) =>
      pool === name && amount !== null && !kept.includes(entity) ? [entity] : [],
    )
    return [...kept, ...news]
  }

  share(name: string, entity: EntityId): number | null {
    const key = shareKey(name, entity)
    const changed = this.#shares.get(key)
    if (changed) return changed.amount
    const known = this.#stock.shares.get(key)
    if (known === undefined) throw new Missing({ kind: 'shares', shares: [{ pool: name, entity }] })
    return known
  }

  takeKey(key: string, entity: EntityId): void {
    const pool = keyPool(key)
    this.#shares.set(shareKey(pool, entity), { pool, entity, amount: 1, turn: 0 })
    this.#rows.set(pool, { ceiling: 1, taken: 1, turns: 0 })
  }

  take(name: string, entity: EntityId, amount: number, ceiling: number): void {
    const own = this.share(name, entity)
    const pool = this.#find(name) ?? { ceiling, taken: 0, turns: 0 }
    const turns = own === null ? pool.turns + 1 : pool.turns
    this.#set(name, { ceiling, taken: pool.taken + amount - (own ?? 0), turns })
    this.#shares.set(shareKey(name, entity), { pool: name, entity, amount, turn: turns })
  }

  /** True if there was a share to give back. */
  give(name: string, entity: EntityId): boolean {
    const amount = this.share(name, entity)
    if (amount === null) return false
    const pool = this.#find(name)
    this.#shares.set(shareKey(name, entity), { pool: name, entity, amount: null, turn: 0 })
    if (pool) this.#set(name, { ...pool, taken: pool.taken - amount })
    return true
  }

  flush(session: Session): void {
    const changes = [...this.#shares.values()]
    const given = changes.filter(({ amount }) => amount === null)
    const taken = changes.filter(({ amount }) => amount !== null)
    if (given.length > 0) {
      session.send(`DELETE FROM pool_share WHERE (pool, entity) IN (SELECT * FROM unnest($1::text[], $2::int8[]))`, [
        given.map(({ pool }) => pool),
        given.map(({ entity }) => entity),
      ])
    }
    if (taken.length > 0) {
      session.send(
        `INSERT INTO pool_share (pool, entity, amount, turn) SELECT * FROM unnest($1::text[], $2::int8[], $3::float8[], $4::int8[])
         ON CONFLICT (pool, entity) DO UPDATE SET amount = excluded.amount`,
        [
          taken.map(({ pool }) => pool),
          taken.map(({ entity }) => entity),
          taken.map(({ amount }) => amount),
          taken.map(({ turn }) => turn),
        ],
      )
    }
    const pools = [...this.#dirty].filter(([name]) => !name.startsWith(keyPrefix))
    if (pools.length === 0) return
    session.send(
      `UPDATE pool SET ceiling = u.ceiling, taken = u.taken, turns = u.turns
       FROM unnest($1::text[], $2::float8[], $3::float8[], $4::int8[]) AS u (name, ceiling, taken, turns) WHERE pool.name = u.name`,
      [
        pools.map(([name]) => name),
        pools.map(([, { ceiling }]) => ceiling),
        pools.map(([, { taken }]) => taken),
        pools.map(([, { turns }]) => turns),
      ],
    )
  }

  #set(name: string, pool: PoolRow): void {
    this.#rows.set(name, pool)
    this.#dirty.set(name, pool)
  }

  #find(name: string): PoolRow | null {
    const changed = this.#rows.get(name)
    if (changed !== undefined) return changed
    const known = this.#stock.pools.get(name)
    if (known === undefined) throw new Missing({ kind: 'pools', names: [name] })
    return known
  }
}
