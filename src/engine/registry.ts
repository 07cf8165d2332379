import { assertMachine } from '../check-machine.ts'
import { SluiceError } from '../errors.ts'
import { groupProcessorOf, type Implementation } from '../implementation.ts'
import { claimPlan, edgesFrom, type Machine, policyOf } from '../machine.ts'
import type { Policy } from '../policy.ts'
import { processorPool } from '../pool.ts'
import type { ClaimRun, MachineRow } from '../store.ts'
import type { Hop } from '../transition.ts'

/** One kind of waiting, with what a worker needs to take it up. */
export interface Run {
  readonly implementation: Implementation
  readonly state: string
  readonly edge: string | null
  readonly hops: readonly Hop[]
  readonly processor: string | null
  /** Where the processor runs, once the claim's hops are taken: runs that lead to the same place share it. */
  readonly place: string
  readonly policy: Policy
  /** What is claimed together for it runs together. */
  readonly isGrouped: boolean
  readonly claim: Omit<ClaimRun, 'limit'>
}

/** The machines that this process knows, checked before anything starts. Versions live side by side. */
export class Registry {
  readonly #byName = new Map<string, Map<number, Implementation>>()
  readonly #newest = new Map<string, Implementation>()
  readonly runs: readonly Run[]
  /** Each as `name@version`. */
  readonly names: readonly string[]

  constructor(implementations: readonly Implementation[]) {
    for (const implementation of implementations) {
      const { machine } = implementation
      assertMachine(machine)
      const name = nameOf(machine.name, machine.version)
      if (this.knows(machine.name, machine.version)) {
        const why =
          machine.name === 'walk' ? "walk is the engine's own machine; choose another name" : 'give each version once'
        throw new SluiceError('invalid', `Machine ${name} is given twice; ${why}.`, { machine: name })
      }
      const versions = this.#byName.get(machine.name) ?? new Map<number, Implementation>()
      this.#byName.set(machine.name, versions.set(machine.version, implementation))
      const newest = this.#newest.get(machine.name)
      if (!newest || newest.machine.version < machine.version) this.#newest.set(machine.name, implementation)
    }
    this.names = implementations.map(({ machine }) => nameOf(machine.name, machine.version))
    this.runs = implementations.flatMap(runsOf)
  }

  get machines(): readonly Machine[] {
    return [...this.#byName.values()].flatMap((versions) => [...versions.values()].map(({ machine }) => machine))
  }

  knows(machine: string, version: number): boolean {
    return this.find(machine, version) !== null
  }

  get(machine: string, version: number): Implementation {
    const implementation = this.find(machine, version)
    if (implementation) return implementation
    throw new SluiceError('not_found', `This process does not know machine ${nameOf(machine, version)}.`, {
      machine,
      version,
    })
  }

  newest(machine: string): Implementation {
    const implementation = this.#newest.get(machine)
    if (implementation) return implementation
    const known = [...this.#newest.keys()].join(', ') || 'none'
    throw new SluiceError('not_found', `There is no machine ${machine}. Known: ${known}.`, { machine })
  }

  /** Null where the child's machine names no parent, or one that is not known here. */
  find(machine: string, version: number): Implementation | null {
    return this.#byName.get(machine)?.get(version) ?? null
  }

  /** What a worker of this process says of itself: machines, and what it can do of each where that is not all. */
  get served(): readonly string[] {
    return [...this.#byName.values()].flatMap((versions) =>
      [...versions.values()].flatMap(({ machine, tuning }) => {
        const name = nameOf(machine.name, machine.version)
        return [name, ...(tuning.serves?.names ?? []).map((own) => servedName(name, own))]
      }),
    )
  }

  rows(): readonly MachineRow[] {
    return this.machines.map(({ schema: _schema, ...machine }) => ({
      name: machine.name,
      version: machine.version,
      digest: machine.digest,
      labels: machine.labels,
      declaration: JSON.stringify(machine),
    }))
  }
}

export function placeOf(machine: { name: string; version: number }, state: string, edge: string | null): string {
  return `${machine.name}@${machine.version}/${state}/${edge ?? ''}`
}

export function nameOf(machine: string, version: number): string {
  return `${machine}@${version}`
}

/** As a worker says it: `chunked_chunk@1:nightly@2`. */
export function servedName(machine: string, name: string): string {
  return `${machine}:${name}`
}

/** Every state in which an entity can wait to run, and every edge with a processor that can be asked for. */
function runsOf(implementation: Implementation): Run[] {
  const { machine } = implementation
  const runs: Run[] = []
  for (const state of Object.keys(machine.states)) {
    const plan = claimPlan(machine, state)
    if (plan) runs.push(runOf(implementation, state, null, plan.hops, plan.processor))
    for (const cause of ['action', 'children', 'time'] as const) {
      for (const edge of edgesFrom(machine, state, cause)) {
        if (edge.processor) runs.push(runOf(implementation, state, edge.name, [], edge.processor))
      }
    }
  }
  return runs
}

function runOf(
  implementation: Implementation,
  state: string,
  edge: string | null,
  hops: readonly Hop[],
  processor: string | null,
): Run {
  const { machine } = implementation
  const policy = policyOf(machine, processor)
  const name = processor ?? state
  const ceilings = processor === null ? undefined : implementation.tuning.ceilings?.[processor]
  return {
    implementation,
    state,
    edge,
    hops,
    processor,
    place: placeOf(machine, edge === null ? (claimPlan(machine, state)?.state ?? state) : state, edge),
    policy,
    isGrouped: edge === null && processor !== null && groupProcessorOf(implementation.processors[processor]) !== null,
    claim: {
      machine: machine.name,
      version: machine.version,
      state,
      edge,
      hops,
      holdable: machine.states[state]?.holdable ?? true,
      passes: passesOf(machine, state, edge, hops),
      pool:
        policy.concurrency === null ? null : { name: processorPool(machine.name, name), ceiling: policy.concurrency },
      poolPer:
        policy.concurrencyPer === null
          ? null
          : {
              position: machine.labels.indexOf(policy.concurrencyPer.label),
              name: processorPool(machine.name, name),
              ceiling: policy.concurrencyPer.max,
              ...(ceilings ? { ceilings } : {}),
            },
    },
  }
}

/** Where the entity waits, where the hops of its claim lead, and every state that an inline edge may leave in the same move. */
function passesOf(machine: Machine, state: string, edge: string | null, hops: readonly Hop[]): readonly string[] {
  const passes = new Set([state, ...hops.map(({ to }) => to)])
  const requested = edge === null ? [] : machine.edges.filter(({ from, name }) => from === state && name === edge)
  const open = edge === null ? [...edgesFrom(machine, hops.at(-1)?.to ?? state, 'done')] : requested
  for (let next = open.pop(); next; next = open.pop()) {
    const { to } = next
    const inline = edgesFrom(machine, to, 'done').filter((edge) => edge.inline)
    if (inline.length === 0 || passes.has(to)) continue
    passes.add(to)
    open.push(...inline)
  }
  return [...passes]
}
