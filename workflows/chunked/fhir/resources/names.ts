import type { Database } from './database.ts'

/** Names that stand in rows as small numbers: given once, never changed. What was found is remembered, up to a bound. */
export class Names {
  readonly #database: Database
  readonly #table: 'type' | 'source' | 'collection'
  readonly #numbers = new Map<string, number>()

  constructor(database: Database, table: 'type' | 'source' | 'collection') {
    this.#database = database
    this.#table = table
  }

  find(name: string): number | null {
    const known = this.#numbers.get(name)
    if (known !== undefined) return known
    const found = this.#database.number(`SELECT number FROM ${this.#table} WHERE name = ?`, [name])
    if (found !== null) this.#remember(name, found)
    return found
  }

  /** Within a write. Not remembered before the write is done: it may be undone. */
  give(name: string): number {
    const known = this.find(name)
    if (known !== null) return known
    this.#database.run(`INSERT INTO ${this.#table} (name) VALUES (?)`, [name])
    return this.#database.number('SELECT last_insert_rowid()')!
  }

  forget(): void {
    this.#numbers.clear()
  }

  #remember(name: string, number: number): void {
    if (this.#numbers.size >= rememberedMax) this.#numbers.clear()
    this.#numbers.set(name, number)
  }
}

const rememberedMax = 1_000
