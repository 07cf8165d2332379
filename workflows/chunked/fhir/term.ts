import { dateBounds } from './date-bounds.ts'
import type { TypedValue } from './medplum.ts'
import type { ParameterKind } from './search-parameter.ts'
import { isObject, type JsonObject } from './shape.ts'

/** What an index holds of a value: a number, or a text that was brought into one form. */
export type TermValue = string | number

export interface Term {
  /** The code of the search parameter. */
  readonly param: string
  readonly value: TermValue
}

/** Characters of one value: what is longer is found by its beginning. */
export const termCharsMax = 200

/** The values by which something is found that a search parameter's expression has found in a resource. */
export function termValues(kind: ParameterKind, { type, value }: TypedValue): TermValue[] {
  switch (kind) {
    case 'string':
      return stringsOf(type, value).map(foldText).filter(isSaid)
    case 'token':
      return tokensOf(type, value)
    case 'reference':
      return referenceOf(value).map(cut)
    case 'date':
      return datesOf(value)
    case 'number':
      return numbersOf(value)
    case 'quantity':
      return quantitiesOf(value)
    case 'uri':
      return textsOf(value).map(cut)
    default:
      return kind satisfies never
  }
}

/** Without accents, in small letters, with single spaces: so people find names however they were typed. */
export function foldText(text: string): string {
  const bare = text.normalize('NFKD').replace(/\p{M}/gu, '')
  return cut(bare.toLowerCase().replace(/\s+/g, ' ').trim())
}

/** The code comes first, as it is also asked for without its system. */
export function tokenValue(system: string | undefined, code: string): string {
  return cut(`${code.replace(/[\\|]/g, '\\$&')}|${system ?? ''}`)
}

/** A number as text that sorts as the number does: so a unit can stand before it. */
export function sortable(value: number): string {
  view.setFloat64(0, value === 0 ? 0 : value)
  const bits = view.getBigUint64(0)
  const ordered = value < 0 ? ~bits & allBits : bits | signBit
  return ordered.toString(16).padStart(16, '0')
}

const view = new DataView(new ArrayBuffer(8))
const signBit = 1n << 63n
const allBits = (1n << 64n) - 1n

/** How a quantity of that unit begins; sortable numbers follow. */
export function unitPrefix(system: string | undefined, unit: string): string {
  return `${tokenValue(system, unit)}|`
}

/** The address of a resource without its version. */
export function referenceValue(reference: string): string {
  return cut(reference.replace(/\/_history\/[^/]+$/, ''))
}

export function cut(text: string): string {
  return text.length <= termCharsMax ? text : text.slice(0, termCharsMax)
}

/** Each part is found by its own beginning. */
const stringParts: Readonly<Record<string, readonly string[]>> = {
  HumanName: ['text', 'family', 'given', 'prefix', 'suffix'],
  Address: ['text', 'line', 'city', 'district', 'state', 'postalCode', 'country'],
  CodeableConcept: ['text'],
}

function stringsOf(type: string, value: unknown): string[] {
  if (!isObject(value) || value instanceof String) return textsOf(value)
  return (stringParts[type] ?? []).flatMap((part) => [value[part]].flat().filter((text) => typeof text === 'string'))
}

function tokensOf(type: string, value: unknown): string[] {
  if (!isObject(value) || value instanceof String) return textsOf(value).map((text) => tokenValue(undefined, text))
  switch (type) {
    case 'CodeableConcept':
      return [value.coding].flat().flatMap((coding) => (isObject(coding) ? token(coding.system, coding.code) : []))
    case 'Coding':
      return token(value.system, value.code)
    case 'Identifier':
    case 'ContactPoint':
      return token(value.system, value.value)
    default:
      return []
  }
}

function token(system: unknown, code: unknown): string[] {
  if (typeof code !== 'string') return []
  return [tokenValue(typeof system === 'string' ? system : undefined, code)]
}

function referenceOf(value: unknown): string[] {
  if (!isObject(value) || value instanceof String) return textsOf(value).map(referenceValue)
  if (typeof value.reference === 'string') return [referenceValue(value.reference)]
  if (typeof value.resourceType === 'string' && typeof value.id === 'string')
    return [`${value.resourceType}/${value.id}`]
  return []
}

/** A period is found by its beginning; one that has none, by its end. */
function datesOf(value: unknown): number[] {
  if (!isObject(value) || value instanceof String) return textsOf(value).flatMap((text) => dateBounds(text)?.from ?? [])
  if (Array.isArray(value.event)) return value.event.flatMap(datesOf)
  return datesOf(value.start ?? value.end ?? [])
}

function numbersOf(value: unknown): number[] {
  if (typeof value === 'number') return [value]
  const { low, high } = isObject(value) ? value : ({} as JsonObject)
  return [low, high].flatMap((bound) => (isObject(bound) ? numbersOf(bound.value) : []))
}

function quantitiesOf(value: unknown): TermValue[] {
  if (typeof value === 'number') return [value]
  if (!isObject(value)) return []
  const { system, code, unit, currency, value: amount } = value
  if (typeof amount !== 'number') return [value.low, value.high, value.origin].flatMap(quantitiesOf)
  const units = new Set<string>()
  if (typeof code === 'string') units.add(unitPrefix(typeof system === 'string' ? system : undefined, code))
  for (const name of [code, unit, currency]) if (typeof name === 'string') units.add(unitPrefix(undefined, name))
  return [amount, ...[...units].map((prefix) => prefix + sortable(amount))]
}

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  // Where a value has extensions, medplum gives it as an object that stands for it.
  if (value instanceof String || typeof value === 'boolean' || typeof value === 'number') return [String(value)]
  return []
}

function isSaid(text: string): boolean {
  return text !== ''
}
