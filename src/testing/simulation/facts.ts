import type { Entity } from '../../entity.ts'
import type { MoveRecord } from '../../event.ts'
import type { Hold, Holdable, LabelNames } from '../../hold.ts'
import type { Lane } from '../../lane.ts'
import type { Move, Release, Verdict } from '../../store.ts'
import type { Edge } from '../../transition.ts'
import type { Known, Model, Tally } from './model.ts'

/** A move as the feed tells of it; `known` is the entity before it. */
export interface MoveFact {
  readonly record: MoveRecord
  readonly known: Known
  /** By hop; undefined where the machine has no such edge. */
  readonly edges: readonly (Edge | undefined)[]
  /** The move that was sent and whose record this is; null for what a claim or a respawn did. */
  readonly move: Move | null
  /** Who sent it. */
  readonly sender: string | null
  /** Whether anybody sent anything that can have made this record. */
  readonly wasInvoked: boolean
  readonly model: Model
  readonly rules: WorkloadRules
}

/** Children that became visible with one commit of their source. */
export interface FanOutFact {
  readonly source: Known
  readonly born: readonly number[]
  readonly expected: readonly number[]
  /** Children that were spawned again, and stayed in the settled state that this should have ended. */
  readonly unopened: readonly number[]
}

export interface ClaimFact {
  readonly entity: Entity
  readonly known: Known
  readonly owner: string
}

export interface RowFact {
  readonly row: Entity
  readonly before: Entity
  readonly known: Known
  readonly model: Model
  /** How its lease was ended without a move, if it was. */
  readonly released: Release['kind'] | null
  /** What was saved since the row was seen before, if anything. */
  readonly saved: Move | null
  /** A commit that is not answered yet may have changed it, too. */
  readonly isUnderWay: boolean
}

export interface LaneFact {
  readonly lane: Lane
  readonly tally: Tally | undefined
}

/** Whether the record of a move was seen; perhaps: there is one, and two processes had sent the same. */
export type Applied = 'yes' | 'perhaps' | 'no'

export interface VerdictFact {
  readonly move: Move
  readonly verdict: Verdict
  readonly wasApplied: Applied
}

export interface WaitFact {
  readonly entity: Entity
  readonly waitedMs: number
  readonly allowedMs: number
}

export interface HoldFact {
  readonly entity: Holdable
  readonly holdable: boolean
  /** Those that stood all the time, and that whoever decided did not know of. */
  readonly holds: readonly Hold[]
  readonly labelNames: LabelNames
  readonly now: number
}

export interface TimeFact {
  readonly now: number
  readonly before: number
}

export interface PoolFact {
  readonly name: string
  readonly max: number
  readonly taken: number
}

/** What only the workload knows of its machines. */
export interface WorkloadRules {
  /** How many children an entity must have once it took this edge, by `machine edge`. */
  readonly fanOuts: Readonly<Record<string, (data: unknown) => number>>
  /** Edges that are taken once per generation, as `machine edge`. */
  readonly joins: ReadonlySet<string>
  /** Edges that no entity ever takes, as `machine edge`: failures of those who do nothing wrong. */
  readonly never: ReadonlySet<string>
  /** Edges that moves ask for in nobody's name, as `machine edge`. */
  readonly asked?: ReadonlySet<string>
  /** Where it is not what the machine's policy says. */
  readonly attemptsMax?: (known: Known) => number | undefined
  /** Whether it shares so few places with so many others that nobody can say how long it waits. */
  readonly isCrowded?: (entity: Entity) => boolean
  /** The most that may be taken of a pool. */
  readonly pools: Readonly<Record<string, number>>
  /** What an entity takes of a pool for as long as it is in one of these states. */
  readonly shares: readonly {
    readonly pool: string
    readonly machine: string
    readonly states: readonly string[]
    readonly amount: (data: unknown) => number
  }[]
}
