import type { Checkpoint, Entity, EntityId, LaneRead, Request, Wait } from './entity.ts'
import type { MoveRecord } from './event.ts'
import type { Hold, HoldScope } from './hold.ts'
import type { Lane } from './lane.ts'
import type { Worker, WorkerIdentity } from './lease.ts'
import type { Sums } from './outcome.ts'
import type { Pool, Take } from './pool.ts'
import type { Hop } from './transition.ts'

/**
 * The one door for state. About fifteen verbs, each taking and returning arrays; no SQL and no connection in sight.
 * Only create, claim, commit and purge change state. A store knows no machine: what a rule decides reaches it as data
 * (the hops, the wait, whether a state is settled), so that every store behaves alike.
 */
export interface Store {
  /** Makes the tables, or refuses with `conflict` if they are of a newer program. Safe to repeat. */
  migrate(): Promise<void>

  /**
   * Makes machines known by (name, version, digest). Another digest under a known version is refused with `conflict`,
   * naming the machine: a definition that entities run by does not change under them.
   */
  define(machines: readonly MachineRow[]): Promise<void>

  /** The store's clock, never stepping back. All times in the store are of this clock. */
  time(): number

  /**
   * Creates roots. A repeat of the operation returns what the first one did. A key that is taken returns the entity that
   * has it ('existing'), also while two processes race for it. All or nothing per entity.
   */
  create(operation: string, births: readonly Birth[]): Promise<readonly CreateVerdict[]>

  /** In the order asked; null where there is none (never was, is staged and not published, or was purged). */
  get(ids: readonly EntityId[]): Promise<readonly (Entity | null)[]>

  list(filter: Filter): Promise<Page>

  /**
   * Gives a worker the lease over entities that wait to run: in rank order over the open lines that it serves, held and
   * limited ones put aside. In one durable write per entity the epoch grows, the attempt is counted and the run's hops
   * are taken (then seq grows and a history row is written). Refused with `lease_lost` for a worker that is unknown or
   * whose lease has expired.
   */
  claim(request: ClaimRequest): Promise<ClaimResult>

  /**
   * Moves, each atomic with its children, lanes, pools and history. One verdict per move, in order. The verdicts are kept
   * under the operation's id for `operationMs`: a repeat after a lost answer returns them and changes nothing.
   */
  commit(operation: string, moves: readonly Move[]): Promise<readonly Verdict[]>

  /** Registers a worker (no id) or renews its lease. Refused with `lease_lost` once the lease has expired: never revived. */
  renew(renewal: Renewal): Promise<Worker>

  /** Ends leases without a move. Every lease that ends raises its entity's epoch: a late commit is stale. */
  release(release: Release): Promise<readonly EntityId[]>

  /**
   * What the engine must look at now: parents with a wake number ahead, timers, trees to purge; and when to look again.
   * `machines` (each `name@version`) leaves out what this process does not know; without it all are listed.
   */
  due(limit: number, machines?: readonly string[]): Promise<Due>

  /** Lanes of these parents, each parent's in the order in which they were made: the order of its steps. Null: those of the roots. */
  lanes(parents: readonly (EntityId | null)[]): Promise<readonly Lane[]>

  /** Counts the children of these parents' lanes row by row: what the lanes should say. `mend` makes them say it. */
  recount(parents: readonly (EntityId | null)[], mend: Actor | null): Promise<readonly Drift[]>

  /** History of one entity, oldest first, or the feed of all moves and creations behind a position. */
  events(query: EventQuery): Promise<EventPage>

  /** The standing holds, after making or lifting one; expired ones are left out. Or so many that have ended, the latest first. */
  holds(change?: HoldChange | HoldQuery): Promise<readonly Hold[]>

  /** Pools by name, with some of their holders; unknown names are left out. */
  pools(names: readonly string[]): Promise<readonly Pool[]>

  /** Workers whose lease has not expired. */
  workers(): Promise<readonly Worker[]>

  /**
   * Removes a settled root and all below it: children in groups of `limit`, the root last; report, counts and key stay as one
   * tombstone. False: there is more to do, call again. Safe to repeat after a crash at any point.
   */
  purge(root: EntityId, limit: number): Promise<boolean>

