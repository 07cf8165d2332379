import { SluiceError } from 'sluice/errors'
import type { TermValue } from '../term.ts'
import type { Database, Value } from './database.ts'
import { compareValues, type IndexRows } from './index-rows.ts'
import type { TermRange } from './search-range.ts'

export interface FoundNumbers {
  readonly numbers: readonly number[]
  /** Where the next page begins; null: there is no more. */
  readonly next: string | null
}

interface TermQuery {
  readonly param: number
  readonly range: TermRange
  readonly limit: number
  readonly after: string | null
  readonly isWanted: (number: number) => boolean
}

/**
 * In the order of the values found, then of arrival. What is put meanwhile moves nothing to another page. A resource with
 * several values in the range is found by the lowest of them, once. A page may have fewer than the limit, or none, and still go on.
 */
export function findNumbers(
  { database, indexRows }: { readonly database: Database; readonly indexRows: IndexRows },
  { param, range, limit, after, isWanted }: TermQuery,
): FoundNumbers {
  const values: Value[] = [param, range.from, range.to]
  if (after !== null) values.push(...cursorOf(after))
  const behind = after === null ? '' : 'AND (value, number) > (?4, ?5)'
  const rows = database.all(
    `SELECT value, number FROM term WHERE param = ?1 AND value >= ?2 AND value <= ?3 ${behind}
     ORDER BY value, number LIMIT ${limit}`,
    values,
  ) as (readonly [TermValue, number])[]
  const isFirst = (value: TermValue, number: number) => {
    if (range.from === range.to) return true
    for (const [other, found] of indexRows.terms(number) ?? []) {
      if (other === param && compareValues(found, range.from) >= 0 && compareValues(found, value) < 0) return false
    }
    return true
  }
  const numbers = rows
    .filter(([value, number]) => isWanted(number) && isFirst(value, number))
    .map(([, number]) => number)
  const end = rows.at(-1)
  return { numbers, next: end && rows.length === limit ? textOf(end) : null }
}

function textOf(end: readonly [TermValue, number]): string {
  return Buffer.from(JSON.stringify(end)).toString('base64url')
}

function cursorOf(text: string): readonly [TermValue, number] {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    if (Array.isArray(parsed) && parsed.length === 2 && typeof parsed[1] === 'number') {
      const [value, number] = parsed as [unknown, number]
      if (typeof value === 'string' || typeof value === 'number') return [value, number]
    }
  } catch {}
  throw new SluiceError('invalid', 'This is not a place in a list of found resources. Begin again without it.', {})
}
