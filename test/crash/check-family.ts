import type { Entity } from '../../src/entity.ts'
import type { MoveRecord } from '../../src/event.ts'
import type { Case } from './case.ts'
import type { Planned } from './plan.ts'

/** Fan-out was all or nothing: exactly the planned children, each ordinal once, none without its parent. */
export function* checkChildren(the: Case): Iterable<string> {
  for (const entity of the.entities) {
    if (entity.parent !== null && !the.byId.has(entity.parent)) {
      yield `${entity.machine} ${entity.id} is the child of ${entity.parent}, which does not exist.`
    }
    const plan = the.planOf(entity)
    if (plan) yield* checkFanOut(the, entity, plan)
  }
}

function* checkFanOut(the: Case, parent: Entity, plan: Planned): Iterable<string> {
  const name = `${parent.machine} ${parent.id}`
  const children = the.childrenOf.get(parent.id) ?? []
  const total = Object.values(plan.lanes).reduce((sum, count) => sum + count, 0)
  const split = (the.histories[parent.id] ?? []).filter(({ hops }) =>
    hops.some((hop) => hop.transition === 'split'),
  ).length
  // Ended by a person before it was split: then there is not one child.
  const due = split === 0 ? 0 : total
  if (children.length !== due) yield `${name} has ${children.length} children; ${due} are due.`
  const ordinals = children.map(({ ordinal }) => ordinal ?? -1).sort((one, other) => one - other)
  const wrong = ordinals.find((ordinal, index) => ordinal !== index)
  if (wrong !== undefined) yield `${name} has no child, or two, at ordinal ${Math.min(wrong, ordinals.indexOf(wrong))}.`
  for (const [lane, count] of Object.entries(plan.lanes)) {
    const there = children.filter((child) => child.lane === lane).length
    if (split > 0 && there !== count) yield `${name} has ${there} children in lane ${lane}; ${count} are due.`
  }
  if (parent.state !== 'completed') return
  for (const child of children) {
    if (child.state !== 'completed') yield `${name} is completed and its child ${child.id} is ${child.state}.`
    if (child.generation !== parent.generation) {
      yield `${name} is in generation ${parent.generation} and its child ${child.id} in ${child.generation}.`
    }
  }
}

/** Goes through the feed as it was committed: fan-in only when all were settled, nothing through a shut gate, nothing after a stop. */
export function* checkOrder(the: Case): Iterable<string> {
  const states = new Map(the.entities.map((entity) => [entity.id, entity.born]))
  const taken = new Map<number, Set<string>>()
  for (const move of the.feed) {
    const entity = the.byId.get(move.entity)
    if (!entity) continue
    yield* checkJoin(the, entity, move, states)
    yield* checkUnderParent(the, entity, move, taken.get(entity.parent ?? 0) ?? new Set())
    const own = taken.get(entity.id) ?? new Set()
    for (const hop of move.hops) {
      own.add(hop.transition)
      states.set(entity.id, hop.to)
    }
    taken.set(entity.id, own)
  }
}

function* checkJoin(
  the: Case,
  parent: Entity,
  move: MoveRecord,
  states: ReadonlyMap<number, string>,
): Iterable<string> {
  for (const { transition } of move.hops) {
    for (const join of the.expected.joins) {
      if (join.machine !== parent.machine || join.edge !== transition) continue
      const children = (the.childrenOf.get(parent.id) ?? []).filter(
        ({ lane }) => join.lane === null || lane === join.lane,
      )
      const open = children.find((child) => {
        const machine = the.machine(child.machine, child.version)
        return !machine?.settled.includes(states.get(child.id) ?? '')
      })
      if (open) {
        yield `${parent.machine} ${parent.id} took ${transition} in move ${move.seq} while its child ${open.id} was ${states.get(open.id)}.`
      }
    }
  }
}

function* checkUnderParent(the: Case, child: Entity, move: MoveRecord, taken: ReadonlySet<string>): Iterable<string> {
  const parent = child.parent === null ? undefined : the.byId.get(child.parent)
  if (!parent) return
  const stop = the.expected.stops.find(({ machine, edge }) => machine === parent.machine && taken.has(edge))
  if (stop) yield `${child.machine} ${child.id} made move ${move.seq} after its parent's ${stop.edge}.`
  const gate = the.expected.gates.find(({ machine, lane }) => machine === parent.machine && lane === child.lane)
  if (gate && move.seq === 1 && !taken.has(gate.edge)) {
    yield `${child.machine} ${child.id} passed the gate before its parent's ${gate.edge}.`
  }
}
