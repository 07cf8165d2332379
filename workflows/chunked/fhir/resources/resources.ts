import { type Indexed, indexVersion } from '../indexer.ts'
import type { ParameterKind } from '../search-parameter.ts'
import { Database } from './database.ts'
import { IndexRows } from './index-rows.ts'
import { Names } from './names.ts'
import {
  digestOf,
  type Entry,
  earlierVerdicts,
  keepVerdicts,
  type PutPlace,
  type PutVerdict,
  putEntries,
} from './putting.ts'
import { type ReindexVerdict, reindexRows } from './reindexing.ts'
import { checkGroup, checkLimit, pageMax, rowColumns, rowTables, type StoredResource, storedOf } from './row.ts'
import { searchRange } from './search-range.ts'
import { findNumbers } from './searching.ts'

export type { Entry, PutVerdict } from './putting.ts'
export type { ReindexVerdict } from './reindexing.ts'
export type { Origin, StoredResource } from './row.ts'

export interface ResourcesOptions {
  readonly file: string
  readonly now: () => number
  /** From the text of a resource to its terms. */
  readonly index: (json: string) => Indexed
}

export interface TypeCount {
  readonly type: string
  readonly resources: number
  /** Those that the index does not know as they stand. */
  readonly stale: number
}

/** Numbers from the first to the last, both included; of one type, or of all. */
export interface NumberRange {
  readonly type: string | null
  readonly from: number
  readonly to: number
}

/** What is looked at: the resources of one collection; null, and by default: all. */
export interface Within {
  readonly collection?: string | null
}

export interface RangeQuery extends Within {
  readonly type?: string | null
  /** Resources in one range. */
  readonly sizeMax: number
  /** The last number of the range before. */
  readonly after?: number
  /** Ranges told at once. */
  readonly limit?: number
}

export interface IdQuery extends Within {
  /** The last number that was seen. */
  readonly after?: number
  readonly limit: number
  /** Only those that the index does not know as they stand. */
  readonly stale?: boolean
}

export interface PageQuery extends Within {
  readonly type: string
  /** The last number that was seen. */
  readonly after?: number
  /** The last number that is wanted. */
  readonly to?: number
  readonly limit: number
  /** Only what was written at this moment or later. */
  readonly since?: number
  /** Characters of all texts together, except that there is always one resource. */
  readonly charsMax?: number
}

/** Numbers begin at 1, and 0 is no collection: this one has nothing. */
const unknownCollection = -1

/** A list and where it goes on; null: it ends here. */
export interface Page<Item, Place = number> {
  readonly items: readonly Item[]
  readonly next: Place | null
}

export interface SearchQuery extends Within {
  readonly type: string
  readonly param: string
  readonly kind: ParameterKind
  readonly value: string
  readonly limit: number
  readonly after?: string | null
}

/** Numbers passed for one page. */
const passedMax = 200_000
const pageCharsMax = 16 * 1024 * 1024
const rangesMax = 10_000

/**
 * The resources, in a file of their own: each once by type and id, numbered by arrival, with a search index beside them.
 * Everything is synchronous, for a thread of its own; several processes may have the same file open.
 */
export class Resources {
  readonly #options: ResourcesOptions
  readonly #database: Database
  readonly #place: PutPlace

