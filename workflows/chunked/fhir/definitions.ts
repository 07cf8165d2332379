import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BundleFile } from './bundle-file.ts'
import { loadPackages, type Medplum, type Packages } from './medplum.ts'

const structureUrl = 'http://hl7.org/fhir/StructureDefinition/'
/** What no resource can be. */
const abstractTypes: ReadonlySet<string> = new Set(['Resource', 'DomainResource'])

let opened: Promise<Definitions> | null = null

/** Once for each thread, as medplum keeps what it has read for the whole thread too. */
export function openDefinitions(): Promise<Definitions> {
  opened ??= loadPackages().then((packages) => new Definitions(packages))
  // Whoever installs what was missing may try again.
  opened.catch(() => {
    opened = null
  })
  return opened
}

/** The definitions of R4. Those of resource types are read when a resource of the type is first met. */
export class Definitions {
  readonly medplum: Medplum
  readonly #folder: string
  readonly #structures: BundleFile
  readonly #types: ReadonlySet<string>
  readonly #loaded = new Set<string>()
  #valueSets: BundleFile | null = null

  constructor({ medplum, folder }: Packages) {
    this.medplum = medplum
    this.#folder = join(folder, 'fhir', 'r4')
    medplum.indexStructureDefinitionBundle(resourcesOf(this.#read('profiles-types.json')))
    this.#structures = new BundleFile(join(this.#folder, 'profiles-resources.json'))
    this.#types = new Set(
      [...this.#structures.urls]
        .filter((url) => url.startsWith(structureUrl))
        .map((url) => url.slice(structureUrl.length))
        .filter((type) => !abstractTypes.has(type)),
    )
  }

  get types(): ReadonlySet<string> {
    return this.#types
  }

  /** Whether this is a type of resource; if so, medplum knows it from now on. */
  load(type: string): boolean {
    if (this.#loaded.has(type)) return true
    if (!this.#types.has(type)) return false
    this.medplum.indexStructureDefinitionBundle([this.#structures.resource(structureUrl + type)])
    this.#loaded.add(type)
    return true
  }

  /** A code system or a set of codes that the specification defines. */
  terminology(url: string): unknown {
    this.#valueSets ??= new BundleFile(join(this.#folder, 'valuesets.json'))
    return this.#valueSets.resource(url)
  }

  searchParameters(): readonly unknown[] {
    return resourcesOf(this.#read('search-parameters.json'))
  }

  #read(name: string): unknown {
    return JSON.parse(readFileSync(join(this.#folder, name), 'utf8'))
  }
}

function resourcesOf(bundle: unknown): readonly unknown[] {
  const { entry = [] } = bundle as { readonly entry?: readonly { readonly resource?: unknown }[] }
  return entry.map(({ resource }) => resource)
}
