import { SluiceError } from 'sluice'
import { z } from 'zod'
import { nameOf } from './definitions.ts'
import type { JobDefinition } from './job-definition.ts'
import { notPlainAt } from './json-data.ts'
import { leadsWithin } from './place.ts'
import { leavesOf, namedSecrets, redactedText, scrubbedCharsMin } from './redaction.ts'

/** The parts of a JSON Schema in which marks can stand. */
interface Schema {
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Schema>>
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema | boolean
  readonly prefixItems?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly [mark: string]: unknown
}

/** What `.meta({ … })` of a field can say about it to this family. */
export type Mark = 'path' | 'secret'

export interface MarkedValue {
  readonly path: readonly (string | number)[]
  readonly value: unknown
}

/** As the parameters are handed over, not as steps see them. Null: the schema cannot be told as JSON Schema. */
export function parameterSchema({ parameters }: Pick<JobDefinition, 'parameters'>): Schema | null {
  try {
    // A user's module may bring another version of zod.
    return z.toJSONSchema(parameters, { io: 'input', unrepresentable: 'any' }) as Schema
  } catch {
    return null
  }
}

/** The parameters as steps see them, or all that is wrong with them. */
export function parsedParameters(definition: JobDefinition, given: unknown): unknown {
  const parsed = definition.parameters.safeParse(given)
  if (parsed.success) {
    const strange = notPlainAt(parsed.data)
    if (strange === null) return parsed.data
    throw new SluiceError(
      'invalid',
      `The parameters of job ${nameOf(definition)} cannot be kept as JSON: ${strange}. Let the schema give plain data.`,
      { definition: definition.id, version: definition.version },
    )
  }
  const { values } = secretsOf(definition, given, given)
  const faults = parsed.error.issues.map(
    (issue) =>
      `${issue.path.join('.') || 'parameters'}: ${redactedText(issue.message, [...values, ...namedSecrets(given)])}`,
  )
  throw new SluiceError('invalid', `The parameters of job ${nameOf(definition)} do not fit: ${faults.join('; ')}.`, {
    definition: definition.id,
    version: definition.version,
    faults,
  })
}

const secretsMax = 1_000

/** The parameters' secrets: those under marked fields of what was given, and where these stand in what steps see. */
export function secretsOf(
  definition: JobDefinition,
  given: unknown,
  parameters: unknown,
): { readonly values: readonly string[]; readonly paths: readonly (readonly string[])[] } {
  const schema = parameterSchema(definition)
  const marked = [...markedValues(schema, given, 'secret'), ...markedValues(schema, parameters, 'secret')]
  if (marked.length === 0) return { values: [], paths: [] }
  const values = [...new Set(marked.flatMap(({ value }) => leavesOf(value).map(({ text }) => text)))].filter(Boolean)
  const isSecret = (text: string, value: string) =>
    value.length < scrubbedCharsMin ? text === value : text.includes(value)
  const moved = leavesOf(parameters).filter(({ text }) => values.some((value) => isSecret(text, value)))
  const all = [...markedValues(schema, parameters, 'secret'), ...moved].map(({ path }) => path.map(String))
  const paths = [...new Map(all.map((path) => [JSON.stringify(path), path])).values()]
  // So many are one: all of it is hidden.
  return { values, paths: paths.length > secretsMax ? [[]] : paths }
}

/** Refuses parameters that name a file or folder outside of these folders, whatever links say. */
export async function refuseOutside(
  definition: JobDefinition,
  parameters: unknown,
  roots: readonly string[],
): Promise<void> {
  const outside: string[] = []
  for (const { path, value } of markedValues(parameterSchema(definition), parameters, 'path')) {
    if (typeof value !== 'string' || (await leadsWithin(value, [roots]))) continue
    outside.push(path.join('.') || 'parameters')
  }
  if (outside.length === 0) return
  const allowed =
    roots.length === 0
      ? 'a job that is started over the network may use no files or folders of this server. Its operator allows some by --roots'
      : `a job that is started over the network may use files and folders below ${roots.join(', ')} only`
  throw new SluiceError('forbidden', `Job ${nameOf(definition)} was not started: ${outside.join(', ')}: ${allowed}.`, {
    definition: definition.id,
    outside,
    roots,
  })
}

/** The values under fields with this mark, with where they stand. */
export function markedValues(schema: Schema | null, value: unknown, mark: Mark): readonly MarkedValue[] {
  const found: MarkedValue[] = []
  if (schema !== null) collect(schema, schema, value, mark, [], found)
  return found
}

/** A schema that refers to itself is followed only as deep as the value goes: each call takes a step into it, or ends. */
function collect(
  root: Schema,
  given: Schema,
  value: unknown,
  mark: Mark,
  path: readonly (string | number)[],
  found: MarkedValue[],
): void {
  if (value === undefined || value === null) return
  const schema = resolved(root, given)
  if (schema[mark] === true) {
    found.push({ path, value })
    return
  }
  for (const one of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]) {
    collect(root, one, value, mark, path, found)
  }
  if (typeof value !== 'object') return
  for (const [key, item] of Object.entries(value)) {
    const below = Array.isArray(value) ? itemSchema(schema, Number(key)) : fieldSchema(schema, key)
    if (below) collect(root, below, item, mark, [...path, key], found)
  }
}

const refsMax = 100

function resolved(root: Schema, schema: Schema): Schema {
  let found = schema
  for (let refs = 0; found.$ref !== undefined && refs < refsMax; refs += 1) {
    const { $ref, ...own } = found
    const target = $ref === '#' ? root : root.$defs?.[$ref.replace(/^#\/\$defs\//, '')]
    if (!target) return own
    found = { ...target, ...own }
    if (target.$ref !== undefined) found = { ...found, $ref: target.$ref }
  }
  return found
}

function itemSchema({ items, prefixItems }: Schema, index: number): Schema | null {
  const own = prefixItems?.[index]
  if (own) return own
  return typeof items === 'object' ? items : null
}

function fieldSchema({ properties, additionalProperties }: Schema, key: string): Schema | null {
  const own = Object.hasOwn(properties ?? {}, key) ? properties![key] : undefined
  if (own) return own
  return typeof additionalProperties === 'object' ? additionalProperties : null
}
