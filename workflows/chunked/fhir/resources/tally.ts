import type { Database } from './database.ts'

/** How many resources there are of each type and collection, by the version of the index that knows them. Kept, never counted. */
export class Tally {
  readonly #changes = new Map<string, readonly [type: number, collection: number, indexed: number, count: number]>()

  add(type: number, collection: number, indexed: number, count: number): void {
    const key = `${type} ${collection} ${indexed}`
    this.#changes.set(key, [type, collection, indexed, (this.#changes.get(key)?.[3] ?? 0) + count])
  }

  /** Within a write. */
  write(database: Database): void {
    for (const [type, collection, indexed, count] of this.#changes.values()) {
      if (count === 0) continue
      database.run(
        `INSERT INTO tally (type, collection, indexed, resources) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (type, collection, indexed) DO UPDATE SET resources = resources + ?4`,
        [type, collection, indexed, count],
      )
    }
  }
}
