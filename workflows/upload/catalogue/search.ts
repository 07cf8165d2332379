import { type ItemType, itemTypes } from '../hn-item.ts'
import type { Row, Value } from './database.ts'
import { type FoundRow, foundRows } from './found-row.ts'
import { wayDown } from './hierarchy.ts'
import { absent, columns, kindOf, rowOf } from './item-row.ts'
import { matchExpression } from './match-expression.ts'
import { type PageCursor, readCursor, writeCursor } from './page-cursor.ts'
import type { Prefix } from './schema.ts'
import { type CheckedQuery, checkQuery, type SearchQuery } from './search-query.ts'
import type { Shelf } from './shelf.ts'

export interface SearchPage {
  readonly rows: readonly FoundRow[]
  /** For the next page, as `after`; null: this was the last one. */
  readonly next: string | null
}

/** SQL with its values, put together piece by piece. */
interface Piece {
  readonly sql: string
  readonly values: readonly Value[]
}

/** Where rows come from, and the number they are sorted by. If they come in that order, the walk ends after a page. */
interface Source {
  /** The table to begin with, as `source`, joined to its rows, as `item`. */
  readonly from: string
  readonly where: readonly Piece[]
  readonly key: string
  /** The id as the source has it: sorted with the key, it needs no sorting. */
  readonly id: string
}

/** With fewer rows in a range than this, they are fetched and sorted; with more, the table in the wanted order is walked. */
const collectedMax = 10_000
/** A word in the title says more about an item than one in its text. */
const titleWeight = 4
const textWeight = 1

/** Only what was folded is found. Within a read. */
export function search(shelf: Shelf, given: SearchQuery): SearchPage {
  const query = checkQuery(given)
  const cursor = readCursor(query)
  const sources = sourcesOf(shelf, query)
  const found = sources.flatMap((source) => rowsFrom(shelf, query, cursor, source))
  if (sources.length > 1) sortFound(found, query)
  const page = found.slice(0, query.limit)
  const last = page.at(-1)
  const isMore = found.length > page.length && last
  return {
    rows: foundRows(
      shelf,
      page.map((row) => rowOf(row.slice(1))),
    ),
    next: isMore ? writeCursor(query, { key: Number(last[0]), hnId: Number(last[2]) }) : null,
  }
}

/** Several sources (one for each kind) each give a page's worth; the page is made of the first of all of them. */
function sortFound(found: Row[], { sortOrder }: CheckedQuery): void {
  const sign = sortOrder === 'asc' ? 1 : -1
  found.sort((left, right) => {
    const difference = Number(left[0]) - Number(right[0]) || Number(left[2]) - Number(right[2])
    return sign * difference
  })
}

function rowsFrom(shelf: Shelf, query: CheckedQuery, cursor: PageCursor | null, source: Source): Row[] {
  const { sortOrder, limit } = query
  const conditions = [...source.where, ...filtersOf(query)]
  if (cursor) {
    const sign = sortOrder === 'asc' ? '>' : '<'
    conditions.push(piece(`(${source.key}, ${source.id}) ${sign} (?, ?)`, cursor.key, cursor.hnId))
  }
  const where = conditions.map(({ sql }) => sql).join(' AND ') || 'true'
  const selected = [source.key, ...columns.map((column) => `item.${column}`)].join(', ')
  const sql = `SELECT ${selected} FROM ${source.from} WHERE ${where}
    ORDER BY ${source.key} ${sortOrder}, ${source.id} ${sortOrder} LIMIT ?`
  return [...shelf.database.all(sql, [...conditions.flatMap(({ values }) => values), limit + 1])]
}