  tombstones(ids: readonly EntityId[]): Promise<readonly (Tombstone | null)[]>

  /** Hints that may be lost, doubled or late. Returns a function that ends them. */
  signals?(listener: (signal: Signal) => void): () => void

  /** Renews a worker's lease from a thread of its own, until stopped; says when it is lost. Without it the engine renews by its clock. */
  heart?(heart: HeartRequest): Heart

  close(): Promise<void>
}

export interface MachineRow {
  readonly name: string
  readonly version: number
  readonly digest: string
  /** Label names by position, so that a hold can name one. */
  readonly labels: readonly string[]
  /** The whole declaration as JSON, for people and tools. */
  readonly declaration: string
}

/** Who did something, for the history. */
export interface Actor {
  readonly actor: string | null
  readonly role: string | null
  readonly reason: string | null
  readonly requestId: string | null
}

export const nobody: Actor = { actor: null, role: null, reason: null, requestId: null }

/** A new entity, decided in full by the engine. */
export interface Birth {
  readonly machine: string
  readonly version: number
  readonly state: string
  readonly settled: boolean
  readonly data: string
  readonly labels: readonly (string | null)[]
  readonly priority: number
  readonly wait: Wait
  readonly reason: string | null
  readonly sums: Sums | null
  /** Unique over the whole store, for ever (tombstones keep it). Null: no key. */
  readonly key: string | null
  readonly createdBy: string | null
}

/** A child appears in its source's commit, or is staged by a checkpoint and published by the commit. Unique by (source, ordinal). */
export interface ChildBirth extends Birth {
  /** Who counts it: the source itself, or the source's own parent. */
  readonly parent: EntityId
  readonly lane: string
  readonly ordinal: number
  /** States of this lane's children that wake the parent when first entered. */
  readonly watches: readonly string[]
  /** What happens if (source, ordinal) exists already in one of these settled states: it is reopened by this hop. */
  readonly respawn: Respawn | null
}

export interface Respawn {
  readonly from: readonly string[]
  readonly transition: string
  readonly to: string
  readonly wait: Wait
}

export type CreateVerdict =
  | { readonly kind: 'saved'; readonly id: EntityId }
  | { readonly kind: 'existing'; readonly id: EntityId }
  | { readonly kind: 'refused'; readonly message: string }

/**
 * What one commit does to one entity. With hops it is a move: seq grows, a history row is written. Without hops it changes
 * neither number (a poll that keeps its state, a checkpoint, a look at the children, a priority): no history.
 */
export interface Move {
  readonly id: EntityId
  /** The proof. */
  readonly epoch: number
  readonly seq: number
  /**
   * lease: by the holder of the lease; stale if the lane was stopped.
   * outside: by the engine or a person: ends the lease if there is one, and raises the epoch.
   * aside: touches neither lease nor epoch (hop-less changes that leave a running processor alone: priority, a look).
   */
  readonly by: 'lease' | 'outside' | 'aside'
  readonly cause: string
  readonly hops: readonly Hop[]
  /** Where it is afterwards; the same state for a hop-less move. */
  readonly state: string
  readonly settled: boolean
  readonly generation: number
  /** Null leaves data and labels as they are. */
  readonly data: string | null
  readonly labels: readonly (string | null)[] | null
  readonly priority: number | null
  /** Null leaves the wait as it is: only with `keep` or `aside`. */
  readonly wait: Wait | null
  /** Stays leased by the same worker, which goes on with the next state. */
  readonly keep: boolean
  /** reset: the work is done. back: this claim does not count. stay: it does. one: the next state's first attempt failed in the same move. */
  readonly attempts: 'reset' | 'back' | 'stay' | 'one'
  /** Undefined leaves it; null clears it. */
  readonly request?: Request | null
  readonly checkpoint?: Checkpoint | null
  readonly progress?: string | null
  readonly reason?: string | null
  readonly sums?: Sums | null
  readonly error?: string | null
  readonly children: readonly ChildBirth[]
  /** stage: the children stay unseen until published. publish: all staged so far appear too; staged ordinals ≥ spawned are dropped. */
  readonly staging: 'none' | 'stage' | 'publish'
  /** How many ordinals the source has spawned in all, in this generation: kept with the entity, and judged with `publish`. */
  readonly spawned: number
  /** Own lanes whose gate opens or shuts. A lane that is not there yet is made. */
  readonly opens: readonly string[]
  readonly shuts: readonly string[]
  /** What becomes of all own lanes. `go` also forgets which watched states were entered. */
  readonly lanes: 'rest' | 'stop' | 'go' | null
  /** The wake numbers of own lanes that the decision read: stale if one has grown; afterwards they are seen. */
  readonly read: readonly LaneRead[] | null
  readonly takes: readonly Take[]
  readonly gives: readonly string[]
  /** Holds that the decision knew. Any other that stops the entity in its next `run` gets the verdict `held`. Null: do not ask. */
  readonly holds: readonly number[] | null
  /** Whether the next state is holdable (see hold.ts). */
  readonly holdable: boolean
  /** With `keep`: the same as in the run that a claim would have taken up. */
  readonly passes?: readonly string[] | undefined
  readonly actor: Actor
}

