import { isTime, timeMax } from '../clock.ts'
import type { Entity } from '../entity.ts'
import { messageOf, SluiceError } from '../errors.ts'
import type { Child } from '../implementation.ts'
import { type Limits, priorityMax } from '../limits.ts'
import { edgesFrom, isSettled, labelsOf, type Machine } from '../machine.ts'
import { waitIn } from '../path.ts'
import { mayHoldTextFault, storableText, textFault, textFaultsIn } from '../storable-text.ts'
import type { Birth, ChildBirth, Respawn } from '../store.ts'
import type { Registry } from './registry.ts'

/** What somebody wants to exist. */
export interface Wish {
  readonly data: unknown
  readonly state?: string
  readonly priority?: number
  readonly key?: string
  readonly reason?: string
  readonly at?: number
  readonly createdBy?: string
}

/** A checked birth: the state is an initial one, the data fits the schema and the limit. */
export function birthOf(machine: Machine, wish: Wish, isRoot: boolean, now: number, limits: Limits): Birth {
  const state = wish.state ?? (machine.initial[0] as string)
  if (!machine.initial.includes(state)) {
    throw new SluiceError(
      'invalid',
      `${machine.name} cannot begin in ${state}; its initial states are ${machine.initial.join(', ')}.`,
      { machine: machine.name, state },
    )
  }
  const data = checkData(machine, wish.data)
  const wait = waitIn(machine, state, isRoot, now)
  return {
    machine: machine.name,
    version: machine.version,
    state,
    settled: isSettled(machine, state),
    data: dataText(machine, data, limits),
    labels: checkLabels(machine, data, limits),
    priority: checkPriority(wish.priority ?? 0),
    wait: wish.at !== undefined && wait.for === 'run' ? { ...wait, at: checkTime(wish.at) } : wait,
    reason: wish.reason === undefined ? null : storableText(wish.reason.slice(0, limits.reasonMax)),
    sums: null,
    key: checkKey(wish.key, limits),
    createdBy: wish.createdBy ?? null,
  }
}

/** A child of `source`, in the lane of whoever counts it. */
export function childOf(
  registry: Registry,
  source: Entity,
  child: Child,
  ordinal: number,
  now: number,
  limits: Limits,
): ChildBirth {
  const { machine } = registry.get(child.machine, source.version)
  const parent = child.of === 'parent' ? source.parent : source.id
  if (parent === null) {
    throw new SluiceError(
      'invalid',
      `${source.machine} ${source.id} has no parent that could count a ${child.machine}.`,
      {
        id: source.id,
      },
    )
  }
  const counter = child.of === 'parent' ? machine.parent : source.machine
  const birth = birthOf(machine, child, false, now, limits)
  // Spelt out: a million of them are made, and a copy of each costs as much as the rest of it.
  return {
    machine: birth.machine,
    version: birth.version,
    state: birth.state,
    settled: birth.settled,
    data: birth.data,
    labels: birth.labels,
    priority: birth.priority,
    wait: birth.wait,
    reason: birth.reason,
    sums: birth.sums,
    key: birth.key,
    createdBy: null,
    parent,
    lane: child.lane === undefined ? machine.name : checkText(child.lane, 'The lane'),
    ordinal,
    watches: (counter === null ? null : registry.find(counter, source.version))?.machine.watches ?? noWatches,
    // What is born settled has nothing to try: an existing one is left as it is.
    respawn: birth.settled ? null : respawnOf(machine, now),
  }
}

/** The children that an assign asks for. Those without an ordinal are numbered from `first`. */
export function childrenOf(
  registry: Registry,
  source: Entity,
  children: readonly Child[],
  first: number,
  now: number,
  limits: Limits,
): readonly ChildBirth[] {
  return children.map((child, index) => childOf(registry, source, child, child.ordinal ?? first + index, now, limits))
}

const noWatches: readonly string[] = []

/** The same for all children of a machine that are spawned in the same moment. */
let lastRespawn: { readonly machine: Machine; readonly now: number; readonly respawn: Respawn | null } | null = null

function respawnOf(machine: Machine, now: number): Respawn | null {
  if (machine.respawn === null) return null
  if (lastRespawn?.machine === machine && lastRespawn.now === now) return lastRespawn.respawn
  const respawn = findRespawn(machine, now)
  lastRespawn = { machine, now, respawn }
  return respawn
}