  constructor(options: ResourcesOptions) {
    this.#options = options
    const database = new Database(options.file)
    this.#database = database
    this.#place = {
      database,
      types: new Names(database, 'type'),
      sources: new Names(database, 'source'),
      collections: new Names(database, 'collection'),
      indexRows: new IndexRows(database),
    }
  }

  close(): void {
    this.#database.close()
  }

  /**
   * All or nothing, durable when it returns. A group that is put again under its key gets the verdicts that it was given,
   * and changes nothing, whatever others have put since.
   */
  put(entries: readonly Entry[], { key }: { readonly key?: string } = {}): PutVerdict[] {
    checkGroup(entries)
    const now = this.#options.now()
    return this.#write(() => {
      if (key === undefined) return putEntries(this.#place, entries, now)
      const digest = digestOf(entries)
      const earlier = earlierVerdicts(this.#database, key, digest)
      if (earlier) return earlier
      const verdicts = putEntries(this.#place, entries, now)
      keepVerdicts(this.#database, { key, digest, verdicts, now })
      return verdicts
    })
  }

  /** Makes the terms of these resources anew. All or nothing, durable when it returns, harmless to repeat. */
  reindex(numbers: readonly number[]): ReindexVerdict[] {
    checkGroup(numbers)
    return this.#write(() => reindexRows(this.#place, numbers, this.#options.index))
  }

  types({ collection = null }: Within = {}): TypeCount[] {
    const [condition, values] =
      collection === null ? ['', []] : ['WHERE collection = ?', [this.#collection(collection)]]
    const rows = this.#database.all(
      `SELECT type.name, sum(resources), sum(CASE WHEN indexed = ? THEN 0 ELSE resources END)
       FROM tally JOIN type ON type.number = tally.type ${condition} GROUP BY type.name ORDER BY type.name`,
      [indexVersion, ...values],
    )
    return rows.map(([type, resources, stale]) => ({ type, resources, stale }) as TypeCount)
  }

  counts(): { readonly resources: number; readonly stale: number } {
    let [resources, stale] = [0, 0]
    for (const count of this.types()) {
      resources += count.resources
      stale += count.stale
    }
    return { resources, stale }
  }

  /** All numbers there are now, in ranges of a bounded number of resources. */
  ranges({ type = null, sizeMax, after = 0, limit = 1_000, collection = null }: RangeQuery): Page<NumberRange> {
    checkLimit(limit, rangesMax)
    checkLimit(sizeMax, Number.MAX_SAFE_INTEGER)
    return this.#database.read(() => {
      const items: NumberRange[] = []
      let from = after + 1
      for (; items.length < limit; from = items.at(-1)!.to + 1) {
        const to = type === null ? this.#endOfAny(from, sizeMax) : this.#endOfType(type, from, sizeMax, collection)
        if (to === null) return { items, next: null }
        items.push({ type, from, to })
      }
      return { items, next: from - 1 }
    })
  }

  /** The numbers within a range that are in use. */
  ids({ type, from, to }: NumberRange, { after = 0, limit, stale = false, collection = null }: IdQuery): Page<number> {
    checkLimit(limit)
    const first = Math.max(from, after + 1)
    const whose = this.#within(type, collection)
    const outdated = stale ? 'AND indexed <> ? ' : ''
    return this.#database.read(() => {
      const rows = this.#database.all(
        `SELECT number FROM ${whose.table} WHERE ${whose.condition}number BETWEEN ? AND ? ${outdated}ORDER BY number LIMIT ?`,
        [...whose.values, first, to, ...(stale ? [indexVersion] : []), limit],
      )
      const items = rows.map(([found]) => found as number)
      return { items, next: items.length === limit ? items.at(-1)! : null }
    })
  }

  /** In the order asked for; null where there is none. */
  read(numbers: readonly number[]): (StoredResource | null)[] {
    checkGroup(numbers)
    return this.#database.read(() => numbers.map((number) => this.#row('resource.number = ?', [number])))
  }

  /** Of several collections, the one that came first, unless one is named. */
  get(type: string, id: string, { collection = null }: Within = {}): StoredResource | null {
    const [condition, values] = collection === null ? ['', []] : ['AND collection = ?', [this.#collection(collection)]]
    const order = 'ORDER BY collection LIMIT 1'
    return this.#row(`type.name = ? AND resource.id = ? ${condition} ${order}`, [type, id, ...values])
  }

  /** Resources of one type in the order of their numbers. A page may have fewer than the limit, or none, and still go on. */
  page({
    type,
    after = 0,
    to = Number.MAX_SAFE_INTEGER,
    limit,
    since = 0,
    charsMax = pageCharsMax,
    collection = null,
  }: PageQuery): Page<StoredResource> {
    checkLimit(limit)
    // What did not change since a moment is passed quickly, but not without end.
    const last = since > 0 ? Math.min(to, after + passedMax) : to
    const whose = this.#within(type, collection)
    return this.#database.read(() => {
      const rows = this.#database.all(
        `SELECT number FROM ${whose.table}
         WHERE ${whose.condition}number > ? AND number <= ? AND updated >= ? ORDER BY number LIMIT ?`,
        [...whose.values, after, last, since, limit],
      )
      const items: StoredResource[] = []
      let characters = 0
      for (const [number] of rows) {
        const row = this.#row('resource.number = ?', [number as number])!
        characters += row.json.length
        if (items.length > 0 && characters > charsMax) return { items, next: items.at(-1)!.number }
        items.push(row)
      }
      if (items.length === limit) return { items, next: items.at(-1)!.number }
      const isEnd = last === to || last >= this.#lastNumber()
      return { items, next: isEnd ? null : last }
    })
  }

  search({
    type,
    param,
    kind,
    value,
    limit,
    after = null,
    collection = null,
  }: SearchQuery): Page<StoredResource, string> {
    checkLimit(limit, pageMax)
    const range = searchRange(kind, value)
    const whose = this.#within(type, collection)
    const isWanted = (found: number) =>
      collection === null ||
      this.#database.number(`SELECT number FROM ${whose.table} WHERE ${whose.condition}number = ?`, [
        ...whose.values,
        found,
      ]) !== null
    return this.#database.read(() => {
      const number = this.#place.indexRows.param(this.#typeNumber(type), param)
      if (number === null) return { items: [], next: null }
      const { numbers, next } = findNumbers(this.#place, { param: number, range, limit, after, isWanted })
      return { items: numbers.map((found) => this.#row('resource.number = ?', [found])!), next }
    })
  }

  #row(condition: string, values: readonly (string | number)[]): StoredResource | null {
    const row = this.#database.all(`SELECT ${rowColumns} FROM ${rowTables} WHERE ${condition}`, values)[0]
    return row ? storedOf(row) : null
  }

  /** A type that was never stored has no number; 0 is given to none. */
  #typeNumber(type: string): number {
    return this.#place.types.find(type) ?? 0
  }

  /** The same of collections. */
  #collection(name: string): number {
    return this.#place.collections.find(name) ?? unknownCollection
  }

  /** Where to look, and the first condition: an index has all that is asked for, so that no text is read. */
  #within(
    type: string | null,
    collection: string | null,
  ): { readonly table: string; readonly condition: string; readonly values: readonly number[] } {
    const byType =
      type === null ? { condition: '', values: [] } : { condition: 'type = ? AND ', values: [this.#typeNumber(type)] }
    if (collection === null) {
      return { table: type === null ? 'resource' : 'resource INDEXED BY resource_by_type', ...byType }
    }
    return {
      table: 'resource INDEXED BY resource_by_collection',
      condition: `collection <> 0 AND collection = ? AND ${byType.condition}`,
      values: [this.#collection(collection), ...byType.values],
    }
  }

  #lastNumber(): number {
    return this.#database.number('SELECT max(number) FROM resource') ?? 0
  }

  #endOfAny(from: number, sizeMax: number): number | null {
    const last = this.#lastNumber()
    return from > last ? null : Math.min(from + sizeMax - 1, last)
  }

  #endOfType(type: string, from: number, sizeMax: number, collection: string | null): number | null {
    const { table, condition, values } = this.#within(type, collection)
    const sql = `SELECT number FROM ${table} WHERE ${condition}number >= ?`
    return (
      this.#database.number(`${sql} ORDER BY number LIMIT 1 OFFSET ?`, [...values, from, sizeMax - 1]) ??
      this.#database.number(`${sql} ORDER BY number DESC LIMIT 1`, [...values, from])
    )
  }

  /** What was remembered of a write that was undone is forgotten: it may come out otherwise next time. */
  #write<Result>(work: () => Result): Result {
    try {
      return this.#database.write(work)
    } catch (error) {
      this.#place.types.forget()
      this.#place.sources.forget()
      this.#place.collections.forget()
      this.#place.indexRows.forget()
      throw error
    }
  }
}
