import type { JobDefinition } from 'sluice/chunked'
import { z } from 'zod'
import type { OfferedJob } from '../../client/index.ts'
import { systemClock } from '../../clock.ts'
import { SluiceError } from '../../errors.ts'
import type { Environment, Host } from '../host.ts'
import { localLayout, serverOf } from '../place.ts'
import { remoteClient } from '../remote-place.ts'
import { plain, table } from '../text.ts'
import { knownJobs } from './known-jobs.ts'
import type { JobPlace } from './place.ts'

export interface DefinitionsOptions extends JobPlace {
  readonly json?: boolean
}

/** The jobs that can be run, and what each wants to be given. */
export async function definitions(
  name: string | undefined,
  options: DefinitionsOptions,
  { terminal, environment }: Host,
): Promise<number> {
  const known = await viewsOf(options, environment)
  const told = known
    .filter(({ id }) => name === undefined || id === name)
    .sort((one, other) => one.id.localeCompare(other.id) || one.version - other.version)
  if (name !== undefined && told.length === 0) throw notFound(name, known)
  const none = 'There are no jobs here. Name a module that defines some by --jobs.'
  if (options.json) terminal.out(`${JSON.stringify({ definitions: told })}\n`)
  else terminal.out(`${told.length === 0 ? none : told.map(textOf).join('\n\n')}\n`)
  return 0
}

async function viewsOf(options: DefinitionsOptions, environment: Environment): Promise<readonly DefinitionView[]> {
  const server = serverOf(options, environment)
  if (server !== null) {
    const client = await remoteClient(server, options, environment, systemClock())
    return (await client.jobs.definitions()).map(offeredView)
  }
  const jobs = await knownJobs({ ...options, folder: localLayout(options, environment).jobs })
  try {
    return jobs.definitions.map(definitionView)
  } finally {
    await jobs.stop()
  }
}

function notFound(name: string, known: readonly { readonly id: string }[]): SluiceError {
  const names = [...new Set(known.map(({ id }) => id))].sort().join(', ') || 'none'
  return new SluiceError('not_found', `There is no job ${name}. Known: ${names}.`, { id: name })
}

interface Schema {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

interface DefinitionView {
  readonly id: string
  readonly version: number
  readonly description: string
  /** JSON Schema; null: what checks them cannot be told as such. */
  readonly parameters: Schema | null
  readonly steps: readonly {
    readonly id: string
    readonly kind: 'step' | 'reducer'
    readonly description: string
    readonly gated: boolean
    readonly polling: boolean
    readonly chunkSize: number | null
    readonly concurrency: number | null
  }[]
  readonly tolerance: JobDefinition['tolerance'] | null
}

/** A server tells less of its jobs. */
function offeredView({ id, version, description, parameters, steps }: OfferedJob): DefinitionView {
  const step = {
    kind: 'step',
    description: '',
    gated: false,
    polling: false,
    chunkSize: null,
    concurrency: null,
  } as const
  return {
    ...{ id, version, description, parameters: parameters as Schema, tolerance: null },
    steps: steps.map((name) => ({ ...step, id: name })),
  }
}

function definitionView({
  id,
  version,
  description,
  parameters,
  steps,
  reduction,
  tolerance,
}: JobDefinition): DefinitionView {
  return {
    id,
    version,
    description,
    parameters: schemaOf(parameters),
    steps: [
      ...steps.map((step) => ({
        id: step.id,
        kind: 'step' as const,
        description: step.description ?? '',
        gated: step.gated ?? false,
        polling: Boolean(step.polling),
        chunkSize: step.chunkSize,
        concurrency: step.concurrency ?? null,
      })),
      ...(reduction
        ? [
            {
              ...{ id: reduction.id, kind: 'reducer' as const, description: reduction.description ?? '' },
              ...{ gated: true, polling: false, chunkSize: null, concurrency: null },
            },
          ]
        : []),
    ],
    tolerance,
  }
}

/** As they are given, not as steps see them. A user's module may bring another version of zod. */
function schemaOf(parameters: z.ZodType): Schema | null {
  try {
    const { $schema: _, ...schema } = z.toJSONSchema(parameters, { io: 'input', unrepresentable: 'any' })
    return schema as Schema
  } catch {
    return null
  }
}

function textOf({ id, version, description, parameters, steps }: DefinitionView): string {
  const fields = Object.entries(parameters?.properties ?? {})
  const rows = fields.map(([name, schema]) => [
    plain(name, 60),
    plain(kindOf(schema), 60),
    needOf(name, schema, parameters?.required),
    plain(schema.description ?? '', 200),
  ])
  const stepRows = steps.map((step) => [step.id, traitsOf(step), plain(step.description, 200)])
  return [
    `${id}, version ${version}${description ? `: ${plain(description, 500)}` : ''}`,
    '',
    '  Parameters',
    ...(rows.length > 0 ? table(rows, '    ') : [`    ${noFields(parameters)}`]),
    '',
    '  Steps',
    ...table(stepRows, '    '),
  ].join('\n')
}

function noFields(parameters: Schema | null): string {
  if (parameters === null) return 'checked by the job itself'
  return parameters.properties ? 'none' : plain(kindOf(parameters), 200)
}

function kindOf({ type, enum: values, const: one, anyOf, items }: Schema): string {
  if (values) return values.map((value) => JSON.stringify(value)).join(' | ')
  if (one !== undefined) return JSON.stringify(one)
  if (anyOf) return anyOf.map(kindOf).join(' | ')
  if (type === 'array') return `list of ${items ? kindOf(items) : 'anything'}`
  if (type === undefined) return 'anything'
  return typeof type === 'string' ? type : type.join(' | ')
}

function needOf(name: string, schema: Schema, required: readonly string[] = []): string {
  if (schema.default !== undefined) return plain(`default ${JSON.stringify(schema.default)}`, 60)
  return required.includes(name) ? 'required' : 'optional'
}

function traitsOf(step: DefinitionView['steps'][number]): string {
  const traits = [
    ...(step.kind === 'reducer' ? ['reducer'] : []),
    ...(step.gated && step.kind === 'step' ? ['gated'] : []),
    ...(step.polling ? ['polling'] : []),
    ...(step.chunkSize === null ? [] : [`${step.chunkSize} at once`]),
    ...(step.concurrency === null ? [] : [`${step.concurrency} in parallel`]),
  ]
  return traits.join(', ')
}
