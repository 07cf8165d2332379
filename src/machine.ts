import { createHash } from 'node:crypto'
import { checkDeclaration } from './declaration.ts'
import { titlesOf } from './entity-name.ts'
import { SluiceError } from './errors.ts'
import { defaultPolicy, type Policy } from './policy.ts'
import type { StateOutcome } from './state-outcome.ts'
import type { Cause, Edge, Hop, TransitionDeclaration } from './transition.ts'
import { causes, hopOf, processorsOf } from './transition.ts'

/** A state is declared by its purpose alone, or with more. */
export type StateDeclaration =
  | string
  | {
      readonly purpose: string
      /** The seed's own spelling; default: the state's name. */
      readonly title?: string
      /** How long a root entity is kept in this settled state before its tree is purged. */
      readonly retentionMs?: number
      /** Whether a hold over a label stops entities in this state. Default true. */
      readonly holdable?: boolean
      /** How an entity in this state is doing. Default `neutral`. Open states may say `attention`. */
      readonly outcome?: StateOutcome
    }

export interface State {
  readonly title: string
  readonly purpose: string
  readonly retentionMs: number | null
  readonly holdable: boolean
  readonly outcome: StateOutcome
  /** False: the declaration says nothing, and `outcome` is the default. */
  readonly outcomeDeclared: boolean
}

/** What checks data: a Zod schema, or anything else that answers as one does. */
export interface Schema<D> {
  safeParse(
    value: unknown,
  ):
    | { readonly success: true; readonly data: D }
    | { readonly success: false; readonly error: { readonly issues: readonly Issue[] } }
}

