import type { Term, TermValue } from '../term.ts'
import type { Database } from './database.ts'

/** A term with the number of its parameter. */
export type NumberedTerm = readonly [param: number, value: TermValue]

/** The search index within the file. All of it happens within a write of whoever calls. */
export class IndexRows {
  readonly #database: Database
  readonly #params = new Map<string, number>()

  constructor(database: Database) {
    this.#database = database
  }

  param(type: number, code: string): number | null {
    const key = `${type} ${code}`
    const known = this.#params.get(key)
    if (known !== undefined) return known
    const found = this.#database.number('SELECT number FROM param WHERE type = ? AND code = ?', [type, code])
    if (found !== null) this.#params.set(key, found)
    return found
  }

  /** After a write that was undone: numbers that were given in it may be given again to others. */
  forget(): void {
    this.#params.clear()
  }

  /** In one order, so that the same terms are the same text. */
  numbered(type: number, terms: readonly Term[]): NumberedTerm[] {
    return terms.map(({ param, value }): NumberedTerm => [this.#giveParam(type, param), value]).sort(compareTerms)
  }

  terms(number: number): NumberedTerm[] | null {
    const text = this.#text(number)
    return text === null ? null : (JSON.parse(text) as NumberedTerm[])
  }

  /** Whether anything was changed. */
  replace(changes: ReadonlyMap<number, readonly NumberedTerm[]>): Set<number> {
    const changed = new Set<number>()
    const gone: (readonly [number, TermValue, number])[] = []
    const come: (readonly [number, TermValue, number])[] = []
    for (const [number, terms] of changes) {
      const before = this.#text(number)
      const text = JSON.stringify(terms)
      if (text === before) continue
      changed.add(number)
      const [old, now] = difference(before === null ? [] : (JSON.parse(before) as NumberedTerm[]), terms)
      for (const [param, value] of old) gone.push([param, value, number])
      for (const [param, value] of now) come.push([param, value, number])
      this.#database.run('INSERT OR REPLACE INTO indexed (number, terms) VALUES (?, ?)', [number, text])
    }
    // In the order of the table: neighbours are written together.
    for (const key of gone.sort(compareKeys)) {
      this.#database.run('DELETE FROM term WHERE param = ? AND value = ? AND number = ?', key)
    }
    for (const key of come.sort(compareKeys)) {
      this.#database.run('INSERT INTO term (param, value, number) VALUES (?, ?, ?)', key)
    }
    return changed
  }

  #text(number: number): string | null {
    const value = this.#database.all('SELECT terms FROM indexed WHERE number = ?', [number])[0]?.[0]
    return typeof value === 'string' ? value : null
  }

  #giveParam(type: number, code: string): number {
    const known = this.param(type, code)
    if (known !== null) return known
    this.#database.run('INSERT INTO param (type, code) VALUES (?, ?)', [type, code])
    return this.param(type, code)!
  }
}

/** As SQLite sorts them: numbers before texts, texts by their bytes. */
export function compareValues(left: TermValue, right: TermValue): number {
  if (typeof left === 'number') return typeof right === 'number' ? left - right : -1
  if (typeof right === 'number') return 1
  if (left === right) return 0
  return Buffer.compare(Buffer.from(left), Buffer.from(right))
}

/** Close to the order of the table, and cheaper: only characters beyond the first 65,536 are sorted otherwise. */
function compareTerms(left: NumberedTerm, right: NumberedTerm): number {
  const [param, value] = left
  const [otherParam, otherValue] = right
  if (param !== otherParam) return param - otherParam
  if (value === otherValue) return 0
  if (typeof value === typeof otherValue) return value < otherValue ? -1 : 1
  return typeof value === 'number' ? -1 : 1
}

function compareKeys(left: readonly [number, TermValue, number], right: readonly [number, TermValue, number]): number {
  return compareTerms([left[0], left[1]], [right[0], right[1]]) || left[2] - right[2]
}

/** What only the one and only the other has. */
function difference(
  old: readonly NumberedTerm[],
  now: readonly NumberedTerm[],
): readonly [NumberedTerm[], readonly NumberedTerm[]] {
  if (old.length === 0) return [[], now]
  const keys = (terms: readonly NumberedTerm[]) => new Map(terms.map((term) => [JSON.stringify(term), term]))
  const before = keys(old)
  const after = keys(now)
  const only = (some: Map<string, NumberedTerm>, others: Map<string, NumberedTerm>) =>
    [...some].filter(([key]) => !others.has(key)).map(([, term]) => term)
  return [only(before, after), only(after, before)]
}
