import { wayChecks } from './check-ways.ts'
import { SluiceError } from './errors.ts'
import { defaultLimits, type Limits, labelsMax } from './limits.ts'
import type { Machine } from './machine.ts'
import { edgeText, fault, listText, type MachineFault } from './machine-fault.ts'
import type { Policy } from './policy.ts'
import { causes, processorsOf } from './transition.ts'

type Check = (machine: Machine, limits: Pick<Limits, 'nameMax'>) => Iterable<MachineFault>

/** Proves before start that no entity of this machine can be stranded. Empty: the machine is sound. */
export function checkMachine(
  machine: Machine,
  limits: Pick<Limits, 'nameMax'> = defaultLimits,
): readonly MachineFault[] {
  const words = wordChecks.flatMap((check) => [...check(machine, limits)])
  const states = stateChecks.flatMap((check) => [...check(machine, limits)])
  // One misspelt state would make half the map look unreachable: the ways are judged on a map that is whole.
  if (states.length > 0) return [...words, ...states]
  return [...words, ...wayChecks.flatMap((check) => [...check(machine)])]
}

/** Throws one error that lists every fault, a line each. */
export function assertMachine(machine: Machine, limits: Pick<Limits, 'nameMax'> = defaultLimits): void {
  const faults = checkMachine(machine, limits)
  if (faults.length === 0) return
  const lines = faults.map((fault) => fault.message).join('\n')
  throw new SluiceError('invalid', lines, { machine: machine.name, version: machine.version, faults })
}

const wordChecks: readonly Check[] = [names, version, labels, retention, outcomes, policies, purposes]
const stateChecks: readonly Check[] = [beginningsAndEnds, knownStates, knownCauses, duplicates]

// ---- Words and numbers ----

const lowerSnake = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/

function* names(machine: Machine, { nameMax }: Pick<Limits, 'nameMax'>): Iterable<MachineFault> {
  const rule = `expected lower_snake of at most ${nameMax} characters; rename it`
  const sound = (name: unknown): boolean => typeof name === 'string' && name.length <= nameMax && lowerSnake.test(name)
  if (!sound(machine.name)) yield fault(machine, 'bad_name', `the machine's name is no name (${rule})`)
  if (machine.parent !== null && !sound(machine.parent)) {
    yield fault(machine, 'bad_name', `parent ${machine.parent} is no name of a machine (${rule})`)
  }
  for (const state of Object.keys(machine.states)) {
    if (!sound(state)) yield fault(machine, 'bad_name', `state ${state} is no name (${rule})`, { state })
  }
  for (const edge of new Map(machine.edges.map((edge) => [edge.name, edge])).values()) {
    if (!sound(edge.name)) yield fault(machine, 'bad_name', `${edgeText(edge)} is no name (${rule})`, { edge })
    else if (!sound(edge.action)) {
      yield fault(machine, 'bad_name', `action ${edge.action} of ${edgeText(edge)} is no name (${rule})`, { edge })
    }
    const bound = [...processorsOf(edge), ...edge.when, ...edge.ensure, edge.assign].filter(
      (name) => name !== undefined,
    )
    for (const name of bound.filter((name) => !isText(name, nameMax))) {
      const expected = `expected 1 to ${nameMax} characters; rename it`
      yield fault(machine, 'bad_name', `"${name}" of ${edgeText(edge)} cannot be bound (${expected})`, { edge })
    }
  }
}

function* version(machine: Machine): Iterable<MachineFault> {
  if (Number.isSafeInteger(machine.version) && machine.version >= 1) return
  yield fault(machine, 'bad_version', `version is ${machine.version}, expected a whole number from 1 on; begin with 1`)
}

function* labels(machine: Machine, { nameMax }: Pick<Limits, 'nameMax'>): Iterable<MachineFault> {
  const { labels } = machine
  if (labels.length > labelsMax) {
    const rule = `expected at most ${labelsMax}; keep those that lists, holds and limits need`
    yield fault(machine, 'bad_labels', `it has ${labels.length} labels, ${rule}`)
  }
  for (const [position, label] of labels.entries()) {
    if (isText(label, nameMax) && labels.indexOf(label) === position) continue
    const rule = `expected the name of one field of data, up to ${nameMax} characters, once; mend or remove it`
    yield fault(machine, 'bad_labels', `label ${position + 1} is ${JSON.stringify(label)}, ${rule}`)
  }
}

function* retention(machine: Machine): Iterable<MachineFault> {
  for (const [state, { retentionMs }] of Object.entries(machine.states)) {
    if (retentionMs === null) continue
    if (!isAmount(retentionMs)) {
      const rule = 'expected a finite number of milliseconds from 0 on; mend or remove it'
      yield fault(machine, 'bad_retention', `state ${state} has retentionMs ${retentionMs}, ${rule}`, { state })
    } else if (!machine.settled.includes(state)) {
      const rule = 'expected only on settled states, since nothing open is ever purged; remove it'
      yield fault(machine, 'bad_retention', `state ${state} has retentionMs, ${rule}`, { state })
    }
  }
}