interface Issue {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

type Transitions<S extends string> = Readonly<Record<string, TransitionDeclaration<S>>>

export interface MachineDeclaration<S extends string, T extends Transitions<S>, D> {
  readonly name: string
  readonly version: number
  readonly initial: readonly NoInfer<S>[]
  /** Done for its parent; an action may reopen it. */
  readonly settled: readonly NoInfer<S>[]
  /** No way out at all. Every final state is settled. */
  readonly final: readonly NoInfer<S>[]
  readonly states: Readonly<Record<S, StateDeclaration>>
  readonly transitions: T
  /** Checks and types the entity's data. */
  readonly data?: Schema<D>
  /** What people call an entity: a field of its data, or a text with fields in braces; of several the first that can be filled. */
  readonly title?: string | readonly string[]
  /** Up to four fields of data that lists, holds and limits can see. */
  readonly labels?: readonly string[]
  readonly policies?: Readonly<Record<string, Partial<Policy>>>
  /** What processors, criteria and assigns are for, by name: words for people. */
  readonly purposes?: Readonly<Record<string, string>>
  /** The machine of whoever counts these entities as children. */
  readonly parent?: string
  /** States of children whose first entry wakes an entity of this machine, besides the last child's settling. */
  readonly watches?: readonly string[]
  /** The action edge that a settled child takes when its source spawns it again. */
  readonly respawn?: string
}

export interface Machine<D = unknown, P extends string = string, C extends string = string, A extends string = string> {
  readonly name: string
  readonly version: number
  readonly initial: readonly string[]
  readonly settled: readonly string[]
  readonly final: readonly string[]
  readonly states: Readonly<Record<string, State>>
  readonly edges: readonly Edge[]
  readonly schema: Schema<D> | null
  readonly title: readonly string[]
  readonly labels: readonly string[]
  readonly policies: Readonly<Record<string, Policy>>
  readonly purposes: Readonly<Record<string, string>>
  readonly parent: string | null
  readonly watches: readonly string[]
  readonly respawn: string | null
  /** Another digest under a known version is refused at start. */
  readonly digest: string
  /** Only for the compiler: the names that an implementation must bind. */
  readonly names?: { readonly processors: P; readonly criteria: C; readonly assigns: A }
}

type NamesOf<T, K extends string> = T[keyof T] extends infer E
  ? E extends { readonly [key in K]: infer N }
    ? N extends string
      ? N
      : N extends readonly (infer M extends string)[]
        ? M
        : never
    : never
  : never

/** Declares a machine: data, from which runtime, types, diagram, actions and docs all come. */
export function defineMachine<const S extends string, const T extends Transitions<NoInfer<S>>, D = unknown>(
  declaration: MachineDeclaration<S, T, D>,
): Machine<
  D,
  NamesOf<T, 'processor'>,
  NamesOf<T, 'when' | 'ensure'> | NamesOf<T, 'when'> | NamesOf<T, 'ensure'>,
  NamesOf<T, 'assign'>
> {
  checkDeclaration(declaration)
  const edges = Object.entries(declaration.transitions as Transitions<string>).flatMap(([name, transition]) =>
    listOf(transition.from).map((from) => edgeOf(name, from, transition)),
  )
  const states = Object.fromEntries(
    Object.entries<StateDeclaration>(declaration.states).map(([name, state]) => [name, stateOf(name, state)]),
  )
  const processors = new Set(edges.flatMap(processorsOf))
  const policies = Object.fromEntries(
    [...processors, ...Object.keys(declaration.policies ?? {})].map((name) => [
      name,
      { ...defaultPolicy, ...declaration.policies?.[name] },
    ]),
  )
  const described = {
    name: declaration.name,
    version: declaration.version,
    initial: declaration.initial,
    settled: declaration.settled,
    final: declaration.final,
    states,
    edges,
    title: titlesOf(declaration.title),
    labels: declaration.labels ?? [],
    policies,
    purposes: declaration.purposes ?? {},
    parent: declaration.parent ?? null,
    watches: declaration.watches ?? [],
    respawn: declaration.respawn ?? null,
  }
  return { ...described, schema: declaration.data ?? null, digest: digestOf(described) }
}

/**
 * What the digest covers is what running entities depend on: not the words that people read, nor limits that may be
 * tuned, nor the order of states and edges on the page. Only siblings are tried in order, and theirs is kept.
 */
function digestOf(machine: Omit<Machine, 'schema' | 'digest'>): string {
  const essence = {
    initial: machine.initial,
    settled: machine.settled.toSorted(),
    final: machine.final.toSorted(),
    states: Object.keys(machine.states).toSorted(),
    edges: machine.edges
      .map(({ purpose: _purpose, warning: _warning, role: _role, afterMs: _afterMs, ...edge }) => edge)
      .toSorted((one, other) => compare(`${one.from} ${one.on}`, `${other.from} ${other.on}`)),
    labels: machine.labels,
    parent: machine.parent,
    watches: machine.watches.toSorted(),
    respawn: machine.respawn,
  }
  return createHash('sha256').update(JSON.stringify(essence)).digest('hex')
}

/** By code units: the same on every machine, whatever its locale. */
function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

function edgeOf(name: string, from: string, declared: TransitionDeclaration): Edge {
  const [processor, ...then] = listOf(declared.processor)
  return {
    name,
    from,
    to: declared.to,
    on: declared.on,
    ...(processor === undefined ? {} : { processor }),
    ...(then.length === 0 ? {} : { then }),
    when: listOf(declared.when),
    ensure: listOf(declared.ensure),
    ...(declared.assign === undefined ? {} : { assign: declared.assign }),
    inline: declared.inline ?? false,
    action: declared.action ?? name,
    ...(declared.afterMs === undefined ? {} : { afterMs: declared.afterMs }),
    ...(declared.children === undefined ? {} : { children: declared.children }),
    role: declared.role ?? 'operator',
    ...(declared.warning === undefined ? {} : { warning: declared.warning }),
    purpose: declared.purpose ?? '',
  }
}

function stateOf(name: string, declared: StateDeclaration): State {
  const state = typeof declared === 'string' ? { purpose: declared } : declared
  return {
    title: state.title ?? name,
    purpose: state.purpose,
    retentionMs: state.retentionMs ?? null,
    holdable: state.holdable ?? true,
    outcome: state.outcome ?? 'neutral',
    outcomeDeclared: state.outcome !== undefined,
  }
}

function listOf<T extends string>(one: T | readonly T[] | undefined): readonly T[] {
  if (one === undefined) return []
  return typeof one === 'string' ? [one] : one
}

/** The edges that leave a state by one cause, in declared order: siblings, tried in this order. */
export function edgesFrom(machine: Machine, state: string, cause: Cause): readonly Edge[] {
  return statePlan(machine, state).edges[cause]
}

export function isSettled(machine: Machine, state: string): boolean {
  return statePlan(machine, state).settled
}

export function isFinal(machine: Machine, state: string): boolean {
  return machine.final.includes(state)
}

/**
 * What a worker does with an entity that waits to run in this state: the hops that the claim itself takes (`time` when
 * due, `gate` when its line is open, then `claim` edges), and the state in which the processor then runs.
 */
export interface ClaimPlan {
  readonly hops: readonly Hop[]
  readonly state: string
  readonly processor: string | null
  readonly gated: boolean
}

/** Null: an entity in this state does not run. */
export function claimPlan(machine: Machine, state: string): ClaimPlan | null {
  return statePlan(machine, state).claim
}

/** All that a state is asked for while entities move. */
export interface StatePlan {
  readonly settled: boolean
  /** Those that leave it, by cause. All plans have all causes: what is looked up so often should have one shape. */
  readonly edges: Readonly<Record<Cause, readonly Edge[]>>
  claim: ClaimPlan | null
}

const noEdges = Object.fromEntries(causes.map((cause) => [cause, []])) as unknown as StatePlan['edges']
/** Of a state that the machine does not have. */
const nowhere: StatePlan = { settled: false, edges: noEdges, claim: null }

export function statePlan(machine: Machine, state: string): StatePlan {
  return planOf(machine).get(state) ?? nowhere
}

/** Plans are derived once per machine; a machine never changes. */
const plans = new WeakMap<Machine, Map<string, StatePlan>>()

/** Of the machine that was asked for last: most questions in a row are about the same one. */
let lastPlan: { readonly machine: Machine; readonly plan: Map<string, StatePlan> } | null = null

function planOf(machine: Machine): Map<string, StatePlan> {
  if (lastPlan?.machine === machine) return lastPlan.plan
  const plan = plans.get(machine) ?? makePlan(machine)
  lastPlan = { machine, plan }
  return plan
}

function makePlan(machine: Machine): Map<string, StatePlan> {
  const plan = new Map<string, StatePlan>()
  for (const state of Object.keys(machine.states)) {
    const leaving = machine.edges.filter((edge) => edge.from === state)
    const edges = { ...noEdges, ...Object.groupBy(leaving, (edge) => edge.on) }
    plan.set(state, { settled: machine.settled.includes(state), edges, claim: null })
  }
  plans.set(machine, plan)
  for (const [state, entry] of plan) entry.claim = followClaims(plan, state)
  return plan
}

function followClaims(plan: Map<string, StatePlan>, start: string): ClaimPlan | null {
  const hops: Hop[] = []
  const seen = new Set<string>()
  let gated = false
  let state = start
  for (;;) {
    if (seen.has(state)) return null
    seen.add(state)
    const { edges } = plan.get(state) ?? nowhere
    if (edges.done.length > 0) {
      // Edges without a processor may stand before the one that has it: the claim is made for that one.
      const processor = edges.done.find((edge) => edge.processor !== undefined)?.processor ?? null
      return { hops, state, processor, gated }
    }
    // A gate or a timer stands only at the beginning: what is claimed has passed it.
    const first =
      hops.length === 0 ? (edges.gate[0] ?? (edges.children.length > 0 ? undefined : plainTime(edges.time))) : undefined
    const next = edges.claim[0] ?? first
    if (!next) return null
    if (next.on === 'gate') gated = true
    hops.push(hopOf(next))
    state = next.to
  }
}

/**
 * A timer that only leads on to a claim. One that does more (processor, `when`, assign, an order to children) or has
 * siblings is the engine's to judge: a claim writes hops and nothing else.
 */
function plainTime([edge, ...siblings]: readonly Edge[]): Edge | undefined {
  if (!edge || siblings.length > 0) return undefined
  return !edge.processor && edge.when.length === 0 && !edge.assign && !edge.children ? edge : undefined
}

/** The edge of this name that leaves this state. */
export function edgeNamed(machine: Machine, state: string, name: string): Edge {
  const edge = machine.edges.find((edge) => edge.from === state && edge.name === name)
  if (edge) return edge
  throw new SluiceError('invalid', `Machine ${machine.name} has no transition ${name} from ${state}.`, { state, name })
}

export function policyOf(machine: Machine, processor: string | null | undefined): Policy {
  return (processor ? machine.policies[processor] : undefined) ?? defaultPolicy
}

/** Labels are copied from data, by position. */
export function labelsOf(machine: Machine, data: unknown): readonly (string | null)[] {
  if (machine.labels.length === 0) return noLabels
  const fields = (typeof data === 'object' && data !== null ? data : {}) as Record<string, unknown>
  return machine.labels.map((name) => {
    const value = fields[name]
    return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : null
  })
}

const noLabels: readonly (string | null)[] = []
