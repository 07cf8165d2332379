import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { NotificationSettings } from 'sluice/upload'
import { z } from 'zod'
import { messageOf, SluiceError } from '../../errors.ts'
import { defaultLimits } from '../../limits.ts'
import { storeText } from '../../store-address.ts'
import type { FamilySources } from '../family/families.ts'
import { layoutOf } from '../family/layout.ts'
import type { Environment } from '../host.ts'
import { parseSize } from '../size.ts'
import { type Address, addressDefault, parseAddress } from './address.ts'
import { areMachineNames, machineChoice } from './served-machines.ts'

/** What `serve` and `worker` can be told, as a file of JSON says it. Every key is documented in docs/guides/cli.md. */
const schema = z.strictObject({
  folder: z.string().min(1),
  store: z.string().transform(read((text: string) => storeText(text))),
  connections: z.int().min(1).max(1_000),
  migrate: z.boolean(),
  listen: z.union([z.string(), z.number()]).transform(read(parseAddress)),
  names: z.array(z.string().min(1).max(253)).max(100),
  metrics: z.union([z.string(), z.number()]).transform(read(parseAddress)),
  machines: z.array(z.string().min(1)).max(100),
  jobs: z.array(z.string().min(1)).max(100),
  allow: z.array(z.string().min(1)).max(1_000),
  allowPort: z.array(z.int().min(1).max(65_535)).max(1_000),
  roots: z.array(z.string().min(1)).max(100),
  textIndex: z.boolean(),
  maxSize: z.union([z.string(), z.number()]).transform(read((text) => parseSize(String(text)))),
  notify: z.record(z.string(), z.unknown()),
  http: z.record(z.string(), z.number()),
  name: z.string().min(1).max(60),
  roles: z.array(z.string().min(1)).max(100),
  startMs: z.int().min(1).max(3_600_000),
  log: z.enum(['silent', 'error', 'warn', 'info', 'debug', 'trace']),
})
const someSettings = schema.partial()

export const settingKeys = Object.keys(schema.shape)

export type SomeSettings = z.output<typeof someSettings>
export type GivenSettings = z.input<typeof someSettings>

export interface Settings extends FamilySources {
  /** Connections for the work itself, where the store is on a server. Null: as the store has it. */
  readonly connections: number | null
  /** False: whoever starts does not change the tables. */
  readonly migrate: boolean
  /** Names of the machines that are served; none: all that are known. */
  readonly serves: readonly string[]
  readonly listen: Address
  /** Names besides those that it listens on under which it may be called. */
  readonly names: readonly string[]
  /** Where a worker answers /health, /ready and /metrics. Null: nowhere. */
  readonly metrics: Address | null
  readonly http: Readonly<Record<string, number>>
  readonly name: string | null
  readonly roles: readonly string[]
  /** How long the start waits for a server that does not answer yet. */
  readonly startMs: number
  readonly log: string
}

/** A parser that throws, as zod wants it. */
function read<In, Out>(parse: (given: In) => Out): (given: In, context: z.core.$RefinementCtx) => Out {
  return (given, context) => {
    try {
      return parse(given)
    } catch (error) {
      context.addIssue({ code: 'custom', message: messageOf(error) })
      return z.NEVER
    }
  }
}

/** Lists have commas. What Sluice does not know is left alone: platforms name variables after their services as they like. */
const list = (text: string): readonly string[] => text.split(',').map((part) => part.trim())
const truth = (text: string): unknown => (text === 'true' ? true : text === 'false' ? false : text)
const variables: Readonly<Record<string, readonly [key: keyof GivenSettings, read: (text: string) => unknown]>> = {
  SLUICE_FOLDER: ['folder', String],
  SLUICE_STORE: ['store', String],
  SLUICE_CONNECTIONS: ['connections', Number],
  SLUICE_MIGRATE: ['migrate', truth],
  SLUICE_LISTEN: ['listen', String],
  SLUICE_NAMES: ['names', list],
  SLUICE_METRICS: ['metrics', String],
  SLUICE_MACHINES: ['machines', list],
  SLUICE_JOBS: ['jobs', list],
  SLUICE_ALLOW: ['allow', list],
  SLUICE_ALLOW_PORT: ['allowPort', (text) => list(text).map(Number)],
  SLUICE_ROOTS: ['roots', list],
  SLUICE_TEXT_INDEX: ['textIndex', truth],
  SLUICE_MAX_SIZE: ['maxSize', String],
  SLUICE_WORKER_NAME: ['name', String],
  SLUICE_ROLES: ['roles', list],
  SLUICE_START_MS: ['startMs', Number],
  SLUICE_LOG: ['log', String],
}