/** An open entity has neither succeeded nor failed yet. */
function* outcomes(machine: Machine): Iterable<MachineFault> {
  for (const [state, { outcome }] of Object.entries(machine.states)) {
    if (machine.settled.includes(state) || (outcome !== 'success' && outcome !== 'failure')) continue
    const rule = `expected success and failure only on settled states; say attention or neutral`
    yield fault(machine, 'bad_outcome', `state ${state} has outcome ${outcome}, ${rule}`, { state })
  }
}

function* purposes(machine: Machine): Iterable<MachineFault> {
  const known = new Set(
    machine.edges.flatMap((edge) => [...processorsOf(edge), ...edge.when, ...edge.ensure, edge.assign]),
  )
  for (const name of Object.keys(machine.purposes)) {
    if (known.has(name)) continue
    const rule = 'expected a processor, criterion or assign that a transition names; rename or remove it'
    yield fault(machine, 'unknown_purpose', `a purpose is given for ${name}, ${rule}`)
  }
}

function* policies(machine: Machine): Iterable<MachineFault> {
  const known = new Set(machine.edges.flatMap(processorsOf))
  for (const [processor, policy] of Object.entries(machine.policies)) {
    if (!known.has(processor)) {
      const rule = `expected one of ${listText([...known])}; rename or remove it`
      yield fault(machine, 'unknown_processor', `a policy is set for ${processor}, which no transition runs, ${rule}`)
    }
    for (const rule of policyRules(policy, machine.labels)) {
      yield fault(machine, 'bad_policy', `the policy of processor ${processor} needs ${rule}; set it so`)
    }
  }
}

function policyRules(policy: Policy, labels: readonly string[]): readonly string[] {
  const { backoff, concurrencyPer } = policy
  const rules: readonly (readonly [sound: boolean, rule: string])[] = [
    [isCount(policy.attemptsMax), 'attemptsMax as a whole number from 1 on'],
    [isAmount(policy.timeoutMs) && policy.timeoutMs > 0, 'timeoutMs as a finite number above 0'],
    [isAmount(backoff?.firstMs), 'backoff.firstMs as a finite number from 0 on'],
    [isAmount(backoff?.factor), 'backoff.factor as a finite number from 0 on'],
    [isAmount(backoff?.maxMs), 'backoff.maxMs as a finite number from 0 on'],
    [isAmount(backoff?.jitter) && backoff.jitter <= 1, 'backoff.jitter between 0 and 1'],
    [policy.concurrency === null || isCount(policy.concurrency), 'concurrency as a whole number from 1 on, or null'],
    [
      concurrencyPer === null || (isCount(concurrencyPer?.max) && labels.includes(concurrencyPer.label)),
      `concurrencyPer with max from 1 on and a label of this machine (${listText(labels)}), or null`,
    ],
    [isCount(policy.parallel), 'parallel as a whole number from 1 on'],
    [policy.role === null || isText(policy.role, Number.POSITIVE_INFINITY), 'role as a text, or null'],
  ]
  return rules.filter(([sound]) => !sound).map(([, rule]) => rule)
}

// ---- States and edges by themselves ----

function* beginningsAndEnds(machine: Machine): Iterable<MachineFault> {
  if (machine.initial.length === 0) {
    yield fault(machine, 'no_initial', 'initial is empty, expected a state to be born in; name one')
  }
  if (machine.settled.length === 0) {
    const rule = 'expected a state in which an entity is done for its parent; name one'
    yield fault(machine, 'no_settled', `settled is empty, ${rule}`)
  }
  for (const state of machine.final.filter((state) => !machine.settled.includes(state))) {
    const rule = 'expected every final state to be settled; add it to settled'
    yield fault(machine, 'final_not_settled', `state ${state} is final but not settled, ${rule}`, { state })
  }
}

function* knownStates(machine: Machine): Iterable<MachineFault> {
  const known = (state: string): boolean => Object.hasOwn(machine.states, state)
  const rule = `expected one of ${listText(Object.keys(machine.states))}; declare it or mend its spelling`
  for (const role of ['initial', 'settled', 'final'] as const) {
    for (const state of machine[role].filter((state) => !known(state))) {
      yield fault(machine, 'unknown_state', `${role} names state ${state}, ${rule}`, { state })
    }
  }
  for (const edge of machine.edges) {
    for (const state of new Set([edge.from, edge.to])) {
      if (!known(state))
        yield fault(machine, 'unknown_state', `${edgeText(edge)} names ${state}, ${rule}`, { state, edge })
    }
  }
}

function* knownCauses(machine: Machine): Iterable<MachineFault> {
  for (const edge of machine.edges.filter((edge) => !causes.includes(edge.on))) {
    yield fault(
      machine,
      'unknown_cause',
      `${edgeText(edge)} is on ${edge.on}, expected one of ${listText(causes)}; mend it`,
      {
        edge,
      },
    )
  }
}

function* duplicates(machine: Machine): Iterable<MachineFault> {
  const seen = new Set<string>()
  for (const edge of machine.edges) {
    const key = `${edge.name} ${edge.from}`
    if (seen.has(key)) {
      const rule = 'expected each state once; remove the second'
      yield fault(machine, 'duplicate_edge', `${edgeText(edge)} names state ${edge.from} twice in from, ${rule}`, {
        edge,
      })
    }
    seen.add(key)
  }
}

function isText(value: unknown, charactersMax: number): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= charactersMax
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 1
}
