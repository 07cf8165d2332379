/** How a state looks: told from the machine's declaration, so that a machine nobody has seen before is coloured too. */
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
  readonly states: Readonly<Record<string, { readonly title: string; readonly purpose: string }>>
  readonly edges: readonly EdgeShape[]
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
  if (!machine || !Object.hasOwn(machine.states, state)) return byName(state)
  const incoming = machine.edges.filter((edge) => edge.to === state && edge.from !== state)
  const outgoing = machine.edges.filter((edge) => edge.from === state)
  if (machine.settled.includes(state)) {
    if (incoming.some(({ on }) => on === 'fail') || /fail|error/.test(state)) return 'bad'
    if (/cancel|delete|skip/.test(state)) return 'ended'
    // Settled, yet somebody may reopen it: it is not as it should be.
    return machine.final.includes(state) ? 'good' : 'warn'
  }
  if (/error|retry/.test(state)) return 'warn'
  const works = outgoing.some(({ on, processor }) => on === 'done' && processor !== undefined)
  const gathers = outgoing.some(({ on }) => on === 'children')
  return works || gathers ? 'active' : 'waiting'
}

function byName(state: string): Tone {
  if (/fail/.test(state)) return 'bad'
  if (/error|partial/.test(state)) return 'warn'
  if (/complete|done|success/.test(state)) return 'good'
  if (/cancel|delete|skip/.test(state)) return 'ended'
  return /progress|running|processing/.test(state) ? 'active' : 'waiting'
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
