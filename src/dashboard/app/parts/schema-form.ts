import { Problem } from '../api.ts'
import { wordsOf } from '../format.ts'
import { html, useState, type View, type VNode } from '../view.ts'

/** The part of JSON Schema that a form can ask for. What goes beyond it is asked for as JSON. */
export interface FieldSchema {
  readonly type?: string | readonly string[]
  readonly title?: string
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly properties?: Readonly<Record<string, FieldSchema>>
  readonly required?: readonly string[]
  readonly items?: FieldSchema
  readonly anyOf?: readonly FieldSchema[]
}

export type FieldKind = 'text' | 'lines' | 'number' | 'integer' | 'boolean' | 'choice' | 'json'

/** How a field is asked for. */
export function kindOf(schema: FieldSchema): FieldKind {
  if (schema.enum?.every((value) => typeof value === 'string' || typeof value === 'number')) return 'choice'
  const type = typeof schema.type === 'string' ? schema.type : undefined
  if (type === 'boolean' || type === 'number' || type === 'integer') return type
  if (type === 'string') return 'text'
  if (type === 'array' && schema.items?.type === 'string' && schema.items.enum === undefined) return 'lines'
  return 'json'
}

/** What was typed, as the value that the schema speaks of. Undefined: left out. A text that is no JSON throws. */
export function typedValue(schema: FieldSchema, typed: string | boolean): unknown {
  const kind = kindOf(schema)
  if (typeof typed === 'boolean') return typed
  if (typed.trim() === '') return undefined
  switch (kind) {
    case 'text':
      return typed
    case 'lines':
      return typed
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== '')
    case 'number':
    case 'integer':
      // What is no number goes as it was typed: the server names the fault better than we could.
      return Number.isNaN(Number(typed)) ? typed : Number(typed)
    case 'choice':
      return schema.enum?.find((value) => String(value) === typed) ?? typed
    case 'boolean':
      return typed === 'true'
    case 'json':
      return JSON.parse(typed)
    default:
      return kind satisfies never
  }
}

/** What stands in the form at first. */
export function initialOf(schema: FieldSchema): string | boolean {
  if (kindOf(schema) === 'boolean') return schema.default === true
  if (schema.default === undefined) return ''
  if (kindOf(schema) === 'lines' && Array.isArray(schema.default)) return schema.default.join('\n')
  return typeof schema.default === 'object' ? JSON.stringify(schema.default, null, 2) : String(schema.default)
}

/** A form for a value of the schema, or a text area for JSON where the schema is no object with fields. */
export function useSchemaForm(given: unknown, name: string): { readonly form: VNode; read(): unknown } {
  const schema = (given ?? {}) as FieldSchema
  const fields = Object.entries((schema.type === 'object' && schema.properties) || {})
  const [typed, setTyped] = useState<Readonly<Record<string, string | boolean>>>({})
  const [json, setJson] = useState('{}')
  const onType = (field: string, value: string | boolean) => setTyped({ ...typed, [field]: value })
  const fieldValue = (field: string, fieldSchema: FieldSchema): unknown => {
    try {
      return typedValue(fieldSchema, typed[field] ?? initialOf(fieldSchema))
    } catch {
      throw new Problem(0, { detail: `${field} must be JSON.` })
    }
  }
  if (fields.length === 0) {
    const form = html`<label class="field">${wordsOf(name)}<textarea class="code" name=${name} spellcheck="false" value=${json} onInput=${(event: Event) => setJson((event.target as HTMLTextAreaElement).value)}></textarea></label>`
    return { form, read: () => parsed(json, name) }
  }
  return {
    form: html`<${SchemaForm} schema=${schema} typed=${typed} onType=${onType} />`,
    read: () =>
      Object.fromEntries(
        fields.map(([field, one]) => [field, fieldValue(field, one)]).filter(([, value]) => value !== undefined),
      ),
  }
}

function parsed(json: string, name: string): unknown {
  try {
    return JSON.parse(json)
  } catch (error) {
    throw new Problem(0, { detail: `The ${name} must be JSON: ${(error as Error).message}` })
  }
}

interface FormProps {
  readonly schema: FieldSchema
  readonly typed: Readonly<Record<string, string | boolean>>
  readonly onType: (name: string, value: string | boolean) => void
}

/** One field for each property. */
function SchemaForm({ schema, typed, onType }: FormProps): VNode {
  const required = new Set(schema.required ?? [])
  const fields = Object.entries(schema.properties ?? {})
  return html`<div class="form">${fields.map(([name, field]) => {
    const value = typed[name] ?? initialOf(field)
    const type = (next: string | boolean) => onType(name, next)
    const needed = required.has(name) && field.default === undefined
    return html`<${Field} key=${name} name=${name} schema=${field} value=${value} isNeeded=${needed} onType=${type} />`
  })}</div>`
}

interface FieldProps {
  readonly name: string
  readonly schema: FieldSchema
  readonly value: string | boolean
  readonly isNeeded: boolean
  readonly onType: (value: string | boolean) => void
}

function Field({ name, schema, value, isNeeded, onType }: FieldProps): VNode {
  const label = schema.title ?? wordsOf(name.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase())
  const typed = (event: Event) => onType((event.target as HTMLInputElement).value)
  const common = { name, required: isNeeded, onInput: typed }
  const kind = kindOf(schema)
  if (kind === 'boolean') {
    return html`<label class="check"><input type="checkbox" name=${name} checked=${value === true}
      onChange=${(event: Event) => onType((event.target as HTMLInputElement).checked)} /><span>${label}${hintOf(schema)}</span></label>`
  }
  return html`<label class="field"><span>${label}${isNeeded ? '' : html` <span class="hint">optional</span>`}</span>${inputOf()}${hintOf(schema)}</label>`

  function inputOf(): View {
    switch (kind) {
      case 'choice':
        return html`<select ...${common}><option value="">–</option>${(schema.enum ?? []).map(
          (choice) =>
            html`<option value=${String(choice)} selected=${String(choice) === value}>${String(choice)}</option>`,
        )}</select>`
      case 'lines':
        return html`<textarea ...${common} placeholder="One on each line" value=${value}></textarea>`
      case 'json':
        return html`<textarea ...${common} class="code" spellcheck="false" placeholder="JSON" value=${value}></textarea>`
      case 'number':
      case 'integer':
        return html`<input ...${common} type="number" step=${kind === 'integer' ? 1 : 'any'} min=${bound(schema.minimum)} max=${bound(schema.maximum)} value=${value} />`
      case 'text':
      case 'boolean':
        return html`<input ...${common} type=${schema.format === 'uri' ? 'url' : 'text'} maxlength=${schema.maxLength} value=${value} />`
      default:
        return kind satisfies never
    }
  }
}

/** Schemas write "any safe integer" as bounds; a person need not read them. */
function bound(value: number | undefined): number | undefined {
  return value === undefined || Math.abs(value) >= Number.MAX_SAFE_INTEGER ? undefined : value
}

function hintOf(schema: FieldSchema): View {
  return schema.description ? html`<span class="hint">${schema.description}</span>` : null
}
