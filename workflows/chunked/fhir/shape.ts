import type { Definitions } from './definitions.ts'
import type { Issues } from './issue.ts'
import type { TypeElement } from './medplum.ts'
import { codesOf } from './value-set.ts'

export type JsonObject = Readonly<Record<string, unknown>>

interface Field {
  /** value: a string, number or boolean. object: a data type. resource: whatever its resourceType says. */
  readonly kind: 'value' | 'object' | 'resource'
  /** The data type of the object. */
  readonly type: string
  readonly isArray: boolean
  /** The element as the definition names it: deceased[x], not deceasedBoolean. */
  readonly element: string
  /** The set from which a code must be taken. */
  readonly valueSet: string | null
}

type Fields = ReadonlyMap<string, Field>

/** Codes listed in messages: more would hide the sentence. */
const codesShownMax = 12

/**
 * Walks a resource along the definitions and finds what medplum lets pass: a number or a string where an object belongs,
 * lists and objects without content, fields named like members of every JavaScript object, codes that are not in the set
 * that the specification demands, two values for one choice, and nesting that is too deep. Definitions of the resources
 * inside are loaded on the way.
 */
export class Shapes {
  readonly #definitions: Definitions
  readonly #depthMax: number
  readonly #fields = new Map<string, Fields>()
  readonly #codes = new Map<string, ReadonlySet<string> | null>()

  constructor(definitions: Definitions, depthMax: number) {
    this.#definitions = definitions
    this.#depthMax = depthMax
  }

  check(resource: JsonObject, type: string, issues: Issues): void {
    this.#object(resource, type, type, 1, true, issues)
  }

  #object(value: JsonObject, type: string, path: string, depth: number, isResource: boolean, issues: Issues): void {
    if (depth > this.#depthMax) {
      issues.add(path, 'too_deep', `The resource is nested more than ${this.#depthMax} levels deep here.`)
      return
    }
    const fields = this.#fieldsOf(type)
    const chosen = new Map<string, string>()
    let isEmpty = true
    for (const key of Object.keys(value)) {
      if (issues.isFull) return
      isEmpty = false
      if (isResource && key === 'resourceType') continue
      const field = fields.get(key)
      if (!field) {
        issues.add(`${path}.${key}`, 'structure', `${type} has no field ${JSON.stringify(key.slice(0, 100))}.`)
        continue
      }
      if (field.element.endsWith('[x]') && !key.startsWith('_')) {
        const other = chosen.get(field.element)
        if (other !== undefined) {
          issues.add(`${path}.${key}`, 'structure', `There may be one ${field.element} only; ${other} stands here too.`)
        }
        chosen.set(field.element, key)
      }
      this.#field(value[key], field, `${path}.${key}`, depth, key.startsWith('_'), issues)
    }
    if (isEmpty) issues.add(path, 'structure', 'The object is empty. A field without content is left out.')
  }

  #field(value: unknown, field: Field, path: string, depth: number, isExtension: boolean, issues: Issues): void {
    if (Array.isArray(value) !== field.isArray) {
      const expected = field.isArray ? 'A list was' : 'A single value was'
      issues.add(path, 'structure', `${expected} expected here; found ${nameOf(value)}.`)
      return
    }
    if (!Array.isArray(value)) {
      this.#value(value, field, path, depth, issues)
      return
    }
    if (value.length === 0) issues.add(path, 'structure', 'The list is empty. A field without content is left out.')
    for (let index = 0; index < value.length; index += 1) {
      if (issues.isFull) return
      // In two lists that stand side by side, one for values and one for their extensions, null fills gaps.
      if (value[index] === null && (isExtension || field.kind === 'value')) continue
      this.#value(value[index], field, `${path}[${index}]`, depth + 1, issues)
    }
  }

  #value(value: unknown, field: Field, path: string, depth: number, issues: Issues): void {
    switch (field.kind) {
      case 'value':
        if (typeof value === 'object')
          issues.add(path, 'structure', `A ${field.type} was expected here; found ${nameOf(value)}.`)
        else if (value === '') issues.add(path, 'structure', 'The text is empty. A field without content is left out.')
        else if (field.valueSet !== null && typeof value === 'string') this.#code(value, field.valueSet, path, issues)
        return
      case 'object':
      case 'resource':
        if (!isObject(value)) {
          issues.add(path, 'structure', `An object (${field.type}) was expected here; found ${nameOf(value)}.`)
        } else if (field.kind === 'object') this.#object(value, field.type, path, depth + 1, false, issues)
        else this.#inner(value, path, depth + 1, issues)
        return
      default:
        field.kind satisfies never
    }
  }

  #inner(value: JsonObject, path: string, depth: number, issues: Issues): void {
    const type = value.resourceType
    if (typeof type === 'string' && this.#definitions.load(type)) this.#object(value, type, path, depth, true, issues)
    else issues.add(path, 'unknown_type', unknownType(type))
  }

  #code(value: string, valueSet: string, path: string, issues: Issues): void {
    let codes = this.#codes.get(valueSet)
    if (codes === undefined) {
      codes = codesOf(this.#definitions, valueSet)
      this.#codes.set(valueSet, codes)
    }
    if (codes === null || codes.has(value)) return
    const shown = codes.size <= codesShownMax ? ` It must be one of ${[...codes].join(', ')}.` : ''
    issues.add(path, 'unknown_code', `The code is not in ${valueSet.split('|')[0]}.${shown}`)
  }

  #fieldsOf(type: string): Fields {
    let fields = this.#fields.get(type)
    if (!fields) {
      fields = fieldsOf(this.#definitions.medplum.tryGetDataType(type)?.elements ?? {})
      this.#fields.set(type, fields)
    }
    return fields
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function unknownType(type: unknown): string {
  if (type === undefined) return 'resourceType is missing.'
  if (typeof type !== 'string') return `resourceType must be a text; found ${nameOf(type)}.`
  return 'resourceType is not a resource type of FHIR R4.'
}

/** As a person would call it. */
export function nameOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  switch (typeof value) {
    case 'string':
      return 'a text'
    case 'number':
      return 'a number'
    case 'boolean':
      return String(value)
    default:
      return 'an object'
  }
}

function fieldsOf(elements: Readonly<Record<string, TypeElement>>): Fields {
  const fields = new Map<string, Field>()
  for (const [element, { type: types = [], isArray = false, binding }] of Object.entries(elements)) {
    const isChoice = element.endsWith('[x]')
    const valueSet = binding?.strength === 'required' ? (binding.valueSet ?? null) : null
    for (const { code } of types) {
      const key = isChoice ? element.slice(0, -3) + code[0]!.toUpperCase() + code.slice(1) : element
      const kind = kindOf(code)
      fields.set(key, { kind, type: code, isArray, element, valueSet: code === 'code' ? valueSet : null })
      if (kind === 'value') fields.set(`_${key}`, { kind: 'object', type: 'Element', isArray, element, valueSet: null })
    }
  }
  return fields
}

function kindOf(code: string): Field['kind'] {
  if (code === 'Resource') return 'resource'
  // Names of values begin with a small letter, or are addresses of FHIRPath's own.
  return code[0] === code[0]!.toLowerCase() ? 'value' : 'object'
}
