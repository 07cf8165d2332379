import { outcomeOf, type StateOutcome } from '../../state-outcome.ts'

/** How a state looks: what the machine declares of it, never what its name sounds like. */
export type Tone = 'good' | 'bad' | 'warn' | 'active' | 'waiting' | 'ended'

/** The part of a machine's declaration that pages need; as the API gives it. */
export interface MachineShape {
  readonly name: string
  readonly version: number
  readonly initial: readonly string[]
  readonly settled: readonly string[]
  readonly final: readonly string[]
  readonly labels: readonly string[]
  readonly parent: string | null
  readonly digest?: string
  /** Where a new one is made; null: its parent makes it. */
  readonly submitPath?: string | null
  /** JSON Schema of its data. */
  readonly data?: unknown
  readonly states: Readonly<Record<string, StateShape>>
  readonly edges: readonly EdgeShape[]
}

export interface StateShape {
  readonly title: string
  readonly purpose: string
  readonly outcome?: StateOutcome
}

export interface EdgeShape {
  readonly name: string
  readonly from: string
  readonly to: string
  readonly on: string
  readonly action: string
  readonly role: string
  readonly warning?: string
  readonly purpose: string
  readonly processor?: string
  readonly when?: readonly string[]
}

export function toneOf(machine: MachineShape | undefined, state: string): Tone {
  // Of a machine that is not known here nothing is known of its states either.
  if (!machine || !Object.hasOwn(machine.states, state)) return 'waiting'
  const outcome = outcomeOf(machine, state)
  switch (outcome) {
    case 'success':
      return 'good'
    case 'failure':
      return 'bad'
    case 'attention':
      return 'warn'
    case 'neutral':
      return machine.settled.includes(state) ? 'ended' : openTone(machine, state)
    default:
      return outcome satisfies never
  }
}

function openTone(machine: MachineShape, state: string): Tone {
  const outgoing = machine.edges.filter((edge) => edge.from === state)
  const works = outgoing.some(({ on, processor }) => on === 'done' && processor !== undefined)
  const gathers = outgoing.some(({ on }) => on === 'children')
  return works || gathers ? 'active' : 'waiting'
}

/** Whether a person should look at what is in this state. */
export function needsAttention(machine: MachineShape | undefined, state: string): boolean {
  const outcome = outcomeOf(machine, state)
  return outcome === 'failure' || outcome === 'attention'
}

/** A job with errors goes on all the same, and is shown so. */
export function isRunningWithErrors(machine: MachineShape | undefined, state: string): boolean {
  return machine?.name === 'chunked_job' && state === 'errored'
}

export function stateText(machine: MachineShape | undefined, state: string): string {
  return isRunningWithErrors(machine, state) ? 'running, with errors' : state.replaceAll('_', ' ')
}

/** Which tones stand first in bars and lists. */
export const toneOrder: readonly Tone[] = ['good', 'ended', 'bad', 'warn', 'active', 'waiting']

/** What a person can ask of entities of this machine: each action once, with all its edges. */
export function actionsOf(
  machine: MachineShape,
): readonly { readonly action: string; readonly edges: readonly EdgeShape[] }[] {
  const edges = machine.edges.filter(({ on }) => on === 'action')
  return [...Map.groupBy(edges, ({ action }) => action)].map(([action, group]) => ({ action, edges: group }))
}
