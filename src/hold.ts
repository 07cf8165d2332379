import type { EntityId } from './entity.ts'

/** A standing order over entities: reason, who, until. All that it names must match; at least one thing is named. */
export interface Hold {
  readonly id: number
  readonly scope: HoldScope
  readonly reason: string
  readonly owner: string
  /** The hold ends by itself at this time. */
  readonly until: number | null
  readonly since: number
  /** Who set it, as the history of entities has it. */
  readonly by: HoldActor
  /** Null while it stands. `by` is null if it ended by itself. */
  readonly ended: { readonly at: number; readonly by: HoldActor | null } | null
}

export interface HoldActor {
  readonly actor: string | null
  readonly role: string | null
  readonly reason: string | null
  readonly requestId: string | null
}

/** Holds that have ended are kept for whoever asks what happened: so many of them. */
export const pastHoldsMax = 10_000

export function latestFirst(one: Hold, other: Hold): number {
  return (other.ended?.at ?? 0) - (one.ended?.at ?? 0) || other.id - one.id
}

export interface HoldScope {
  readonly machine?: string
  readonly state?: string
  readonly parent?: EntityId
  readonly entity?: EntityId
  /** A label by name, and its value. The name is resolved to a position by the machine of the entity. */
  readonly label?: { readonly name: string; readonly value: string }
}

/** What a hold sees of an entity. */
export interface Holdable {
  readonly id: EntityId
  readonly machine: string
  readonly state: string
  readonly parent: EntityId | null
  readonly labels: readonly (string | null)[]
  /** The states that it stands in or enters before it waits again. A hold over one of them stops it here. */
  readonly passes?: readonly string[] | undefined
}

/** Label names by machine, as the definitions that a store knows declare them. */
export type LabelNames = (machine: string) => readonly string[]

export function isActive(hold: Hold, now: number): boolean {
  return hold.until === null || now < hold.until
}

/**
 * Whether the hold stops this entity. A hold by label alone stops only states that are holdable; one that names the
 * state, the parent or the entity itself stops what it names (a collection hold stops what is pending; later states go
 * on unless a hold names their batch or state). A hold over a state stops what is in it, and what would enter it by a claim or pass
 * through it in a cascade: that waits in the state before.
 */
export function stops(hold: Hold, entity: Holdable, holdable: boolean, labelNames: LabelNames, now: number): boolean {
  const { scope } = hold
  if (!isActive(hold, now)) return false
  if (scope.machine !== undefined && scope.machine !== entity.machine) return false
  if (scope.state !== undefined && scope.state !== entity.state && !entity.passes?.includes(scope.state)) return false
  if (scope.parent !== undefined && scope.parent !== entity.parent) return false
  if (scope.entity !== undefined && scope.entity !== entity.id) return false
  if (scope.label !== undefined) {
    const position = labelNames(entity.machine).indexOf(scope.label.name)
    if (position < 0 || entity.labels[position] !== scope.label.value) return false
  }
  return holdable || scope.state !== undefined || scope.parent !== undefined || scope.entity !== undefined
}
