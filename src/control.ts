import type { Entity, EntityId } from './entity.ts'
import type { Event } from './event.ts'
import type { Hold, HoldScope } from './hold.ts'
import type { Lane } from './lane.ts'
import type { Worker } from './lease.ts'
import type { Machine } from './machine.ts'
import type { Sums } from './outcome.ts'
import type { StateOutcome } from './state-outcome.ts'
import type { Actor, Drift, Filter } from './store.ts'

/** All that a person or a program asks of a running Sluice: one interface for API, CLI and dashboard, locally or over HTTP. */
export interface Control {
  /** The machines that are known here, every version. */
  machines(): Promise<readonly Machine[]>
  /** A new root of the machine's newest version. The same key gives the same entity, also in a race. */
  submit(machine: string, data: unknown, options?: SubmitOptions): Promise<Submitted>
  submitMany(
    machine: string,
    items: readonly SubmitItem[],
    options?: Pick<SubmitOptions, 'actor' | 'version'>,
  ): Promise<readonly Submitted[]>
  /** Data comes as its machine shows it to people. With `secrets` it is whole: for programs that own the store, never over a network. */
  get(id: EntityId, options?: { readonly secrets?: boolean }): Promise<Detail>
  list(filter: ListFilter): Promise<ListPage>
  /** Those that are meant by what a person typed: the one of this id, and the one that has this key. */
  find(text: string): Promise<readonly Detail[]>
  /** Every hop, oldest first. */
  history(id: EntityId, options?: { readonly afterSeq?: number; readonly limit?: number }): Promise<readonly Event[]>
  lanes(id: EntityId): Promise<readonly Lane[]>
  /** Counts of all roots by machine and state. */
  totals(): Promise<readonly Lane[]>
  progress(id: EntityId): Promise<Progress>
  /** Every change from now on (or from a position), until the signal is aborted. */
  watch(options?: WatchOptions): AsyncIterable<Change>
  /** How it ended, or how far it is, and what it reports. */
  report(id: EntityId): Promise<Report>
  /**
   * Resolves when the entity is settled; null if that took longer. After `act` it waits for the new end: an entity of which a person has
   * asked something is not at its end, although it may still be in the settled state from which it was asked.
   */
  settled(id: EntityId, timeoutMs?: number): Promise<Detail | null>
  act(id: EntityId, action: string, options?: ActOptions): Promise<ActResult>
  /** An act on many is an entity of machine `walk`: this counts, and starts it with `confirm`. */
  actOnMany(
    filter: ListFilter,
    action: string,
    options?: ActOptions & { readonly confirm?: boolean },
  ): Promise<ManyResult>
  hold(scope: HoldScope, options: HoldOptions): Promise<Hold>
  release(hold: number, actor?: Partial<Actor>): Promise<void>
  holds(): Promise<readonly Hold[]>
  /** Those that have ended, by whom, the latest first. */
  pastHolds(limit?: number): Promise<readonly Hold[]>
  /** Lower first. Takes effect in the line where the entity stands. */
  prioritise(id: EntityId, priority: number): Promise<void>
  /** Why this entity is not moving. */
  explain(id: EntityId): Promise<Explanation>
  workers(): Promise<readonly Worker[]>
  /** Recounts lanes from the children's rows and names every drift; changes nothing. Null: the roots. */
  check(parents: readonly (EntityId | null)[]): Promise<readonly Drift[]>
  /** The same, and mends it with an audited event. */
  repair(parents: readonly (EntityId | null)[], actor?: Partial<Actor>): Promise<readonly Drift[]>
}

export interface SubmitOptions {
  readonly key?: string
  readonly priority?: number
  /** Default: the newest. */
  readonly version?: number
  readonly state?: string
  /** Not before this time. */
  readonly at?: number
  readonly actor?: string
}

export interface SubmitItem extends Omit<SubmitOptions, 'actor' | 'version'> {
  readonly data: unknown
}

export interface Submitted {
  readonly id: EntityId
  /** The key was known: this is the entity that has it. */
  readonly existing: boolean
}

/** An entity as people see it. */
export interface Detail extends Omit<Entity, 'data' | 'progress' | 'checkpoint'> {
  readonly data: unknown
  readonly progress: unknown
  /** The state as drawn: `ready` for `gate_waiting` behind an open gate. */
  readonly shown: string
  /** The title of its state. */
  readonly title: string
  /** What people call it, as its machine declares it; null: it has no name but its number. */
  readonly name: string | null
  /** Removed by retention: only this tombstone is left. */
  readonly purged: boolean
  readonly actions: readonly {
    readonly action: string
    readonly to: string
    readonly warning: string | null
    readonly refusal: string | null
  }[]
}

export interface ListFilter extends Omit<Filter, 'limit' | 'anyOf'> {
  readonly limit?: number
  /** Entities in a state with one of these outcomes, as the machines known here declare them. */
  readonly outcomes?: readonly StateOutcome[]
  /** The one that was submitted, or spawned, under this key. */
  readonly key?: string
}

export interface ListPage {
  readonly entities: readonly Omit<Detail, 'actions'>[]
  readonly next: EntityId | null
}

