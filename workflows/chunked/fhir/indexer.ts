import { messageOf } from 'sluice/errors'
import type { Definitions } from './definitions.ts'
import type { TypedValue } from './medplum.ts'
import { type SearchParameter, SearchParameters } from './search-parameter.ts'
import { type Term, type TermValue, termValues } from './term.ts'
import type { Resource } from './validation.ts'

/** Grows when other terms come out of the same resource: what was indexed with a lower one is out of date. */
export const indexVersion = 1

/** Terms of one resource: what is beyond is left out, in the order of the resource. */
export const termsMax = 500

export type Indexed = { readonly terms: readonly Term[] } | { readonly fault: string }

/** From a resource to the terms by which it is found. The same resource always gives the same terms in the same order. */
export class Indexer {
  readonly #definitions: Definitions
  readonly parameters: SearchParameters

  constructor(definitions: Definitions) {
    this.#definitions = definitions
    this.parameters = new SearchParameters(definitions)
  }

  index(resource: Resource): Indexed {
    const { medplum } = this.#definitions
    const input = [medplum.toTypedValue(resource)]
    const terms: Term[] = []
    for (const parameter of this.parameters.of(resource.resourceType).about(resource)) {
      try {
        const found = medplum.evalFhirPathTyped(parameter.expression, input, {})
        for (const value of distinct(parameter, found)) terms.push({ param: parameter.code, value })
      } catch (error) {
        return {
          fault: `The search parameter ${parameter.code} cannot be evaluated: ${messageOf(error).slice(0, 300)}`,
        }
      }
      if (terms.length >= termsMax) return { terms: terms.slice(0, termsMax) }
    }
    return { terms }
  }
}

function distinct({ kind }: SearchParameter, found: readonly TypedValue[]): Set<TermValue> {
  return new Set(found.flatMap((value) => termValues(kind, value)))
}
