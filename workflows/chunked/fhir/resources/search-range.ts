import { SluiceError } from 'sluice/errors'
import { dateBounds } from '../date-bounds.ts'
import type { ParameterKind } from '../search-parameter.ts'
import { cut, foldText, referenceValue, sortable, type TermValue, tokenValue, unitPrefix } from '../term.ts'

/** Values from the first to the last, both included. */
export interface TermRange {
  readonly from: TermValue
  readonly to: TermValue
}

/** Sorts behind every character. */
const last = '\u{10ffff}'

/** Which terms a search for this text means. */
export function searchRange(kind: ParameterKind, text: string): TermRange {
  if (text === '') throw invalid('There is nothing to search for: the value is empty.', text)
  switch (kind) {
    case 'string':
      return beginningWith(foldText(text))
    case 'token':
      return tokenRange(text)
    case 'reference':
      if (!/[/:]/.test(text)) throw invalid(`A reference is Type/id or an address; it was ${text}.`, text)
      return exactly(referenceValue(text))
    case 'date':
      return dateRange(text)
    case 'number':
      return numberRange(text)
    case 'quantity':
      return quantityRange(text)
    case 'uri':
      return exactly(cut(text))
    default:
      return kind satisfies never
  }
}

/** code, |code or system|code. */
function tokenRange(text: string): TermRange {
  const bar = text.indexOf('|')
  if (bar < 0) return beginningWith(tokenValue(undefined, text))
  const code = text.slice(bar + 1)
  if (code === '') {
    throw new SluiceError(
      'unsupported',
      `Searching for all codes of a system (${text}) is not supported. Name a code too.`,
    )
  }
  return exactly(tokenValue(text.slice(0, bar) || undefined, code))
}

const comparison = /^(eq|ge|le|gt|lt)?(.*)$/s

function dateRange(text: string): TermRange {
  const [, compare, date] = comparison.exec(text)!
  const bounds = dateBounds(date!)
  if (!bounds) throw invalid(`A date is like 2020, 2020-02, 2020-02-28 or 2020-02-28T13:00:00Z; it was ${text}.`, text)
  return compared(compare, bounds.from, bounds.to, 1)
}

/** As many digits as are written count: 5.4 is from 5.35 to just below 5.45. */
function numberBounds(text: string): readonly [compare: string | undefined, from: number, to: number] {
  const [, compare, digits] = comparison.exec(text)!
  const match = /^[+-]?\d+(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(digits!)
  const value = Number(digits)
  if (!match || !Number.isFinite(value)) throw invalid(`A number was expected; it was ${text}.`, text)
  if (compare !== undefined && compare !== 'eq') return [compare, value, value]
  const half = 0.5 * 10 ** (Number(match[2] ?? 0) - (match[1]?.length ?? 0))
  const below = value + half
  return [compare, value - half, below - Math.max(Math.abs(below) * Number.EPSILON, Number.MIN_VALUE)]
}

function numberRange(text: string): TermRange {
  const [compare, from, to] = numberBounds(text)
  return compared(compare, from, to, Number.MIN_VALUE)
}

/** 5.4, 5.4|system|code or 5.4||unit. */
function quantityRange(text: string): TermRange {
  const [amount = '', system, unit] = text.split('|')
  if (system === undefined) return numberRange(amount)
  if (!unit) throw invalid(`A quantity is like 5.4, 5.4|http://unitsofmeasure.org|mg or 5.4||mg; it was ${text}.`, text)
  const { from, to } = numberRange(amount)
  const prefix = unitPrefix(system || undefined, unit)
  return { from: prefix + sortable(from as number), to: prefix + sortable(to as number) }
}

function compared(compare: string | undefined, from: number, to: number, step: number): TermRange {
  const next = (value: number) => value + Math.max(step, Math.abs(value) * Number.EPSILON)
  const previous = (value: number) => value - Math.max(step, Math.abs(value) * Number.EPSILON)
  switch (compare) {
    case 'ge':
      return { from, to: Number.MAX_VALUE }
    case 'gt':
      return { from: next(to), to: Number.MAX_VALUE }
    case 'le':
      return { from: -Number.MAX_VALUE, to }
    case 'lt':
      return { from: -Number.MAX_VALUE, to: previous(from) }
    default:
      return { from, to }
  }
}

function exactly(value: TermValue): TermRange {
  return { from: value, to: value }
}

function beginningWith(text: string): TermRange {
  return { from: text, to: text + last }
}

function invalid(message: string, value: string): SluiceError {
  return new SluiceError('invalid', message, { value: value.slice(0, 200) })
}
