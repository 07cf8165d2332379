import { messageOf, SluiceError } from '../errors.ts'
import { documentLimits } from './document.ts'

/** A place in a document, from its root. */
export type JsonPlace = readonly PropertyKey[]

/** `$.workflows[0].states["in review"]` */
export function placeText(place: JsonPlace): string {
  const steps = place.map((key) => {
    if (typeof key === 'number') return `[${key}]`
    const name = String(key)
    return /^[A-Za-z_][A-Za-z0-9_-]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`
  })
  return `$${steps.join('')}`
}

export function valueAt(root: unknown, place: JsonPlace): unknown {
  let value = root
  for (const key of place) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<PropertyKey, unknown>)[key]
  }
  return value
}

/** What stood somewhere, short enough for a sentence. */
export function valueText(value: unknown, charactersMax = 80): string {
  if (value === undefined) return 'nothing'
  const text = JSON.stringify(value) ?? typeof value
  return text.length <= charactersMax ? text : `${text.slice(0, charactersMax - 1).toWellFormed()}…`
}

/**
 * A copy that is JSON and nothing else, so that what is kept cannot change under us and reads back as it was. Text is
 * parsed first. Refused: what JSON cannot say, `__proto__` keys, and what is too big or too deep.
 */
export function copyJson(given: unknown): unknown {
  const value = typeof given === 'string' ? parse(given) : given
  let characters = 0
  const open = new Set<object>()
  const spend = (amount: number): void => {
    characters += amount
    if (characters > documentLimits.charactersMax) {
      throw refused([], `at most ${documentLimits.charactersMax} characters of JSON`, 'more')
    }
  }
  const copy = (value: unknown, place: JsonPlace): unknown => {
    spend(1)
    if (value === null || typeof value === 'boolean') return value
    if (typeof value === 'string') {
      spend(value.length)
      return value
    }
    if (typeof value === 'number') {
      if (!Number.isFinite(value)) throw refused(place, 'a finite number', String(value))
      return value
    }
    if (value === undefined) throw refused(place, 'a JSON value', 'nothing')
    if (typeof value !== 'object') throw refused(place, 'a JSON value', `a ${typeof value}`)
    if (open.has(value)) throw refused(place, 'a JSON value', 'an object that contains itself')
    if (place.length >= documentLimits.depthMax) {
      throw refused(place.slice(0, 8), `at most ${documentLimits.depthMax} levels`, 'more below it')
    }
    open.add(value)
    const copied = Array.isArray(value)
      ? Array.from(value, (item, index) => copy(item, [...place, index]))
      : fields(value, place)
    open.delete(value)
    return copied
  }
  const fields = (value: object, place: JsonPlace): unknown => {
    const prototype = Object.getPrototypeOf(value)
    if (prototype !== Object.prototype && prototype !== null) {
      throw refused(place, 'a plain object', `a ${value.constructor?.name ?? 'strange object'}`)
    }
    const copied: Record<string, unknown> = {}
    for (const [key, field] of Object.entries(value)) {
      if (key === '__proto__') throw refused(place, 'keys that are names', 'the key __proto__')
      // JSON leaves such a field out; so does everyone who reads it.
      if (field === undefined) continue
      spend(key.length)
      copied[key] = copy(field, [...place, key])
    }
    return copied
  }
  return copy(value, [])
}

function parse(text: string): unknown {
  if (text.length > documentLimits.charactersMax) {
    throw refused([], `at most ${documentLimits.charactersMax} characters of JSON`, `${text.length}`)
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new SluiceError('invalid', `The workflow document is no JSON: ${messageOf(error, 200)}.`, {}, error)
  }
}

function refused(place: JsonPlace, expected: string, found: string): SluiceError {
  const path = placeText(place)
  return new SluiceError(
    'invalid',
    `The workflow document is refused: at ${path} expected ${expected}, found ${found}.`,
    {
      path,
    },
  )
}