export const settingVariables = Object.keys(variables)

/** Options go before the environment, the environment before the file. All that is wrong with any of them is told at once. */
export function settingsOf(given: GivenSettings, environment: Environment, configFile?: string): Settings {
  const faults: string[] = []
  const file = configFile ?? environment.SLUICE_CONFIG
  const config = file === undefined ? {} : configIn(file, faults)
  const fromEnvironment = checked(variablesIn(environment), (key) => variableOf(key), faults)
  const options = checked(
    given,
    (key) => `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    faults,
  )
  if (faults.length > 0) {
    throw new SluiceError('invalid', `The settings do not fit: ${faults.join('; ')}.`, { faults })
  }
  const all: SomeSettings = { ...config, ...fromEnvironment, ...options }
  const { modules, names: serves } = machineChoice(all.machines ?? [])
  return {
    layout: layoutOf(all.folder, all.store),
    connections: all.connections ?? null,
    migrate: all.migrate ?? true,
    serves,
    listen: all.listen ?? addressDefault,
    names: all.names ?? [],
    startMs: all.startMs ?? defaultLimits.startMs,
    metrics: all.metrics ?? null,
    machines: modules,
    jobs: all.jobs ?? [],
    allow: all.allow ?? [],
    allowPort: all.allowPort ?? [],
    roots: (all.roots ?? []).map((root) => resolve(root)),
    upload: {
      ...(all.textIndex === undefined ? {} : { textIndex: all.textIndex }),
      ...(all.maxSize === undefined ? {} : { fileBytesMax: all.maxSize }),
      // The family checks them itself, and names what is wrong.
      ...(all.notify === undefined ? {} : { notification: all.notify as NotificationSettings }),
    },
    http: all.http ?? {},
    name: all.name ?? null,
    roles: all.roles ?? [],
    log: all.log ?? 'warn',
  }
}

/** Files that a file names lie beside it, wherever it is read from. */
function configIn(file: string, faults: string[]): SomeSettings {
  const text = readFileSync(file, 'utf8')
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch (error) {
    throw new SluiceError('invalid', `The settings in ${file} are not JSON: ${messageOf(error)}`, { file })
  }
  const config = checked(content, (key) => `${file}: ${key}`, faults)
  const here = (path: string) => resolve(dirname(file), path)
  return {
    ...config,
    ...(config.folder === undefined ? {} : { folder: here(config.folder) }),
    ...(config.store === undefined ? {} : { store: storeText(config.store, here) }),
    ...(config.machines === undefined
      ? {}
      : { machines: config.machines.map((text) => (areMachineNames(text) ? text : here(text))) }),
    ...(config.jobs === undefined ? {} : { jobs: config.jobs.map(here) }),
    ...(config.roots === undefined ? {} : { roots: config.roots.map(here) }),
  }
}

function checked(given: unknown, nameOf: (key: string) => string, faults: string[]): SomeSettings {
  const parsed = someSettings.safeParse(given)
  if (parsed.success) return definedOf(parsed.data)
  for (const issue of parsed.error.issues) {
    // Keys that are not known are told one by one, under the name that they were given.
    const keys = issue.code === 'unrecognized_keys' ? issue.keys : []
    for (const key of keys) faults.push(`${nameOf(key)} is not known (known are ${settingKeys.join(', ')})`)
    if (keys.length > 0) continue
    const [key = 'the whole', ...below] = issue.path.map(String)
    faults.push(`${[nameOf(key), ...below].join('.')}: ${issue.message.replace(/\.$/, '')}`)
  }
  return {}
}

function definedOf(settings: SomeSettings): SomeSettings {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))
}

function variablesIn(environment: Environment): Record<string, unknown> {
  const entries = Object.entries(variables).flatMap(([variable, [key, read]]) => {
    const text = environment[variable]
    return text === undefined || text === '' ? [] : [[key, read(text)] as const]
  })
  return Object.fromEntries(entries)
}

function variableOf(key: string): string {
  return Object.keys(variables).find((variable) => variables[variable]?.[0] === key) ?? key
}