export type Verdict =
  | { readonly kind: 'saved' }
  /** The proof is old, the lane was stopped, or a wake number has grown: what was decided is dropped, never merged. */
  | { readonly kind: 'stale' }
  | { readonly kind: 'held'; readonly holds: readonly Hold[] }
  | { readonly kind: 'full'; readonly pool: string; readonly holders: readonly EntityId[] }
  /** The store will not have it (too big, an impossible value): the same move will be refused again. */
  | { readonly kind: 'refused'; readonly message: string }

/** One kind of waiting that a worker can take up. */
export interface ClaimRun {
  readonly machine: string
  readonly version: number
  /** The state in which it waits, and the requested edge, if any. */
  readonly state: string
  readonly edge: string | null
  /** Taken by the claim itself. */
  readonly hops: readonly Hop[]
  readonly holdable: boolean
  /** States that the run enters or passes before the entity waits again: a hold over one of them stops it, too. */
  readonly passes?: readonly string[]
  readonly limit: number
  /** Concurrency over all processes: one unit while leased. */
  readonly pool: { readonly name: string; readonly ceiling: number } | null
  /** The same per value of the label at this position: the pool is `name/value`. */
  readonly poolPer: LabelLimit | null
}

export interface LabelLimit {
  readonly position: number
  readonly name: string
  /** For every value that `ceilings` does not name. */
  readonly ceiling: number
  readonly ceilings?: Readonly<Record<string, number>>
}

/** How many of this label's value may run at once. */
export function ceilingOf({ ceiling, ceilings }: LabelLimit, value: string): number {
  return ceilings && Object.hasOwn(ceilings, value) ? ceilings[value]! : ceiling
}

export interface ClaimRequest {
  readonly worker: number
  readonly runs: readonly ClaimRun[]
  readonly limit: number
  readonly bytes: number
  /** Until it asks again the worker waits for whoever comes: a store may keep for it what is born in this process, leased from the first moment on. */
  readonly awaits?: boolean
  /**
   * The worker cannot run children of these parents and leaves them to others. They must not slow the claim down: a store puts them
   * aside, or passes by their line as a whole.
   */
  readonly avoid?: ReadonlySet<EntityId>
}

export interface ClaimResult {
  /** As they are after the claim. */
  readonly entities: readonly Entity[]
  /** Suspects wait for this worker to have no other suspects. */
  readonly suspects: boolean
  /** Those of the runs for which nobody else stands in line: until a signal says otherwise it is no use to ask for them. Not said: not known. */
  readonly idle?: readonly ClaimRun[]
}

export interface Renewal {
  readonly id: number | null
  readonly identity: WorkerIdentity
  readonly leaseMs: number
}

export type Release =
  /** Orderly: the attempt is given back; claimable at once. */
  | { readonly kind: 'give_back'; readonly worker: number; readonly leases: readonly LeaseProof[] }
  /** After a claim whose answer was lost: everything but what the worker knows of is given back. */
  | { readonly kind: 'all_but'; readonly worker: number; readonly keep: readonly EntityId[] }
  /** Outran its processor's timeout: the attempt counts, and the wait says `timedOut` until a move gives it another one. */
  | { readonly kind: 'timed_out'; readonly leases: readonly LeaseProof[]; readonly error: string }
  /** Orderly end of a worker: all given back, the worker is gone. */
  | { readonly kind: 'retire'; readonly worker: number }
  /** Every worker whose lease has expired: what it held is suspect. */
  | { readonly kind: 'dead' }

