import { type HNItem, type ItemType, itemTypes } from '../hn-item.ts'
import type { Database, Row, Value } from './database.ts'
import { absent, columns, type ItemRow, rowOf } from './item-row.ts'
import type { Prefix } from './schema.ts'

/** Values of one statement: for many, more were no faster; for a few, most of 256 would stand for nothing. */
const widths = { few: 4, many: 256 } as const
const marksOf = { few: numberedMarks(widths.few), many: numberedMarks(widths.many) } as const
const columnList = columns.join(', ')
/** New rows wait for the next fold up to this number. With twice as many, folds cost a tenth less and searches wait longer. */
const freshMax = 65_536

/** One set of tables: how its rows are found, and how new ones are folded in. */
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
    const { prefix } = this
    const sql = (marks: string) => `SELECT id, seq FROM ${prefix}fresh WHERE id IN (${marks})
      UNION ALL SELECT id, seq FROM ${prefix}place WHERE id IN (${marks})`
    for (const row of this.#allOf(sql, hnIds)) found.set(row[0] as number, row[1] as number)
    return found
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

  lastSeq(): number {
    return this.database.number(`SELECT max(seq) FROM ${this.prefix}item`) ?? 0
  }

  hasFresh(): boolean {
    return this.database.number(`SELECT 1 FROM ${this.prefix}fresh LIMIT 1`) !== null
  }

  needsFold(): boolean {
    return (this.database.number(`SELECT count(*) FROM ${this.prefix}fresh`) ?? 0) >= freshMax
  }

  /**
   * Brings new rows over to the tables that are searched, each in that table's own order: neighbours share a page, which is
   * written once. Rows that were changed while they were fresh are there already, hence OR IGNORE. Within a write.
   */
  fold(): void {
    const { prefix } = this
    // New rows are the last ones that arrived, without a gap.
    const from = `FROM ${prefix}item WHERE seq >= (SELECT min(seq) FROM ${prefix}fresh)`
    const time = `coalesce(time, ${absent})`
    const score = `coalesce(score, ${absent})`
    this.database.exec(`
      INSERT INTO ${prefix}place SELECT id, seq FROM ${prefix}fresh ORDER BY id;
      INSERT OR IGNORE INTO ${prefix}by_time SELECT kind, ${time}, id, seq ${from} ORDER BY 1, 2, 3;
      INSERT OR IGNORE INTO ${prefix}by_score SELECT kind, ${score}, id, seq ${from} ORDER BY 1, 2, 3;
      INSERT OR IGNORE INTO ${prefix}by_author SELECT author, ${time}, id, seq ${from} AND author IS NOT NULL ORDER BY 1, 2, 3;
      INSERT OR IGNORE INTO ${prefix}by_parent SELECT parent, id, seq ${from} AND parent IS NOT NULL ORDER BY 1, 2;
      DELETE FROM ${prefix}fresh;`)
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
