import { SluiceError } from './errors.ts'
import { defaultPolicy } from './policy.ts'
import { stateOutcomes } from './state-outcome.ts'

/**
 * The shape of a declaration, before anything is read from it. The compiler sees to it in TypeScript; this is for plain
 * JavaScript and JSON, where a misspelt key would otherwise be left out in silence.
 */
export function checkDeclaration(declaration: unknown): void {
  const faults: string[] = []
  const machine = keysOf(declaration, 'A machine', machineKeys, faults)
  if (machine) {
    if (typeof machine.name !== 'string') faults.push('its name must be a text')
    for (const list of ['initial', 'settled', 'final'] as const) {
      if (!Array.isArray(machine[list])) faults.push(`${list} must be a list of states`)
    }
    if (!isTitle(machine.title)) {
      faults.push('title must be the name of a field of data or a text with such names in braces, or a list of these')
    }
    for (const [name, state] of entriesOf(machine.states, 'states', faults)) {
      if (typeof state === 'string') continue
      const outcome = keysOf(state, `state ${name}`, stateKeys, faults)?.outcome
      if (outcome === undefined || stateOutcomes.some((known) => known === outcome)) continue
      faults.push(`the outcome of state ${name} is ${JSON.stringify(outcome)} (there is: ${stateOutcomes.join(', ')})`)
    }
    for (const [name, transition] of entriesOf(machine.transitions, 'transitions', faults)) {
      const edge = keysOf(transition, `transition ${name}`, transitionKeys, faults)
      for (const key of ['from', 'to', 'on'] as const) {
        if (edge && edge[key] === undefined) faults.push(`transition ${name} has no ${key}`)
      }
    }
    if (machine.policies !== undefined) {
      for (const [name, policy] of entriesOf(machine.policies, 'policies', faults)) {
        keysOf(policy, `policy ${name}`, Object.keys(defaultPolicy), faults)
      }
    }
  }
  if (faults.length === 0) return
  const name = typeof machine?.name === 'string' ? `Machine ${machine.name}` : 'A machine'
  throw new SluiceError('invalid', `${name} is malformed: ${faults.join('; ')}.`, { faults })
}

const machineKeys = [
  ...['name', 'version', 'initial', 'settled', 'final', 'states', 'transitions'],
  ...['data', 'title', 'labels', 'policies', 'purposes', 'parent', 'watches', 'respawn'],
]
const stateKeys = ['purpose', 'title', 'retentionMs', 'holdable', 'outcome']
const transitionKeys = [
  ...['from', 'to', 'on', 'processor', 'when', 'ensure', 'assign', 'inline', 'action', 'afterMs'],
  ...['children', 'role', 'warning', 'purpose'],
]

function isTitle(title: unknown): boolean {
  if (title === undefined) return true
  const titles: readonly unknown[] = Array.isArray(title) ? title : [title]
  return titles.every((one) => typeof one === 'string' && /^(?:[^{}]|\{[^{}]+\})+$/.test(one))
}

type Fields = Readonly<Record<string, unknown>>

function keysOf(value: unknown, what: string, known: readonly string[], faults: string[]): Fields | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    faults.push(`${what} must be an object`)
    return null
  }
  const strange = Object.keys(value).filter((key) => !known.includes(key))
  for (const key of strange) faults.push(`${what} has no ${key} (there is: ${known.join(', ')})`)
  return value as Fields
}

function entriesOf(value: unknown, what: string, faults: string[]): readonly (readonly [string, unknown])[] {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return Object.entries(value)
  faults.push(`${what} must be an object`)
  return []
}
