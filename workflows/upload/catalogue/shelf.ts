import { type HNItem, type ItemType, itemTypes } from '../hn-item.ts'
import type { Database, Row, Value } from './database.ts'
import { columns, type ItemRow, rowOf } from './item-row.ts'
import type { Borrowed } from './merging.ts'
import type { Facts } from './newness.ts'
import type { Prefix } from './schema.ts'

/** Values of one statement: for many, more were no faster; for a few, most of 256 would stand for nothing. */
const widths = { few: 4, many: 256 } as const
const marksOf = { few: numberedMarks(widths.few), many: numberedMarks(widths.many) } as const
const columnList = columns.join(', ')

/** A version that was put, and who put it. */
export interface KnownVersion extends Facts {
  readonly entity: number
}

/** One set of tables: how its rows are found. */
export class Shelf {
  readonly database: Database
  readonly prefix: Prefix

  constructor(database: Database, prefix: Prefix) {
    this.database = database
    this.prefix = prefix
  }

  /** The numbers of arrival of those ids that are here. */
  locate(hnIds: readonly number[]): Map<number, number> {
    const found = new Map<number, number>()
    if (hnIds.length === 0) return found
    const { prefix } = this
    // Ids mostly grow from one item of a file to the next, and many comments answer the same: few have to be looked for.
    const highest = this.#highestId()
    const asked = new Set<number>()
    for (const hnId of hnIds) if (hnId <= highest) asked.add(hnId)
    const sql = (marks: string) => `SELECT id, seq FROM ${prefix}fresh WHERE id IN (${marks})
      UNION ALL SELECT id, seq FROM ${prefix}place WHERE id IN (${marks})`
    for (const row of this.#allOf(sql, [...asked])) found.set(row[0] as number, row[1] as number)
    return found
  }

  #highestId(): number {
    const { database, prefix } = this
    const [fresh, place] = [`SELECT max(id) FROM ${prefix}fresh`, `SELECT max(id) FROM ${prefix}place`]
    return Math.max(database.number(fresh) ?? 0, database.number(place) ?? 0)
  }

  /** Rows by their numbers of arrival, in no particular order. */
  rows(seqs: readonly number[]): ItemRow[] {
    const sql = (marks: string) => `SELECT ${columnList} FROM ${this.prefix}item WHERE seq IN (${marks})`
    return this.#allOf(sql, seqs).map(rowOf)
  }

  row(hnId: number): ItemRow | null {
    const seq = this.locate([hnId]).get(hnId)
    return seq === undefined ? null : (this.rows([seq])[0] ?? null)
  }

  /** Direct answers to these ids: pairs of id and number of arrival. Only what was folded is found. */
  children(parents: readonly number[]): readonly Row[] {
    const sql = (marks: string) => `SELECT id, seq FROM ${this.prefix}by_parent WHERE parent IN (${marks})`
    return this.#allOf(sql, parents)
  }

  /** The documents of merged rows. */
  mergedDocument(seq: number): HNItem | null {
    const text = this.database.all(`SELECT document FROM ${this.prefix}merged WHERE seq = ?`, [seq])[0]?.[0]
    return typeof text === 'string' ? (JSON.parse(text) as HNItem) : null
  }

  /** The fields of a merged row's document that came from other versions than the standing one. */
  borrowed(seq: number): Borrowed {
    const text = this.database.all(`SELECT sources FROM ${this.prefix}borrowed WHERE seq = ?`, [seq])[0]?.[0]
    return typeof text === 'string' ? (JSON.parse(text) as Borrowed) : {}
  }

  /** The newest version that other batches had put when this batch put its first version; null: none. */
  knownBefore(row: ItemRow, batch: number): KnownVersion | null {
    if (!row.shared) return row.batch === batch ? null : row
    const sql = `SELECT entity, gone, kids, descendants, score FROM ${this.prefix}known_before WHERE seq = ? AND batch = ?`
    const values = this.database.all(sql, [row.seq, batch])[0]
    if (!values) return row
    const [entity, gone, kids, descendants, score] = values as (number | null)[]
    if (entity === null) return null
    return { entity: entity!, gone: gone!, kids: kids!, descendants: descendants!, score: score! }
  }

  /** Keeps what a batch finds, before its first version changes it. Repeating it changes nothing. */
  keepKnown(row: ItemRow, batch: number): void {
    const { entity, gone, kids, descendants, score } = row
    const sql = `INSERT OR IGNORE INTO ${this.prefix}known_before VALUES (?, ?, ?, ?, ?, ?, ?)`
    if (!row.shared) this.database.run(sql, [row.seq, row.batch, null, null, null, null, null])
    this.database.run(sql, [row.seq, batch, entity, gone, kids, descendants, score])
  }

  unresolved(batch: number): number {
    const { prefix } = this
    const sql = `SELECT count(*) FROM ${prefix}orphan AS orphan WHERE batch = ?
      AND NOT EXISTS (SELECT 1 FROM ${prefix}place WHERE id = orphan.parent)
      AND NOT EXISTS (SELECT 1 FROM ${prefix}fresh WHERE id = orphan.parent)`
    return this.database.number(sql, [batch]) ?? 0
  }

  counts(): Record<ItemType, number> {
    const counts = { job: 0, story: 0, comment: 0, poll: 0, pollopt: 0 }
    for (const [type, items] of this.database.all(`SELECT type, items FROM ${this.prefix}tally`)) {
      counts[itemTypes[Number(type)]!] = Number(items)
    }
    return counts
  }

  ends(): ItemRow[] {
    const first = this.database.number(`SELECT min(seq) FROM ${this.prefix}item`)
    return first === null ? [] : this.rows([...new Set([first, this.lastSeq()])])
  }

  lastSeq(): number {
    return this.database.number(`SELECT max(seq) FROM ${this.prefix}item`) ?? 0
  }

  /** A statement over numbered values, for any number of them. Null is equal to nothing, so it fills up the rest. */
  #allOf(sqlWith: (marks: string) => string, values: readonly number[]): Row[] {
    const found: Row[] = []
    const width = values.length <= widths.few ? widths.few : widths.many
    const sql = sqlWith(width === widths.few ? marksOf.few : marksOf.many)
    for (let from = 0; from < values.length; from += width) {
      const part: Value[] = values.slice(from, from + width)
      while (part.length < width) part.push(null)
      for (const row of this.database.all(sql, part)) found.push(row)
    }
    return found
  }
}

/** ?1, ?2, … */
function numberedMarks(count: number): string {
  return Array.from({ length: count }, (_, index) => `?${index + 1}`).join(', ')
}
