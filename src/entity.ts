import type { Sums } from './outcome.ts'

/** Store-issued, growing, never used twice. */
export type EntityId = number

/**
 * What an entity waits for next. Every move says it.
 * - `run`: to be claimed, from the time `at`. `pool` names what it waits to have room. `timedOut`: the store ended its last lease because
 *   the run outran its timeout; whoever claims it next records that as an error before anything runs.
 * - `children`: to be judged when a lane's wake number is ahead of what its parent has seen, and once at the time `at`.
 * - `time`: for the engine to take its `time` edge.
 * - `purge`: for retention.
 * - `nothing`: a person, or nobody (it is final).
 */
export type Wait =
  | {
      readonly for: 'run'
      readonly at: number
      readonly gated?: boolean
      readonly pool?: string
      readonly timedOut?: boolean
    }
  | { readonly for: 'children'; readonly at: number | null }
  | { readonly for: 'time'; readonly at: number }
  | { readonly for: 'purge'; readonly at: number }
  | { readonly for: 'nothing' }

/** An edge with a processor that somebody asked for: it runs next, whatever else the state could do. */
export interface Request {
  readonly edge: string
  readonly actor: string | null
  readonly role: string | null
  readonly reason: string | null
  readonly requestId: string | null
  /** JSON text of what the person gave along. */
  readonly input: string | null
  /** For `children` edges: the wake numbers that were read when the edge was chosen. */
  readonly read: readonly LaneRead[] | null
}

export interface LaneRead {
  readonly lane: string
  readonly wake: number
}

export interface Entity {
  readonly id: EntityId
  readonly machine: string
  readonly version: number
  readonly state: string
  /** The state it was created in: the first event of its history is derived from this row. */
  readonly born: string
  /** How many moves it has made. */
  readonly seq: number
  /** Grows at every claim and whenever a lease is ended from outside: the fence. */
  readonly epoch: number
  /** How often it was reopened from a settled state. */
  readonly generation: number
  readonly settled: boolean
  /** Claims since the last `done`; what was given back is not counted. */
  readonly attempts: number
  /** 0: no suspicion. n: it was held by a worker that died while it held n entities of its kind of suspicion. */
  readonly suspect: number
  readonly parent: EntityId | null
  /** Name of the parent's lane that counts it; for a root the lane of its machine and version (see rootLane). */
  readonly lane: string
  readonly source: EntityId | null
  readonly ordinal: number | null
  /** By position of the machine's labels. */
  readonly labels: readonly (string | null)[]
  /** Lower numbers first. */
  readonly priority: number
  /** Opaque JSON text. */
  readonly data: string
  readonly wait: Wait
  readonly request: Request | null
  /** The worker that holds its lease. */
  readonly owner: number | null
  /** Its lane was stopped: whatever runs it should end. */
  readonly stopped: boolean
  /** How many ordinals its saved moves have spawned in this generation: the next child's ordinal, unless one is named. */
  readonly spawned: number
  /** Where a long processor goes on after a crash: opaque JSON text, with the number of children it had spawned. */
  readonly checkpoint: Checkpoint | null
  /** What a running processor last said of itself: opaque JSON text. */
  readonly progress: string | null
  /** Short phrase by which its lane counts the failure. */
  readonly reason: string | null
  /** What it adds to its lane's sums. */
  readonly sums: Sums | null
  /** The last error, retried or not. */
  readonly error: string | null
  /** The submit key, unique for ever. */
  readonly key: string | null
  readonly createdAt: number
  readonly createdBy: string | null
  /** When it entered its state. */
  readonly changedAt: number
}

/**
 * It has settled, and nothing is on its way that a person asked of it: an action with a processor only asks, and the entity is still as
 * it was before. What the engine asks for by itself, such as telling of an end, changes the end no more.
 */
export function isAtEnd({ settled, request }: Pick<Entity, 'settled' | 'request'>): boolean {
  return settled && (request === null || request.actor === null)
}

export interface Checkpoint {
  readonly cursor: string | null
  readonly spawned: number
  /** How often deaths before it have been forgiven because it got further. */
  readonly forgiven?: number
}

/** The lane that counts the roots of one machine version: roots are children of nobody, and counted all the same. */
export function rootLane(machine: string, version: number): string {
  return `${machine}@${version}`
}