/** The narrowest way to the rows that the query allows. */
function sourcesOf(shelf: Shelf, query: CheckedQuery): Source[] {
  const { prefix } = shelf
  const { text, author, parentId, includeDescendants, sortBy, maxDepth } = query
  const rows = `CROSS JOIN ${prefix}item AS item ON item.seq = source.`
  const sorted = { key: sortKeyOf(prefix, query), id: 'item.id' }
  const below =
    includeDescendants && parentId !== undefined
      ? JSON.stringify(Array.from(wayDown(shelf, parentId, maxDepth), ({ seq }) => seq))
      : null
  if (text !== undefined) {
    const where = [piece(`${prefix}words MATCH ?`, matchExpression(text))]
    if (below !== null) where.push(piece('item.seq IN (SELECT value FROM json_each(?))', below))
    return [
      { ...sorted, from: `${prefix}words CROSS JOIN ${prefix}item AS item ON item.seq = ${prefix}words.rowid`, where },
    ]
  }
  // The first value of the statement is the list itself, which stands before any condition.
  if (below !== null) return [{ ...sorted, from: `json_each(?) AS source ${rows}value`, where: [piece('true', below)] }]
  if (parentId !== undefined) {
    return [
      { ...sorted, from: `${prefix}by_parent AS source ${rows}seq`, where: [piece('source.parent = ?', parentId)] },
    ]
  }
  if (author !== undefined) {
    const order = sortBy === 'time' ? { key: 'source.time', id: 'source.id' } : sorted
    const where = [piece('source.author = ?', author), ...rangeOf('source.time', query.fromTime, query.toTime)]
    return [{ ...order, from: `${prefix}by_author AS source ${rows}seq`, where }]
  }
  return kindsOf(query).map((kind) => kindSource(shelf, query, kind, rows))
}

/**
 * One kind, walked in the wanted order; or, if the other range of the query holds few rows of this kind, through that
 * range: a walk by time past a million comments for those with a score would find none.
 */
function kindSource({ prefix, database }: Shelf, query: CheckedQuery, kind: number, rows: string): Source {
  const [column, other] = query.sortBy === 'score' ? (['score', 'time'] as const) : (['time', 'score'] as const)
  const ranges = { score: [query.minScore, query.maxScore], time: [query.fromTime, query.toTime] } as const
  const through = (name: 'score' | 'time') => ({
    from: `${prefix}by_${name} AS source`,
    where: [piece('source.kind = ?', kind), ...rangeOf(`source.${name}`, ...ranges[name])],
  })
  const isFew = () => {
    const { from, where } = through(other)
    const sql = `SELECT 1 FROM ${from} WHERE ${where.map((part) => part.sql).join(' AND ')} LIMIT ${collectedMax}`
    const values = where.flatMap((part) => part.values)
    return (database.number(`SELECT count(*) FROM (${sql})`, values) ?? 0) < collectedMax
  }
  const isOtherBound = ranges[other].some((end) => end !== undefined)
  if (isOtherBound && isFew()) {
    const { from, where } = through(other)
    return { from: `${from} ${rows}seq`, where, key: sortKeyOf(prefix, query), id: 'item.id' }
  }
  const { from, where } = through(column)
  return { from: `${from} ${rows}seq`, where, key: `source.${column}`, id: 'source.id' }
}

/** Every condition on the row itself: a source may hold more than was asked for. */
function filtersOf(query: CheckedQuery): Piece[] {
  const kinds = kindsOf(query)
  const pieces = [
    piece(`item.kind IN (${kinds.map(() => '?').join(', ')})`, ...kinds),
    ...rangeOf('item.score', query.minScore, query.maxScore),
    ...rangeOf('item.time', query.fromTime, query.toTime),
  ]
  if (query.author !== undefined) pieces.push(piece('item.author = ?', query.author))
  if (query.parentId !== undefined && !query.includeDescendants) pieces.push(piece('item.parent = ?', query.parentId))
  return pieces
}

/** An open lower end begins above what stands for an absent value. */
function rangeOf(column: string, low: number | undefined, high: number | undefined): Piece[] {
  if (low === undefined && high === undefined) return []
  const pieces = [low === undefined ? piece(`${column} > ?`, absent) : piece(`${column} >= ?`, low)]
  if (high !== undefined) pieces.push(piece(`${column} <= ?`, high))
  return pieces
}

function kindsOf({ types = itemTypes, parentId, rootItemsOnly }: CheckedQuery): number[] {
  const kinds = (hasParent: boolean) => [...new Set<ItemType>(types)].map((type) => kindOf(type, hasParent))
  return [...(parentId === undefined ? kinds(false) : []), ...(rootItemsOnly ? [] : kinds(true))]
}

function sortKeyOf(prefix: Prefix, { sortBy }: CheckedQuery): string {
  switch (sortBy) {
    case 'time':
      return `coalesce(item.time, ${absent})`
    case 'score':
      return `coalesce(item.score, ${absent})`
    case 'relevance':
      // The function gives lower numbers to better matches.
      return `-bm25(${prefix}words, ${titleWeight}, ${textWeight})`
    default:
      return sortBy satisfies never
  }
}

function piece(sql: string, ...values: Value[]): Piece {
  return { sql, values }
}
