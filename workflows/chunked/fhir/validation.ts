import { messageOf } from 'sluice/errors'
import { type Definitions, openDefinitions } from './definitions.ts'
import { type Issue, type IssueCode, Issues } from './issue.ts'
import type { OutcomeIssue } from './medplum.ts'
import { isObject, type JsonObject, nameOf, Shapes, unknownType } from './shape.ts'

export interface ValidationSettings {
  /** Bytes of one resource as JSON. */
  readonly resourceBytesMax: number
  readonly depthMax: number
  /** Issues told of one resource. */
  readonly issuesMax: number
}

export const defaultValidation: ValidationSettings = { resourceBytesMax: 1024 * 1024, depthMax: 64, issuesMax: 20 }

export interface Resource extends JsonObject {
  readonly resourceType: string
  readonly id?: string
}

/** The resource, or all that is wrong with it. */
export type Checked = { readonly resource: Resource } | { readonly issues: readonly Issue[] }

export const idPattern = /^[A-Za-z0-9\-.]{1,64}$/

/** Checks resources against the definitions of R4, as far as they are structure, required codes and invariants. */
export class Validator {
  readonly #settings: ValidationSettings
  readonly #definitions: Definitions
  readonly #shapes: Shapes

  constructor(definitions: Definitions, settings: Partial<ValidationSettings> = {}) {
    this.#settings = { ...defaultValidation, ...settings }
    this.#definitions = definitions
    this.#shapes = new Shapes(definitions, this.#settings.depthMax)
  }

  static async open(settings: Partial<ValidationSettings> = {}): Promise<Validator> {
    return new Validator(await openDefinitions(), settings)
  }

  /** One resource as text. Never throws because of what the text says. */
  checkText(text: string): Checked {
    const { resourceBytesMax } = this.#settings
    // A character takes three bytes at most (those of four are two characters): short texts need not be measured.
    const bytes = text.length * 3 <= resourceBytesMax ? 0 : Buffer.byteLength(text)
    if (bytes > resourceBytesMax) {
      return refused('too_long', `The resource has ${bytes} bytes; up to ${resourceBytesMax} are taken.`)
    }
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch (error) {
      return refused('not_json', notJson(error))
    }
    return this.check(value)
  }

  /** One resource that was parsed. */
  check(value: unknown): Checked {
    if (!isObject(value)) return refused('not_object', `A resource is an object; found ${nameOf(value)}.`)
    const { resourceType: type, id } = value
    if (typeof type !== 'string' || !this.#definitions.load(type)) return refused('unknown_type', unknownType(type))
    const issues = new Issues(this.#settings.issuesMax)
    if (id !== undefined && (typeof id !== 'string' || !idPattern.test(id))) {
      const found = typeof id === 'string' ? `a text of ${id.length} characters` : nameOf(id)
      issues.add(`${type}.id`, 'bad_id', `An id has 1 to 64 letters, digits, - and .; found ${found}.`)
    }
    this.#shapes.check(value, type, issues)
    // Where it is too deep the rest of it was not looked at, and medplum has no bound of its own.
    if (!issues.isFull && !issues.list.some(({ code }) => code === 'too_deep')) this.#checkRules(value, issues)
    return issues.list.length === 0 ? { resource: value as Resource } : { issues: issues.list }
  }

  #checkRules(value: JsonObject, issues: Issues): void {
    const { medplum } = this.#definitions
    let found: readonly OutcomeIssue[]
    try {
      found = medplum.validateResource(value, { base64BinaryMaxBytes: this.#settings.resourceBytesMax })
    } catch (error) {
      const outcome = outcomeOf(error)
      // It stumbles over shapes of which enough has been said.
      if (outcome === null && issues.list.length > 0) return
      found = outcome ?? [{ severity: 'error', details: { text: `It could not be checked: ${messageOf(error)}` } }]
    }
    const isClear = issues.list.length === 0
    for (const issue of found) {
      // Without a place it is what made medplum give up, and that has been said with its place.
      if (!issue.expression && !isClear) continue
      const path = issue.expression?.[0] ?? String(value.resourceType)
      const text = issue.details?.text ?? 'It does not follow the definition'
      if (issue.severity === 'error') issues.add(path, codeOf(issue), sentence(text))
      else if (this.#isWrongTarget(text)) issues.add(path, 'structure', sentence(text.replaceAll(definitionUrl, '')))
    }
  }

  /** Medplum only warns of references to the wrong type; where the type is a real one, the specification forbids them. */
  #isWrongTarget(text: string): boolean {
    const type = /^Invalid reference: got "(\w+)"/.exec(text)?.[1]
    return type !== undefined && this.#definitions.types.has(type)
  }
}

/** Without what the engine of JavaScript quotes: reports are read by more people than files of patients are. */
function notJson(error: unknown): string {
  const place = /\bat position \d+/.exec(messageOf(error))?.[0]
  return `This is not JSON${place === undefined ? '' : `: the fault is ${place}`}.`
}

const definitionUrl = 'http://hl7.org/fhir/StructureDefinition/'

function refused(code: IssueCode, message: string): Checked {
  return { issues: [{ path: '', code, message }] }
}

function codeOf({ code }: OutcomeIssue): IssueCode {
  return code === 'invariant' ? 'invariant' : 'structure'
}

function outcomeOf(error: unknown): readonly OutcomeIssue[] | null {
  if (!(error instanceof Error) || !('outcome' in error)) return null
  const { issue } = (error.outcome ?? {}) as { readonly issue?: readonly OutcomeIssue[] }
  return issue ?? null
}

function sentence(text: string): string {
  const cut = text.slice(0, 500)
  return /[.!?]$/.test(cut) ? cut : `${cut}.`
}
