import type { Entity } from '../../src/entity.ts'
import type { Machine } from '../../src/machine.ts'
import type { Evidence } from './evidence.ts'
import type { Planned } from './plan.ts'

/** What the checker is told before it looks: the tables, the plan, and which edges mean what. */
export interface Expectations {
  readonly machines: readonly Machine[]
  /** Null: nobody ever meant to submit this key. */
  plan(key: string): Planned | null
  /** Edges that may only be taken when the children of a lane (null: of all lanes) are settled. */
  readonly joins: readonly { readonly machine: string; readonly edge: string; readonly lane: string | null }[]
  /** Children in this lane leave their first state only after their parent has taken this edge. */
  readonly gates: readonly { readonly machine: string; readonly edge: string; readonly lane: string }[]
  /** After this edge no child moves any more. */
  readonly stops: readonly { readonly machine: string; readonly edge: string }[]
}

/** The evidence, with what every check looks up. */
export interface Case extends Evidence {
  readonly expected: Expectations
  readonly byId: ReadonlyMap<number, Entity>
  readonly byKey: ReadonlyMap<string, readonly Entity[]>
  readonly childrenOf: ReadonlyMap<number, readonly Entity[]>
  machine(name: string, version: number): Machine | null
  /** What the entity itself was submitted as; null for children. */
  planOf(entity: Entity): Planned | null
}

/** Looks up once what every check needs. */
export function caseOf(evidence: Evidence, expected: Expectations): Case {
  const machines = new Map(expected.machines.map((machine) => [`${machine.name}@${machine.version}`, machine]))
  const { entities } = evidence
  const keyed = entities.filter((entity) => entity.key !== null)
  const owned = entities.filter((entity) => entity.parent !== null)
  return {
    ...evidence,
    expected,
    byId: new Map(entities.map((entity) => [entity.id, entity])),
    byKey: Map.groupBy(keyed, (entity) => entity.key as string),
    childrenOf: Map.groupBy(owned, (entity) => entity.parent as number),
    machine: (name, version) => machines.get(`${name}@${version}`) ?? null,
    planOf: (entity) => (entity.key === null ? null : expected.plan(entity.key)),
  }
}
