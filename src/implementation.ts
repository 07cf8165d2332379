import type { Logger } from 'pino'
import type { Entity, EntityId } from './entity.ts'
import { SluiceError } from './errors.ts'
import type { Hold } from './hold.ts'
import type { Lane } from './lane.ts'
import { type Machine, policyOf } from './machine.ts'
import type { Outcome, Sums } from './outcome.ts'
import type { Policy } from './policy.ts'
import type { Take } from './pool.ts'
import type { Filter, Page } from './store.ts'
import { type Edge, processorsOf } from './transition.ts'

/** An entity as processors, criteria and assigns see it: with its data, without its bookkeeping. */
export interface View<D = unknown> {
  readonly id: EntityId
  readonly machine: string
  readonly version: number
  readonly state: string
  readonly generation: number
  readonly parent: EntityId | null
  readonly lane: string
  readonly ordinal: number | null
  readonly priority: number
  readonly key: string | null
  readonly createdAt: number
  readonly changedAt: number
  readonly data: D
}

/** All that a pure rule may know besides the entity. */
export interface Facts {
  readonly now: number
  /** In [0, 1): for jitter. */
  readonly random: number
  /** Own lanes, where the decision read them. */
  readonly lanes: readonly Lane[] | null
  /** Holds that stop this entity now. */
  readonly holds: readonly Hold[]
  /** What a person gave along with an action. */
  readonly input: unknown
  readonly actor: string | null
  /** Why it failed or is retried. */
  readonly reason: string | null
  readonly error: string | null
}

/** True, or why not: false or a sentence. */
export type Criterion<D = unknown> = (entity: View<D>, facts: Facts) => boolean | string

/** What an edge changes besides the state. */
export interface Change<D = unknown> {
  readonly data?: D
  readonly priority?: number
  /** Gates of own lanes. */
  readonly open?: readonly string[]
  readonly shut?: readonly string[]
  readonly spawn?: readonly Child[]
  readonly takes?: readonly Take[]
  readonly gives?: readonly string[]
  readonly sums?: Sums
  /**
   * A transition on action, with a processor, that leaves the state in which the move ends: it is asked for in the same commit. For work
   * that follows from an end (a handler, a message) and must not be lost with the process.
   */
  readonly ask?: string
  /** Written to the log once the edge is saved, and only then: an assign is pure, and may be asked more than once. */
  readonly log?: LogLine
}

export interface LogLine {
  readonly message: string
  readonly level?: 'debug' | 'info' | 'warn' | 'error'
  readonly fields?: Readonly<Record<string, unknown>>
}

export type Assign<D = unknown> = (entity: View<D>, facts: Facts, input: unknown) => Change<D>

/** A child as a processor or assign asks for it. Machine and version: of the same family and version as its source. */
export interface Child {
  readonly machine: string
  readonly lane?: string
  readonly data: unknown
  /** One of its machine's initial states; default the first. */
  readonly state?: string
  readonly priority?: number
  readonly key?: string
  /** Who counts it: the spawning entity, or that one's own parent (a chunk spawns chunks whose parent is the job). */
  readonly of?: 'self' | 'parent'
  /** Position among all that this source spawns. Default: the next one. */
  readonly ordinal?: number
  /** For a child born failed: why. */
  readonly reason?: string
  /** Not before this time. */
  readonly at?: number
}

/** What a processor is given. */
export interface Context<D = unknown> {
  readonly entity: View<D>
  readonly data: D
  /** The same over attempts, new after each reopening: hand it to whatever has effects outside. */
  readonly idempotencyKey: string
  /** 1 for the first. */
  readonly attempt: number
  /** Aborted when the lease is lost, the entity is cancelled, the timeout has passed, or the process stops. */
  readonly signal: AbortSignal
  /** Whether the signal is aborted. Asking for the signal itself makes one; a run that only looks now and then needs none. */
  readonly aborted: boolean
  readonly log: Logger
  /** What a person gave along with the action that runs this edge. */
  readonly input: unknown
  readonly actor: string | null
  /** Own lanes as they were when a `children` edge was chosen. */
  readonly lanes: readonly Lane[]
  /** Where the last checkpoint said to go on; null at the beginning. */
  readonly cursor: unknown
  /** Own lanes as they are now. */
  readLanes(): Promise<readonly Lane[]>
  /** The store's time. */
  now(): number
  /** Children appear with the commit of this run, all or none. Big fan-outs: call checkpoint in between. */
  spawn(children: Child | readonly Child[]): Promise<void>
  /** Makes what was spawned so far durable (still unseen), and says where to go on after a crash. */
  checkpoint(cursor: unknown): Promise<void>
  /** For people: shown with the entity, not kept in its history. */
  progress(value: unknown): void
  /** Own children, in pages, oldest first. */
  children(filter?: ChildFilter): AsyncIterable<Entity>
  /** Whoever counts this entity, as it is now; null for a root. */
  parent(): Promise<Entity | null>
  /** One page of the children of its parent, itself included. */
  siblings(filter: SiblingFilter): Promise<Page>
  /** Acts on own children that match, group by group; counts by verdict. Goes on where it was after a crash. */
  actOnChildren(action: string, filter?: ChildFilter, input?: unknown): Promise<Readonly<Record<string, number>>>
}

