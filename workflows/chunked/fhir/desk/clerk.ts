import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { SluiceError } from 'sluice/errors'
import { openDefinitions } from '../definitions.ts'
import { type Indexed, Indexer, indexVersion } from '../indexer.ts'
import type { Issue } from '../issue.ts'
import { idOfLine, servedText, storedText } from '../resource-text.ts'
import {
  type Entry,
  type Page,
  type PageQuery,
  type PutVerdict,
  Resources,
  type StoredResource,
  type Within,
} from '../resources/resources.ts'
import { type Checked, type Resource, Validator } from '../validation.ts'
import type { DeskSettings, ExportPage, ImportAnswer, ImportGroup, ResourceQuery, Served } from './wire.ts'

/** What knows the definitions of FHIR: a moment of work to open, and not needed for handing out what is stored. */
interface Experts {
  readonly validator: Validator
  readonly indexer: Indexer
}

/** Does what the desk is asked, in the desk's thread. */
export class Clerk {
  readonly resources: Resources
  readonly #settings: DeskSettings
  #experts: Experts | null = null

  constructor(settings: DeskSettings, now: () => number) {
    this.#settings = settings
    mkdirSync(dirname(settings.file), { recursive: true })
    this.resources = new Resources({
      file: settings.file,
      now,
      index: (json) => this.#index(JSON.parse(json) as Resource),
    })
  }

  close(): void {
    this.resources.close()
  }

  /** Before anything that needs to know FHIR. */
  async prepare(): Promise<void> {
    if (this.#experts) return
    const definitions = await openDefinitions()
    this.#experts = {
      validator: new Validator(definitions, this.#settings.validation),
      indexer: new Indexer(definitions),
    }
  }

  check(texts: readonly string[]): (readonly Issue[])[] {
    const { validator } = this.#ready()
    return texts.map((text) => {
      const checked = validator.checkText(text)
      return 'issues' in checked ? checked.issues : []
    })
  }

  /** Good lines are stored, together; bad ones are told of. */
  import({ source, reading, key, type, collection = null, index, lines }: ImportGroup): ImportAnswer {
    const { validator } = this.#ready()
    const refused: { line: number; issues: readonly Issue[] }[] = []
    const entries: Entry[] = []
    const from = reading === undefined ? source : `${reading} ${source}`
    const isGood = lines.map(({ line, text }) => {
      const checked = checkType(validator.checkText(text), type)
      if ('issues' in checked) {
        refused.push({ line, issues: checked.issues })
        return false
      }
      const { resource } = checked
      const id = resource.id ?? idOfLine(source, line)
      const json = storedText(text, resource, id)
      const origin = { source: from, line }
      entries.push({
        type: resource.resourceType,
        id,
        json,
        origin,
        collection,
        ...(index ? { index: () => this.#index(resource) } : {}),
      })
      return true
    })
    const stored = this.resources.put(entries, key === undefined ? {} : { key })
    let next = 0
    const verdicts = isGood.map((good) => (good ? stored[next++]! : 'refused'))
    return { verdicts, refused, types: typesOf(entries, stored) }
  }

  export(query: PageQuery): ExportPage {
    const { items, next } = this.resources.page(query)
    const text = items.map(({ json, version, updatedAt }) => `${servedText(json, version, updatedAt)}\n`).join('')
    return { bytes: new TextEncoder().encode(text), resources: items.length, next }
  }

  get(type: string, id: string, within: Within = {}): Served | null {
    const found = this.resources.get(type, id, within)
    return found && served(found)
  }

  search({ type, param, value, limit, after = null, collection = null }: ResourceQuery): Page<Served, string> {
    const { parameters } = this.#ready().indexer
    const known = parameters.of(type).get(param)
    if (!known) {
      const codes = parameters.of(type).codes
      throw new SluiceError(
        'invalid',
        `${type} has no search parameter ${param} that is indexed.${codes.length > 0 ? ` There are: ${codes.join(', ')}.` : ''}`,
        { type, param },
      )
    }
    const { items, next } = this.resources.search({ type, param, kind: known.kind, value, limit, after, collection })
    return { items: items.map(served), next }
  }

  #index(resource: Resource): Indexed {
    return this.#ready().indexer.index(resource)
  }

  #ready(): Experts {
    if (this.#experts) return this.#experts
    throw new SluiceError('internal', 'The definitions of FHIR have not been opened yet.')
  }
}

function served({ type, id, version, updatedAt, indexedWith, json }: StoredResource): Served {
  return {
    type,
    id,
    version,
    updatedAt,
    isIndexed: indexedWith === indexVersion,
    json: servedText(json, version, updatedAt),
  }
}

function checkType(checked: Checked, type: string | undefined): Checked {
  if (type === undefined || 'issues' in checked || checked.resource.resourceType === type) return checked
  const { resourceType } = checked.resource
  const message = `The resource is of type ${resourceType}; ${type} was expected.`
  return { issues: [{ path: resourceType, code: 'wrong_type', message }] }
}

function typesOf(entries: readonly Entry[], verdicts: readonly PutVerdict[]): ImportAnswer['types'] {
  const types: Record<string, Partial<Record<PutVerdict, number>>> = {}
  for (const [index, { type }] of entries.entries()) {
    types[type] ??= {}
    const verdict = verdicts[index]!
    types[type][verdict] = (types[type][verdict] ?? 0) + 1
  }
  return types
}