function findRespawn(machine: Machine, now: number): Respawn | null {
  const edges = machine.settled.flatMap((state) =>
    edgesFrom(machine, state, 'action').filter((edge) => edge.name === machine.respawn),
  )
  const [edge] = edges
  if (!edge) return null
  return {
    from: edges.map((edge) => edge.from),
    transition: edge.name,
    to: edge.to,
    wait: waitIn(machine, edge.to, false, now),
  }
}

/** Says which field was wrong, what was expected, and what stood there. */
export function checkData(machine: Machine, data: unknown): unknown {
  if (!machine.schema) return data ?? null
  const parsed = machine.schema.safeParse(data)
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'data'}: ${issue.message}`)
  throw new SluiceError('invalid', `Data of ${machine.name} does not fit: ${faults.join('; ')}.`, {
    machine: machine.name,
    faults,
  })
}

export function dataText(machine: Machine, data: unknown, limits: Limits): string {
  return jsonText(data, `Data of ${machine.name}`, limits)
}

/** A time that somebody names. */
export function checkTime(at: number): number {
  if (isTime(at)) return at
  throw new SluiceError(
    'invalid',
    `A time must be a whole number of milliseconds since 1970, up to ${timeMax}; it was ${at}.`,
    { at },
  )
}

/** Whatever somebody hands over to be kept, as JSON within the limit. */
export function jsonText(value: unknown, what: string, limits: Limits): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value ?? null)
  } catch (error) {
    throw new SluiceError('invalid', `${what} cannot be written as JSON: ${messageOf(error)}`, { what }, error)
  }
  if (text === undefined) throw new SluiceError('invalid', `${what} cannot be written as JSON.`, { what })
  if (mayHoldTextFault(text)) refuseTextFaults(text, what)
  // Most texts are far below the limit: only those that could exceed it are measured in bytes.
  if (text.length * 3 > limits.dataBytesMax && Buffer.byteLength(text) > limits.dataBytesMax) {
    throw new SluiceError(
      'invalid',
      `${what} has ${Buffer.byteLength(text)} bytes; at most ${limits.dataBytesMax} are kept. Store it elsewhere and keep a reference.`,
      { what, bytes: Buffer.byteLength(text), bytesMax: limits.dataBytesMax },
    )
  }
  return text
}

function refuseTextFaults(json: string, what: string): void {
  const faults = textFaultsIn(JSON.parse(json))
  if (faults.length === 0) return
  const said = faults.slice(0, faultsMax).map(({ path, fault }) => `${path === '' ? 'it' : path} ${fault}`)
  const [{ path } = { path: '' }] = faults
  throw new SluiceError('invalid', `${what} does not fit: ${said.join('; ')}.`, { what, field: path, faults: said })
}

const faultsMax = 10

/** A text that is stored as it is. */
export function checkText(text: string, what: string, field = what): string {
  const fault = textFault(text)
  if (fault === null) return text
  throw new SluiceError('invalid', `${what} ${fault}.`, { field })
}

export function checkLabels(machine: Machine, data: unknown, limits: Limits): readonly (string | null)[] {
  const labels = labelsOf(machine, data)
  labels.forEach((label, position) => {
    if (label !== null && label.length > limits.nameMax) {
      throw new SluiceError(
        'invalid',
        `Label ${machine.labels[position]} is longer than ${limits.nameMax} characters.`,
        {
          label: machine.labels[position],
        },
      )
    }
  })
  return labels
}

export function checkPriority(priority: number): number {
  if (Number.isInteger(priority) && Math.abs(priority) <= priorityMax) return priority
  throw new SluiceError(
    'invalid',
    `Priority must be a whole number from -${priorityMax} to ${priorityMax}, lower first; it was ${priority}.`,
    {
      priority,
    },
  )
}

function checkKey(key: string | undefined, limits: Limits): string | null {
  if (key === undefined) return null
  if (typeof key === 'string' && key.length > 0 && key.length <= limits.nameMax) {
    return checkText(key, 'The key', 'key')
  }
  throw new SluiceError(
    'invalid',
    `A key is a text of 1 to ${limits.nameMax} characters; it was ${JSON.stringify(key).slice(0, 80)}.`,
    { key },
  )
}