export interface Progress {
  readonly id: EntityId
  readonly state: string
  readonly total: number
  readonly settled: number
  readonly open: number
  /** Over all lanes. */
  readonly counts: Readonly<Record<string, number>>
  /** Settled children by the outcome of their state; `success` is what is done. Together they are `settled`. */
  readonly outcomes: Readonly<Record<StateOutcome, number>>
  readonly reasons: Readonly<Record<string, number>>
  readonly sums: Sums
  readonly percent: number
  /** Children settled per second, lately. Null: not known yet. */
  readonly ratePerSecond: number | null
  /** Null: there is no telling, as nothing has settled yet, or nothing does any more. */
  readonly etaMs: number | null
  /** Where the speed varies: between these the time left lies. Null: it is even, or, as an upper end, there is no telling. */
  readonly etaLowMs: number | null
  readonly etaHighMs: number | null
  /** The process that answers cannot write to its store now: since when, and why. */
  readonly trouble: { readonly since: number; readonly sentence: string } | null
  readonly lanes: readonly Lane[]
}

/** What is left to say of an entity when all is done. */
export interface Report {
  readonly id: EntityId
  readonly machine: string
  readonly version: number
  readonly state: string
  readonly title: string
  /** As its machine declares it of the state. */
  readonly outcome: StateOutcome
  readonly settled: boolean
  readonly purged: boolean
  readonly createdAt: number
  readonly createdBy: string | null
  readonly changedAt: number
  readonly sentence: string
  readonly progress: Progress
  /** What it wrote into its data under `report`, `resultSummary` or `result`. */
  readonly result: unknown
}

export interface WatchOptions {
  /** Refused with `not_found`, when read, if something behind it is not kept any more. */
  readonly after?: number
  /** Told once, of the position from which is watched. */
  readonly begun?: (position: number) => void
  readonly ids?: readonly EntityId[]
  readonly signal?: AbortSignal
}

export interface Change {
  readonly position: number
  readonly events: readonly Event[]
  readonly births: readonly EntityId[]
}

export interface ActOptions extends Partial<Actor> {
  /** Which of the edges that share the action's name: by the state it leads to. */
  readonly to?: string
  readonly input?: unknown
  /** Refuse if the entity has moved since it was looked at. */
  readonly seq?: number
  /** For an act on many: the same key gives the same walk. */
  readonly key?: string
  /** Needed for actions that carry a warning. */
  readonly confirmed?: boolean
}

export interface ActResult {
  readonly id: EntityId
  readonly kind: 'done' | 'requested'
  /** Where it is now; for `requested` the edge whose processor will run. */
  readonly state: string
}

export interface ManyResult {
  /** How many match, at the moment of counting. */
  readonly matching: number
  /** False: there are at least so many; counting them all would take too long. */
  readonly exact: boolean
  /** What to tell a person before this is confirmed. */
  readonly warnings: readonly string[]
  /** The walk entity, if it was confirmed. */
  readonly walk: EntityId | null
}

export interface HoldOptions extends Partial<Omit<Actor, 'reason'>> {
  readonly reason: string
  readonly owner: string
  readonly until?: number
}

/** Why an entity is where it is, in one sentence and as facts. */
export interface Explanation {
  readonly id: EntityId
  readonly state: string
  readonly kind:
    | 'final'
    | 'settled'
    | 'running'
    | 'ready'
    | 'scheduled'
    | 'retrying'
    | 'held'
    | 'gated'
    | 'full'
    | 'children'
    | 'parent_ended'
    | 'timer'
    | 'person'
    | 'no_worker'
    | 'suspect'
    | 'purging'
    | 'store_trouble'
  readonly sentence: string
  /** Of a parent that waits for its children: `children`, a list of ChildGroup. */
  readonly facts: Readonly<Record<string, unknown>>
}

/** Open children of one parent that wait for the same thing. */
export interface ChildGroup {
  readonly kind: Explanation['kind']
  readonly count: number
  /** False: only some of the open children were looked at, so there are at least so many. */
  readonly exact: boolean
  /** Some of them. */
  readonly examples: readonly EntityId[]
  /** Null: they are in several lanes. */
  readonly lane: string | null
  /** `held`: the hold that stops them. */
  readonly hold: {
    readonly id: number
    readonly reason: string
    readonly owner: string
    readonly until: number | null
  } | null
  /** `retrying`, `scheduled` and `timer`: when the first of them goes on. */
  readonly at: number | null
  /** `retrying`: what one of them failed with. */
  readonly error: string | null
  /** `no_worker`: what no live worker serves, as name@version, and the role that is missing. */
  readonly machine: string | null
  readonly role: string | null
  /** `full`: the pool that has no room. */
  readonly pool: string | null
  /** `no_worker`: what no live worker knows besides the machine, such as the definition of a job. */
  readonly needs: { readonly what: string; readonly name: string } | null
  /** `gated`: the lanes before theirs that have open children, in order. */
  readonly behind: readonly string[]
  /** `running`: the worker that holds them, if nothing has been heard of it for long. */
  readonly worker: string | null
  readonly silentMs: number | null
}
