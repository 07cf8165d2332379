import type { Entity } from '../../src/entity.ts'
import type { MoveRecord } from '../../src/event.ts'
import type { Machine } from '../../src/machine.ts'
import { policyOf } from '../../src/machine.ts'
import type { Case } from './case.ts'
import type { Note } from './journal.ts'

type Claimed = Extract<Note, { kind: 'claimed' }>
type Saved = Extract<Note, { kind: 'saved' | 'stale' }>

/** Every history is a path through the machine's table that ends where the entity is, and the feed tells the same. */
export function* checkHistory(the: Case): Iterable<string> {
  for (const entity of the.entities) {
    const machine = the.machine(entity.machine, entity.version)
    const history = the.histories[entity.id] ?? []
    if (!machine) yield `${entity.id} has the unknown machine ${entity.machine}@${entity.version}.`
    else {
      yield* checkChain(machine, entity, history)
      yield* checkFence(entity, history)
      yield* checkGenerations(machine, entity, history)
      yield* checkAttempts(machine, entity)
    }
  }
  yield* checkFeed(the)
  yield* checkProofs(the)
}

/**
 * What a lease holder was told stands. A move accepted under an old epoch shows itself: somebody had been given a newer one
 * before, and saw the entity without that move.
 */
function* checkProofs(the: Case): Iterable<string> {
  const claims = Map.groupBy(
    the.notes.filter((note): note is Claimed => note.kind === 'claimed'),
    ({ id }) => id,
  )
  const saved = Map.groupBy(
    the.notes.filter((note): note is Saved => note.kind === 'saved'),
    ({ id }) => id,
  )
  for (const [id, given] of claims) {
    const epochs = given.map(({ epoch }) => epoch)
    if (new Set(epochs).size < epochs.length)
      yield `${id} was given to two workers under one epoch: ${epochs.join(', ')}.`
  }
  for (const [id, moves] of saved) {
    for (const { epoch, seq } of moves) {
      const newer = claims.get(id)?.find((claim) => claim.epoch > epoch && claim.seq <= seq)
      if (newer) yield `${id} accepted move ${seq + 1} with epoch ${epoch}; epoch ${newer.epoch} had been given before.`
      const kept = the.histories[id]?.[seq]
      if (the.byId.has(id) && kept?.epoch !== epoch)
        yield `${id} was told that move ${seq + 1} is saved under epoch ${epoch}; its history has ${kept?.epoch}.`
    }
    const seqs = moves.map(({ seq }) => seq)
    if (new Set(seqs).size < seqs.length) yield `${id} accepted one of its moves twice: ${seqs.join(', ')}.`
  }
}

/** seq = 1, 2, 3 … without gap; each hop begins where the last one ended and is in the table. */
function* checkChain(machine: Machine, entity: Entity, history: readonly MoveRecord[]): Iterable<string> {
  const name = `${entity.machine} ${entity.id}`
  if (!machine.initial.includes(entity.born)) yield `${name} was born in ${entity.born}, which is not initial.`
  let state = entity.born
  let at = entity.createdAt
  for (const [index, move] of history.entries()) {
    if (move.entity !== entity.id) yield `${name} has a move of ${move.entity} in its history.`
    if (move.seq !== index + 1) yield `${name} has move ${move.seq} where ${index + 1} is due.`
    if (move.at < at) yield `${name} made move ${move.seq} before the one before it.`
    if (move.hops.length === 0) yield `${name} has an empty move ${move.seq}.`
    at = move.at
    for (const hop of move.hops) {
      if (hop.from !== state) yield `${name} left ${hop.from} in move ${move.seq} and was in ${state}.`
      const isKnown = machine.edges.some(
        (edge) => edge.name === hop.transition && edge.from === hop.from && edge.to === hop.to,
      )
      if (!isKnown) yield `${name} went ${hop.from} → ${hop.to} by ${hop.transition}, which is in no table.`
      state = hop.to
    }
  }
  if (state !== entity.state) yield `${name} is ${entity.state}, and its history ends in ${state}.`
  if (history.length !== entity.seq) yield `${name} has seq ${entity.seq} and ${history.length} moves.`
  if (entity.settled !== machine.settled.includes(entity.state))
    yield `${name} in ${entity.state} says settled: ${entity.settled}.`
}

/** Epochs never go back, and every claim has one of its own. */
function* checkFence(entity: Entity, history: readonly MoveRecord[]): Iterable<string> {
  const name = `${entity.machine} ${entity.id}`
  let epoch = 0
  for (const move of history) {
    if (move.epoch < epoch) yield `${name} accepted move ${move.seq} with epoch ${move.epoch} after ${epoch}.`
    if (move.cause === 'claim' && move.epoch <= epoch)
      yield `${name} was claimed in move ${move.seq} under the old epoch ${epoch}.`
    epoch = Math.max(epoch, move.epoch)
  }
  if (entity.epoch < epoch) yield `${name} has epoch ${entity.epoch}, and its history ${epoch}.`
}

/** A settled state is entered once per generation; only a person, or the source that spawns it again, begins the next one. */
function* checkGenerations(machine: Machine, entity: Entity, history: readonly MoveRecord[]): Iterable<string> {
  const name = `${entity.machine} ${entity.id}`
  const isSettled = (state: string) => machine.settled.includes(state)
  let generation = 0
  let settledIn = isSettled(entity.born) ? 0 : -1
  for (const move of history) {
    const reopened = move.hops.filter((hop) => isSettled(hop.from)).length
    if (reopened > 0 && move.cause !== 'action' && move.cause !== 'respawn') {
      yield `${name} left ${move.hops[0]?.from} in move ${move.seq} by ${move.cause}.`
    }
    generation += reopened
    if (move.generation !== generation)
      yield `${name} says generation ${move.generation} in move ${move.seq}; it is ${generation}.`
    for (const hop of move.hops) {
      if (!isSettled(hop.to)) continue
      if (settledIn === generation) yield `${name} was settled twice in generation ${generation}.`
      settledIn = generation
    }
  }
  if (entity.generation !== generation)
    yield `${name} has generation ${entity.generation}, and its history ${generation}.`
}

function* checkAttempts(machine: Machine, entity: Entity): Iterable<string> {
  const most = Math.max(...machine.edges.map((edge) => policyOf(machine, edge.processor).attemptsMax))
  if (entity.attempts > most)
    yield `${entity.machine} ${entity.id} counts ${entity.attempts} attempts; ${most} are allowed.`
}

/** The feed has every move of every living entity once, in the order of each entity's seq. */
function* checkFeed(the: Case): Iterable<string> {
  const latest = new Map<number, number>()
  for (const move of the.feed) {
    const before = latest.get(move.entity) ?? 0
    if (move.seq <= before) yield `The feed has move ${move.seq} of ${move.entity} after move ${before}.`
    latest.set(move.entity, Math.max(before, move.seq))
  }
  const inFeed = Map.groupBy(the.feed, (move) => move.entity)
  for (const { id, machine } of the.entities) {
    const told = (inFeed.get(id) ?? []).map(textOf)
    const kept = (the.histories[id] ?? []).map(textOf)
    if (told.join() !== kept.join())
      yield `The feed tells of ${machine} ${id}: ${told.join(' ')}; its history: ${kept.join(' ')}.`
  }
}

function textOf({ seq, hops }: MoveRecord): string {
  return `${seq}:${hops.map((hop) => hop.transition).join('+')}`
}
