import type { Definitions } from './definitions.ts'

/** The kinds that are indexed. Composite ones are put together from others; special ones have no value. */
export const parameterKinds = ['string', 'token', 'reference', 'date', 'number', 'quantity', 'uri'] as const
export type ParameterKind = (typeof parameterKinds)[number]

export interface SearchParameter {
  readonly code: string
  readonly kind: ParameterKind
  /** FHIRPath, parsed, and only the part that is about this type. */
  readonly expression: object
}

interface Definition {
  readonly code?: string
  readonly type?: string
  readonly base?: readonly string[]
  readonly expression?: string
}

/** What every row of the store knows by itself. */
const ownCodes: ReadonlySet<string> = new Set(['_id', '_lastUpdated'])
const sharedBases = ['Resource', 'DomainResource'] as const
/** An expression with these may say something of a field that is absent. */
const sensesAbsence = /exists\(|empty\(|not\(|count\(|!=|!~|\band\b|\bor\b|\bis\b(?! \w+\))/

/** The search parameters of R4, by type. */
export class SearchParameters {
  readonly #definitions: Definitions
  readonly #byBase = new Map<string, Definition[]>()
  readonly #byType = new Map<string, TypeParameters>()

  constructor(definitions: Definitions) {
    this.#definitions = definitions
    for (const definition of definitions.searchParameters() as readonly Definition[]) {
      for (const base of definition.base ?? []) {
        const list = this.#byBase.get(base)
        if (list) list.push(definition)
        else this.#byBase.set(base, [definition])
      }
    }
  }

  of(type: string): TypeParameters {
    let found = this.#byType.get(type)
    if (!found) {
      found = new TypeParameters(type, this.#parse(type))
      this.#byType.set(type, found)
    }
    return found
  }

  #parse(type: string): SearchParameter[] {
    this.#definitions.load(type)
    const parameters: SearchParameter[] = []
    for (const base of [type, ...sharedBases]) {
      for (const definition of this.#byBase.get(base) ?? []) {
        const { code, type: named, expression } = definition
        const kind = parameterKinds.find((known) => known === named)
        if (!code || !kind || !expression || ownCodes.has(code)) continue
        // Medplum takes Resource for the name of a type of its own, which nothing is.
        const own = base === type ? expression : expression.replace(/^(?:Domain)?Resource\b/, type)
        parameters.push({ code, kind, expression: this.#expression(type, { ...definition, expression: own }, own) })
      }
    }
    return parameters
  }

  #expression(type: string, definition: Definition, expression: string): object {
    const { medplum } = this.#definitions
    try {
      return medplum.getSearchParameterDetails(type, definition).parsedExpression
    } catch {
      // Medplum cannot tell the details of a few of them, but can still evaluate them.
      return medplum.parseFhirPath(expression)
    }
  }
}

/** Those of one type. Most of them are about fields that a given resource does not have, and need not be evaluated. */
export class TypeParameters {
  readonly #byCode: ReadonlyMap<string, SearchParameter>
  readonly #always: readonly SearchParameter[]
  /** By the field of the resource at which the expression begins, as FHIRPath names it: value, not valueString. */
  readonly #byField: ReadonlyMap<string, readonly SearchParameter[]>
  readonly #byKey = new Map<string, readonly SearchParameter[]>()

  constructor(type: string, parameters: readonly SearchParameter[]) {
    this.#byCode = new Map(parameters.map((parameter) => [parameter.code, parameter]))
    const always: SearchParameter[] = []
    const byField = new Map<string, SearchParameter[]>()
    for (const parameter of parameters) {
      const fields = fieldsOf(type, String(parameter.expression))
      if (!fields) always.push(parameter)
      for (const field of fields ?? []) byField.set(field, [...(byField.get(field) ?? []), parameter])
    }
    this.#always = always
    this.#byField = byField
  }

  get(code: string): SearchParameter | undefined {
    return this.#byCode.get(code)
  }

  get codes(): string[] {
    return [...this.#byCode.keys()]
  }

  /** Those that may find something in this resource, each once. */
  about(resource: object): Set<SearchParameter> {
    const found = new Set(this.#always)
    for (const key of Object.keys(resource)) for (const parameter of this.#startingAt(key)) found.add(parameter)
    return found
  }

  #startingAt(key: string): readonly SearchParameter[] {
    let found = this.#byKey.get(key)
    if (!found) {
      // valueString may be the field value, by its type String.
      found = [...this.#byField].flatMap(([field, parameters]) =>
        key === field || (key.startsWith(field) && /^[A-Z]/.test(key.slice(field.length))) ? parameters : [],
      )
      // What a resource may be made of is known, but what stands in one that was never checked is not.
      if (this.#byKey.size < keysMax) this.#byKey.set(key, found)
    }
    return found
  }
}

const keysMax = 500

/** The fields of the resource itself that an expression begins with; null: it must be evaluated in any case. */
function fieldsOf(type: string, expression: string): string[] | null {
  if (sensesAbsence.test(expression)) return null
  const starts = new RegExp(`\\b${type}\\.(\\w+)`, 'g')
  const fields = [...expression.matchAll(starts)].map((match) => match[1]!)
  return fields.length > 0 ? [...new Set(fields)] : null
}