export interface ChildFilter {
  readonly lane?: string
  readonly states?: readonly string[]
}

export type SiblingFilter = Pick<Filter, 'lane' | 'states' | 'after' | 'spawnedBy' | 'limit'>

// biome-ignore lint/suspicious/noConfusingVoidType: a processor that has nothing to say is done.
export type Processor<D = unknown> = (context: Context<D>) => Outcome | void | Promise<Outcome | void>

/**
 * A processor that takes many entities at once, for work that is cheaper so: one statement, one request. It answers for each,
 * by position. If it throws, its entities are run one by one, so that the guilty one stands alone.
 */
export type GroupProcessor<D = unknown> = (
  contexts: readonly Context<D>[],
  // biome-ignore lint/suspicious/noConfusingVoidType: an entity for which there is nothing to say is done.
) => readonly (Outcome | void)[] | Promise<readonly (Outcome | void)[]>

const groupProcessors = new WeakMap<object, GroupProcessor>()

/** Binds a group processor as any other: whatever is claimed together for it runs together, as far as its inline edges lead. */
export function inGroups<D>(many: GroupProcessor<D>): Processor<D> {
  const single: Processor<D> = async (context) => (await many([context]))[0]
  groupProcessors.set(single, many as GroupProcessor)
  return single
}

/** Null: it takes entities one by one. */
export function groupProcessorOf(processor: Processor | undefined): GroupProcessor | null {
  return (processor && groupProcessors.get(processor)) ?? null
}

/** A machine with the functions that its names stand for. */
export interface Implementation {
  readonly machine: Machine
  readonly processors: Readonly<Record<string, Processor>>
  readonly criteria: Readonly<Record<string, Criterion>>
  readonly assigns: Readonly<Record<string, Assign>>
  readonly tuning: Tuning
}

/**
 * What a machine leaves open because it differs from entity to entity: each step of a job has attempts and times of its own. None of it
 * decides where an edge leads, so it may change from one start of a process to the next.
 */
export interface Tuning<D = unknown> {
  /** Over the processor's policy in the machine. */
  readonly policy?: (entity: View<D>, processor: string) => RunPolicy | null
  /** How long a root is kept in the settled state that it enters. Null: for ever. Undefined: as the machine says. */
  readonly retentionMs?: (entity: View<D>) => number | null | undefined
  /** By processor: ceilings of `concurrencyPer` for some values of its label. All others have the policy's. */
  readonly ceilings?: Readonly<Record<string, Readonly<Record<string, number>>>>
  /**
   * How far an entity is, where counting children does not say it: 0 to 100, and when it will be done, if that can be told. Asked by every
   * view of progress, so that all say the same.
   */
  readonly progress?: (
    entity: { readonly data: D; readonly state: string },
    lanes: readonly Lane[],
    now: number,
  ) => OwnProgress
  /** Data as people see it, in every view of an entity: without its secrets. Rules and processors see the whole. Default: all of it. */
  readonly shown?: (data: D) => unknown
  /** What this process can do of the machine, where that is not all: workers say so, and `explain` knows whom to look for. */
  readonly serves?: Serves<D>
}

export interface OwnProgress {
  readonly percent: number
  readonly etaMs: number | null
}

export interface Serves<D = unknown> {
  /** What the names are of, for people: `job definition`. */
  readonly what: string
  readonly names: readonly string[]
  /** The one that this entity needs. */
  readonly nameOf: (data: D) => string
}

/** The part of a policy that concerns one run. */
export type RunPolicy = Partial<Pick<Policy, 'attemptsMax' | 'backoff' | 'timeoutMs'>>

