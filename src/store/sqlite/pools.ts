import type { EntityId } from '../../entity.ts'
import { keyPool, type Pool } from '../../pool.ts'
import type { Database } from './database.ts'

/** How many holders an answer names: enough for a person to know whom to ask. */
const holdersMax = 10
const keptMax = 50_000
const keyPrefix = keyPool('')

interface PoolRow {
  ceiling: number
  taken: number
  /** How many shares were ever taken: the order of the holders. */
  turns: number
  dirty: boolean
}

/** Who has taken how much of what. A key is a pool of 1 that has no row of its own: a submission with a key costs one row. */
export class Pools {
  readonly #database: Database
  readonly #rows = new Map<string, PoolRow | null>()
  readonly #dirty = new Map<string, PoolRow>()

  constructor(database: Database) {
    this.#database = database
    database.onForget(() => this.#forget())
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

  holders(name: string): readonly EntityId[] {
    return this.#shares(name).map(([entity]) => entity)
  }

  /** Who has this key, in whatever way it was taken. */
  holderOfKey(key: string): EntityId | null {
    return this.#database.number('SELECT entity FROM pool_share WHERE pool = ? LIMIT 1', keyPool(key))
  }

  share(name: string, entity: EntityId): number | null {
    return this.#database.number('SELECT amount FROM pool_share WHERE pool = ? AND entity = ?', name, entity)
  }

  takeKey(key: string, entity: EntityId): void {
    const name = keyPool(key)
    this.#rows.delete(name)
    this.#database.run('INSERT INTO pool_share (pool, entity, amount, turn) VALUES (?, ?, 1, 0)', name, entity)
  }

  take(name: string, entity: EntityId, amount: number, ceiling: number): void {
    const own = this.share(name, entity)
    const pool = this.#find(name) ?? { ceiling, taken: 0, turns: 0, dirty: false }
    pool.ceiling = ceiling
    pool.taken += amount - (own ?? 0)
    if (own === null) {
      pool.turns += 1
      this.#database.run(
        'INSERT INTO pool_share (pool, entity, amount, turn) VALUES (?, ?, ?, ?)',
        name,
        entity,
        amount,
        pool.turns,
      )
    } else {
      this.#database.run('UPDATE pool_share SET amount = ? WHERE pool = ? AND entity = ?', amount, name, entity)
    }
    this.#rows.set(name, pool)
    this.#soil(name, pool)
  }

  /** True if there was a share to give back. */
  give(name: string, entity: EntityId): boolean {
    const amount = this.share(name, entity)
    if (amount === null) return false
    const pool = this.#find(name)
    this.#database.run('DELETE FROM pool_share WHERE pool = ? AND entity = ?', name, entity)
    if (pool) {
      pool.taken -= amount
      this.#soil(name, pool)
    }
    return true
  }

  read(names: readonly string[]): readonly Pool[] {
    return [...new Set(names)].flatMap((name) => {
      const pool = this.#find(name)
      if (!pool) return []
      const holders = this.#shares(name).map(([entity, amount]) => ({ entity, amount }))
      return [{ name, ceiling: pool.ceiling, taken: pool.taken, holders }]
    })
  }

  flush(): void {
    for (const [name, pool] of this.#dirty) {
      pool.dirty = false
      if (name.startsWith(keyPrefix)) {
        this.#rows.delete(name)
        continue
      }
      this.#database.run(
        `INSERT INTO pool (name, ceiling, taken, turns) VALUES (?, ?, ?, ?)
         ON CONFLICT (name) DO UPDATE SET ceiling = excluded.ceiling, taken = excluded.taken, turns = excluded.turns`,
        name,
        pool.ceiling,
        pool.taken,
        pool.turns,
      )
    }
    this.#dirty.clear()
    if (this.#rows.size > keptMax) this.#rows.clear()
  }

  #shares(name: string): readonly (readonly [EntityId, number])[] {
    const rows = this.#database.all(
      'SELECT entity, amount FROM pool_share WHERE pool = ? ORDER BY turn, entity LIMIT ?',
      name,
      holdersMax,
    )
    return rows.map(([entity, amount]) => [entity as number, amount as number])
  }

  #find(name: string): PoolRow | null {
    const known = this.#rows.get(name)
    if (known !== undefined) return known
    const row = name.startsWith(keyPrefix) ? this.#findKey(name) : this.#findRow(name)
    this.#rows.set(name, row)
    return row
  }

  #findRow(name: string): PoolRow | null {
    const row = this.#database.get('SELECT ceiling, taken, turns FROM pool WHERE name = ?', name)
    return row ? { ceiling: row[0] as number, taken: row[1] as number, turns: row[2] as number, dirty: false } : null
  }

  #findKey(name: string): PoolRow | null {
    const taken = this.#database.number('SELECT sum(amount) FROM pool_share WHERE pool = ?', name)
    return taken === null ? null : { ceiling: 1, taken, turns: 0, dirty: false }
  }

  #soil(name: string, pool: PoolRow): void {
    if (pool.dirty) return
    pool.dirty = true
    this.#dirty.set(name, pool)
  }

  #forget(): void {
    this.#rows.clear()
    this.#dirty.clear()
  }
}
