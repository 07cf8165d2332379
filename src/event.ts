import type { Entity, EntityId } from './entity.ts'
import type { Hop } from './transition.ts'

/** One history row: what one move did, with proof. Accepted once per (entity, seq). */
export interface MoveRecord {
  readonly entity: EntityId
  readonly seq: number
  readonly epoch: number
  readonly generation: number
  readonly at: number
  readonly cause: string
  readonly hops: readonly Hop[]
  /** Who asked, for what a person did; the worker's name otherwise, if it is known. */
  readonly actor: string | null
  readonly role: string | null
  readonly reason: string | null
  readonly requestId: string | null
  readonly error: string | null
}

/** One hop as people see it: a move of three hops is three events. */
export interface Event {
  readonly entity: EntityId
  readonly seq: number
  /** Position of the hop within its move. */
  readonly hop: number
  readonly at: number
  readonly transition: string
  readonly from: string | null
  /** Null: it stays where it is. */
  readonly to: string | null
  readonly cause: string
  readonly generation: number
  readonly epoch: number
  readonly actor: string | null
  readonly role: string | null
  readonly reason: string | null
  readonly requestId: string | null
  readonly error: string | null
}

/** The first event of every history comes from the entity's own row: creating costs no history row. */
export function birthEvent(entity: Entity): Event {
  return {
    entity: entity.id,
    seq: 0,
    hop: 0,
    at: entity.createdAt,
    transition: 'create',
    from: null,
    to: entity.born,
    cause: 'create',
    generation: 0,
    epoch: 0,
    actor: entity.createdBy,
    role: null,
    reason: null,
    requestId: null,
    error: null,
  }
}

/** A record without hops (a repair) is one event that leads nowhere else. */
export function eventsOf(record: MoveRecord): readonly Event[] {
  const { hops, ...rest } = record
  if (hops.length === 0) return [{ ...rest, hop: 0, transition: record.cause, from: null, to: null }]
  return hops.map((hop, index) => ({ ...rest, hop: index, ...hop }))
}
