import type { Definitions } from './definitions.ts'

interface ValueSet {
  readonly compose?: { readonly include?: readonly Include[]; readonly exclude?: readonly unknown[] }
}

interface Include {
  readonly system?: string
  readonly concept?: readonly Concept[]
  readonly filter?: readonly unknown[]
  readonly valueSet?: readonly string[]
}

interface CodeSystem {
  readonly url?: string
  readonly content?: string
  readonly concept?: readonly Concept[]
}

interface Concept {
  readonly code: string
  readonly concept?: readonly Concept[]
}

const ownSystems = 'http://hl7.org/fhir/'

/** The codes of a set, if the specification itself lists all of them; null: that cannot be known here. */
export function codesOf(definitions: Definitions, valueSet: string): ReadonlySet<string> | null {
  const [url = ''] = valueSet.split('|')
  const found = definitions.terminology(url) as ValueSet | undefined
  const { include = [], exclude = [] } = found?.compose ?? {}
  if (include.length === 0 || exclude.length > 0) return null
  const codes = new Set<string>()
  for (const part of include) {
    if (part.filter || part.valueSet) return null
    const concepts = part.concept ?? conceptsOf(definitions, part.system)
    if (!concepts) return null
    addCodes(concepts, codes)
  }
  return codes
}

function conceptsOf(definitions: Definitions, system = ''): readonly Concept[] | null {
  if (!system.startsWith(ownSystems)) return null
  const found = definitions.terminology(`${ownSystems}CodeSystem/${system.slice(ownSystems.length)}`)
  const { url, content, concept } = (found ?? {}) as CodeSystem
  return url === system && content === 'complete' && concept ? concept : null
}

function addCodes(concepts: readonly Concept[], codes: Set<string>): void {
  for (const { code, concept } of concepts) {
    codes.add(code)
    if (concept) addCodes(concept, codes)
  }
}
