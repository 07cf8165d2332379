import type { Entity } from '../../src/entity.ts'
import type { Case } from './case.ts'

/**
 * Effects are at least once, under one key each: every key that must have been used was, no other was, and whoever
 * received the same key twice received the same thing.
 */
export function* checkEffects(the: Case): Iterable<string> {
  const { required, allowed } = keysOf(the)
  const bodies = new Map<string, string>()
  for (const note of the.notes) {
    if (note.kind !== 'effect') continue
    const body = bodies.get(note.key)
    if (body !== undefined && body !== note.body) yield `Effect ${note.key} was ${body} and then ${note.body}.`
    bodies.set(note.key, note.body)
    if (body === undefined && !allowed.has(note.key)) yield `Effect ${note.key} was expected by nobody.`
  }
  for (const key of required) if (!bodies.has(key)) yield `Effect ${key} never happened.`
}

function keysOf(the: Case): { required: Set<string>; allowed: Set<string> } {
  const required = new Set<string>()
  const allowed = new Set<string>()
  const add = (id: number, generation: number, edge: string, isRequired: boolean) => {
    const key = `${id}:${generation}:${edge}`
    allowed.add(key)
    if (isRequired) required.add(key)
  }
  for (const note of the.notes) {
    if (note.kind !== 'submit' || note.phase !== 'ok') continue
    const plan = the.expected.plan(note.key)
    if (!plan) continue
    const entity = the.byId.get(note.id)
    const hasEnded = entity ? entity.state === plan.ends[0] : plan.purged
    for (const edge of plan.effects) {
      for (let generation = 0; generation <= plan.generations; generation += 1) add(note.id, generation, edge, hasEnded)
    }
  }
  // A child's processor has its effect in each of its generations; one that was stopped may have had it or not.
  for (const child of the.entities) {
    if (child.parent === null) continue
    for (const edge of effectsOf(the, child)) {
      for (let generation = 0; generation <= child.generation; generation += 1) {
        add(child.id, generation, edge, generation < child.generation || child.settled)
      }
    }
  }
  return { required, allowed }
}

function effectsOf(the: Case, child: Entity): readonly string[] {
  const machine = the.machine(child.machine, child.version)
  return (machine?.edges ?? []).flatMap((edge) => (edge.on === 'done' && edge.processor ? edge.name : []))
}
