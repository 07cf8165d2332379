import { rmSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Earlier } from '../catalogue/catalogue.ts'
import { factsOf, isNewer } from '../catalogue/newness.ts'
import type { Cursor, ElementLimits } from '../files/file-fault.ts'
import { type ElementGroup, FileWalk, type FoundItem } from '../files/file-walk.ts'
import { reserveTempFile, writeFault } from '../files/temp-file.ts'

/** Elements of one step of catching up. */
const stepElements = 1_000
/** Page cache of the temporary database. */
const cacheKib = 4 * 1024

/** An element whose id an earlier element of the file has too. */
export interface Repeat {
  /** Within the group. */
  readonly position: number
  readonly earlier: Earlier
}

export interface RepeatsOptions {
  readonly path: string
  /** For the temporary file. */
  readonly folder: string
  readonly limits: ElementLimits
}

/**
 * Finds the elements of one file whose id came before, and the newest version among those that came before. It sees the elements in the
 * order of the file. Of each id it keeps the versions that were newer than all before them, in a temporary database: a file has
 * millions of ids, and memory has a bound. After a restart the part of the file before the cursor is read again.
 */
export class FileRepeats {
  readonly #options: RepeatsOptions
  readonly #database: DatabaseSync
  readonly #find: StatementSync
  readonly #insert: StatementSync
  /** All elements before this index have been seen. */
  #seen = 0
  #highestId = 0
  #walk: FileWalk | null = null

  constructor(options: RepeatsOptions) {
    this.#options = options
    const file = reserveTempFile(options.folder, 'repeats')
    this.#database = new DatabaseSync(file)
    this.#database.exec(`
      PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -${cacheKib};
      CREATE TABLE version (
        id INTEGER, at INTEGER, gone INTEGER, kids INTEGER, descendants INTEGER, score INTEGER, PRIMARY KEY (id, at)
      ) WITHOUT ROWID;`)
    // The open file stays usable, and nothing is left behind when the process dies. Windows refuses: there the next start removes it.
    try {
      rmSync(file)
    } catch {}
    this.#find = this.#database.prepare(
      'SELECT at AS "index", gone, kids, descendants, score FROM version WHERE id = ? AND at < ? ORDER BY at DESC LIMIT 1',
    )
    this.#insert = this.#database.prepare('INSERT INTO version VALUES (?, ?, ?, ?, ?, ?)')
  }

  /** Sees the elements before the cursor that have not been seen, in steps. True: there are more. */
  catchUp(cursor: Cursor | null): boolean {
    const goal = cursor?.index ?? 0
    if (this.#seen < goal) {
      this.#walk ??= new FileWalk(this.#options.path, null, this.#options.limits)
      const items: FoundItem[] = []
      const group = this.#walk.next(stepElements, items)
      this.of(group, items)
      if (group.next !== null && this.#seen < goal) return true
    }
    this.#walk?.close()
    this.#walk = null
    return false
  }

  /** The repeats among the valid items of a group. All elements before the group must have been seen. */
  of(group: ElementGroup, items: readonly FoundItem[]): Repeat[] {
    try {
      this.#database.exec('BEGIN')
      const repeats = this.#look(group.first, items)
      this.#database.exec('COMMIT')
      for (const { item } of items) this.#highestId = Math.max(this.#highestId, item.hnId)
      this.#seen = Math.max(this.#seen, group.first + group.offsets.length)
      return repeats
    } catch (error) {
      // The database cannot be rolled back: it is of no use any more.
      this.close()
      throw writeFault(error, this.#options.folder, 0)
    }
  }

  #look(first: number, items: readonly FoundItem[]): Repeat[] {
    const repeats: Repeat[] = []
    const newest = new Map<number, Earlier>()
    for (const { position, item } of items) {
      const { hnId } = item
      const index = first + position
      // Ids mostly grow from one element to the next: few have to be looked for.
      const earlier =
        newest.get(hnId) ?? (hnId > this.#highestId ? undefined : (this.#find.get(hnId, first) as Earlier | undefined))
      if (earlier) repeats.push({ position, earlier })
      const facts = factsOf(item)
      if (earlier && !isNewer(facts, earlier)) continue
      newest.set(hnId, { index, ...facts })
      if (index >= this.#seen) this.#insert.run(hnId, index, facts.gone, facts.kids, facts.descendants, facts.score)
    }
    return repeats
  }

  close(): void {
    this.#walk?.close()
    this.#walk = null
    if (this.#database.isOpen) this.#database.close()
  }
}