export interface LeaseProof {
  readonly id: EntityId
  readonly epoch: number
}

export interface Due {
  readonly parents: readonly { readonly entity: Entity; readonly lanes: readonly Lane[] }[]
  readonly timers: readonly Entity[]
  readonly purges: readonly EntityId[]
  /** The earliest time at which something of any kind will be due, a wait to run included. Null: nothing is planned. */
  readonly next: number | null
}

export interface Filter {
  readonly machine?: string
  readonly version?: number
  readonly states?: readonly string[]
  /** Only entities of one of these machine versions that are in one of its states given here. Narrows `states`. */
  readonly anyOf?: readonly MachineStates[]
  /** Null: roots only. */
  readonly parent?: EntityId | null
  readonly lane?: string
  readonly label?: { readonly name: string; readonly value: string }
  readonly settled?: boolean
  readonly reason?: string
  /** Keyset paging: ids behind this one, in the order of the list. */
  readonly after?: EntityId
  readonly upTo?: EntityId
  readonly newestFirst?: boolean
  /** Only what these have spawned, in the order of (source, ordinal): then `after` is not used, and `next` only says that there is more. */
  readonly spawnedBy?: SpawnedBy
  readonly limit: number
}

/** The same name of a state may mean something else in another machine, or in another version of it. */
export interface MachineStates {
  readonly machine: string
  readonly version: number
  readonly states: readonly string[]
}

export interface SpawnedBy {
  readonly sources: readonly EntityId[]
  /** Behind this one, which need not exist. */
  readonly after: { readonly source: EntityId; readonly ordinal: number } | null
}

export interface Page {
  readonly entities: readonly Entity[]
  /** Give it as `after` for the next page; null: there is none. */
  readonly next: EntityId | null
}

export interface Drift {
  readonly parent: EntityId | null
  readonly lane: string
  /** What the lane says, and what the rows say: only the figures that differ. */
  readonly said: Readonly<Record<string, number>>
  readonly counted: Readonly<Record<string, number>>
}

export type EventQuery =
  | { readonly entity: EntityId; readonly afterSeq: number; readonly limit: number }
  | { readonly after: number; readonly limit: number }

export interface EventPage {
  readonly moves: readonly MoveRecord[]
  /** Feed only: entities created. */
  readonly births: readonly EntityId[]
  /** Feed only: give it as `after` to read on. Never behind anything that was returned. */
  readonly position: number
  /** Feed only: something behind `after` is not kept any more, and was not returned. */
  readonly missed: boolean
}

export type HoldChange =
  | {
      readonly set: HoldScope
      readonly reason: string
      readonly owner: string
      readonly until: number | null
      readonly by?: Actor
    }
  | { readonly lift: number; readonly by?: Actor }

export interface HoldQuery {
  readonly past: number
}

export interface Tombstone {
  readonly id: EntityId
  readonly machine: string
  readonly version: number
  readonly state: string
  readonly key: string | null
  readonly data: string
  readonly lanes: readonly Lane[]
  readonly createdAt: number
  readonly purgedAt: number
}

/** Look now: for work to claim, for parents or timers, for leases that were ended. */
export interface Signal {
  readonly work: boolean
  readonly due: boolean
  readonly ended: boolean
}

export interface HeartRequest {
  readonly identity: WorkerIdentity
  readonly leaseMs: number
  readonly renewMs: number
  /** The lease is gone: whatever runs must end, and the worker registers anew. */
  lost(): void
}

export interface Heart {
  /** Once it could renew a lease. A lease that began before would run while a thread is started and a connection made. */
  readonly ready: Promise<void>
  /** Renews the lease of this worker, which has just registered. */
  keep(worker: number): void
  /** The renewing thread drops what is still leased under this epoch at the deadline, even if the event loop is blocked. */
  watch(id: EntityId, epoch: number, deadline: number): void
  unwatch(id: EntityId): void
  stop(): Promise<void>
}