/** How this processor is treated for this entity. */
export function policyFor(
  { machine, tuning }: Implementation,
  processor: string | null | undefined,
  whose: { readonly view: View },
): Policy {
  const policy = policyOf(machine, processor)
  if (!tuning.policy || !processor) return policy
  const own = tuning.policy(whose.view, processor)
  return own ? { ...policy, ...own } : policy
}

/** The function that runs before this edge is taken. */
export function processorOf({ processors }: Implementation, { processor }: Edge): Processor | undefined {
  return processor === undefined ? undefined : processors[processor]
}

type Bound<Names extends string, F> = [Names] extends [never]
  ? { readonly [name: string]: never }
  : Readonly<Record<Names, F>>

type Optional<K extends string, Names extends string, F> = [Names] extends [never]
  ? { readonly [key in K]?: Bound<Names, F> }
  : { readonly [key in K]: Bound<Names, F> }

type Bindings<D, P extends string, C extends string, A extends string> = { readonly tuning?: Tuning<D> } & Optional<
  'processors',
  P,
  Processor<D>
> &
  Optional<'criteria', C, Criterion<D>> &
  Optional<'assigns', A, Assign<D>>

/** Binds a machine's names to functions. A missing or unknown name does not compile, and is refused at start. */
export function implement<D, P extends string, C extends string, A extends string>(
  machine: Machine<D, P, C, A>,
  bindings: Bindings<D, P, C, A>,
): Implementation {
  const bound = (bindings ?? {}) as {
    processors?: Record<string, Processor>
    criteria?: Record<string, Criterion>
    assigns?: Record<string, Assign>
    tuning?: Tuning
  }
  const implementation: Implementation = {
    machine: machine as Machine,
    processors: bound.processors ?? {},
    criteria: bound.criteria ?? {},
    assigns: bound.assigns ?? {},
    tuning: bound.tuning ?? {},
  }
  const faults = bindingFaults(implementation)
  if (faults.length > 0) throw new SluiceError('invalid', faults.join('\n'), { machine: machine.name, faults })
  return implementation
}

function bindingFaults({ machine, processors, criteria, assigns }: Implementation): string[] {
  const needed = { processor: new Set<string>(), criterion: new Set<string>(), assign: new Set<string>() }
  for (const edge of machine.edges) {
    for (const name of processorsOf(edge)) needed.processor.add(name)
    for (const name of [...edge.when, ...edge.ensure]) needed.criterion.add(name)
    if (edge.assign) needed.assign.add(edge.assign)
  }
  const given = { processor: processors, criterion: criteria, assign: assigns }
  return (Object.keys(given) as (keyof typeof given)[]).flatMap((kind) => [
    ...[...needed[kind]]
      .filter((name) => typeof given[kind][name] !== 'function')
      .map((name) => `Machine ${machine.name} names the ${kind} ${name}, and no function is bound to it.`),
    ...Object.keys(given[kind])
      .filter((name) => !needed[kind].has(name))
      .map((name) => `A function is bound to the ${kind} ${name}, which machine ${machine.name} does not name.`),
  ])
}

/** The entity as rules see it. */
export function viewOf(
  entity: Entity,
  data: unknown,
  state: string = entity.state,
  generation: number = entity.generation,
): View {
  return new EntityView(entity, data, state, generation)
}

/** Four fields over the row instead of a copy of it: several are made for each of a million moves. */
class EntityView implements View {
  readonly data: unknown
  readonly state: string
  readonly generation: number
  readonly #entity: Entity

  constructor(entity: Entity, data: unknown, state: string, generation: number) {
    this.#entity = entity
    this.data = data
    this.state = state
    this.generation = generation
  }

  get id(): EntityId {
    return this.#entity.id
  }

  get machine(): string {
    return this.#entity.machine
  }

  get version(): number {
    return this.#entity.version
  }

  get parent(): EntityId | null {
    return this.#entity.parent
  }

  get lane(): string {
    return this.#entity.lane
  }

  get ordinal(): number | null {
    return this.#entity.ordinal
  }

  get priority(): number {
    return this.#entity.priority
  }

  get key(): string | null {
    return this.#entity.key
  }

  get createdAt(): number {
    return this.#entity.createdAt
  }

  get changedAt(): number {
    return this.#entity.changedAt
  }

  /** For logs: getters are not written otherwise. */
  toJSON(): Record<keyof View, unknown> {
    const {
      id,
      machine,
      version,
      state,
      generation,
      parent,
      lane,
      ordinal,
      priority,
      key,
      createdAt,
      changedAt,
      data,
    } = this
    return { id, machine, version, state, generation, parent, lane, ordinal, priority, key, createdAt, changedAt, data }
  }
}
