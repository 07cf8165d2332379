import type { Database } from './database.ts'

/** How many resources there are of each type, by the version of the index that knows them. Kept, never counted. */
export class Tally {
  readonly #changes = new Map<string, readonly [type: number, indexed: number, count: number]>()

  add(type: number, indexed: number, count: number): void {
    const key = `${type} ${indexed}`
    this.#changes.set(key, [type, indexed, (this.#changes.get(key)?.[2] ?? 0) + count])
  }

  /** Within a write. */
  write(database: Database): void {
    for (const [type, indexed, count] of this.#changes.values()) {
      if (count === 0) continue
      database.run(
        `INSERT INTO tally (type, indexed, resources) VALUES (?1, ?2, ?3)
         ON CONFLICT (type, indexed) DO UPDATE SET resources = resources + ?3`,
        [type, indexed, count],
      )
    }
  }
}
