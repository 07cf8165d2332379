import { createHash } from 'node:crypto'
import { type CheckedQuery, refused } from './search-query.ts'

/** The last row of a page: the next one begins behind it, whatever was added before it since. */
export interface PageCursor {
  readonly key: number
  readonly hnId: number
}

/** A cursor carries a print of its query: with another one it would skip rows without a word. */
export function writeCursor(query: CheckedQuery, { key, hnId }: PageCursor): string {
  return Buffer.from(JSON.stringify([printOf(query), key, hnId])).toString('base64url')
}

export function readCursor(query: CheckedQuery): PageCursor | null {
  if (query.after === undefined) return null
  const value = parsed(query.after)
  if (!Array.isArray(value) || value.length !== 3) throw refused('after', 'after is not the `next` of a page')
  const [print, key, hnId] = value
  if (print !== printOf(query))
    throw refused('after', 'after belongs to another query; its other fields must stay as they were')
  if (typeof key !== 'number' || !Number.isSafeInteger(hnId))
    throw refused('after', 'after is not the `next` of a page')
  return { key, hnId }
}

function parsed(after: string): unknown {
  try {
    return JSON.parse(Buffer.from(after, 'base64url').toString())
  } catch {
    return null
  }
}

/** Pages may differ in their size only. */
function printOf({ after: _, limit: __, ...query }: CheckedQuery): string {
  const fields = Object.entries(query).filter(([, value]) => value !== undefined)
  fields.sort(([left], [right]) => (left < right ? -1 : 1))
  return createHash('sha256').update(JSON.stringify(fields)).digest('base64url').slice(0, 12)
}
