import { timeMax } from './clock.ts'
import type { Wait } from './entity.ts'
import type { Limits } from './limits.ts'
import { labelsMax } from './limits.ts'
import type { Birth, Move } from './store.ts'
import type { Hop } from './transition.ts'

/** What is wrong with a birth in itself, whatever the store holds. Null: nothing. */
export function refusalOfBirth(birth: Birth, limits: Limits): string | null {
  return (
    refusalOfData(birth.data, limits) ??
    refusalOfWait(birth.wait) ??
    refusalOfLabels(birth.labels) ??
    (Number.isFinite(birth.priority) ? null : `Priority must be a number; it was ${birth.priority}.`)
  )
}

/** What is wrong with a move in itself, whatever the store holds: the same move will be refused again. */
export function refusalOfMove(move: Move, limits: Limits): string | null {
  const { id, by, hops, keep, wait, priority, children } = move
  const refusal =
    (move.data === null ? null : refusalOfData(move.data, limits)) ??
    (wait === null ? null : refusalOfWait(wait)) ??
    (move.labels === null ? null : refusalOfLabels(move.labels)) ??
    (hops.length === 0 ? null : refusalOfPath(hops, move.state))
  if (refusal) return refusal
  // What was asked for in a settled state runs there, and may make checkpoints; no move leads a lease into one.
  if (keep && move.settled && hops.length > 0)
    return `Entity ${id} cannot keep its lease into ${move.state}: the state is settled, nothing runs in it.`
  if (keep && by === 'outside') return `Entity ${id} cannot keep its lease: a move from outside ends it.`
  if (by === 'aside' && hops.length > 0)
    return `Entity ${id} cannot move aside of its lease: a move with hops is by lease or from outside.`
  if (wait === null && !keep && by !== 'aside') return `The move of entity ${id} must say what it waits for next.`
  if (priority !== null && !Number.isFinite(priority)) return `Priority must be a number; it was ${priority}.`
  if (children.length > 0) return refusalOfChildren(move, limits)
  return move.takes.length === 0 ? null : refusalOfTakes(move)
}

function refusalOfChildren(move: Move, limits: Limits): string | null {
  const { id, children } = move
  if (children.length > limits.spawnMax) {
    return `Entity ${id} spawns ${children.length} children in one commit; at most ${limits.spawnMax} are allowed. Stage them by checkpoints.`
  }
  for (const child of children) {
    const refusal = refusalOfBirth(child, limits) ?? (child.respawn && refusalOfWait(child.respawn.wait))
    if (refusal) return `Child ${child.ordinal} of entity ${id}: ${refusal}`
  }
  const keys = children.flatMap((child) => child.key ?? [])
  if (new Set(keys).size < keys.length)
    return `Two children of entity ${id} have the same key; a key belongs to one entity.`
  return refusalOfTakes(move)
}

function refusalOfTakes({ id, takes }: Move): string | null {
  for (const { pool, amount, ceiling } of takes) {
    if (!(amount >= 0 && Number.isFinite(amount) && Number.isFinite(ceiling))) {
      return `Entity ${id} cannot take ${amount} of pool ${pool} under a ceiling of ${ceiling}: both must be numbers, the amount not below 0.`
    }
  }
  return null
}

/** Each hop begins where the one before ended, and the last ends where the move says. */
export function refusalOfPath(hops: readonly Hop[], to: string): string | null {
  for (let index = 1; index < hops.length; index += 1) {
    const [before, hop] = [hops[index - 1]!, hops[index]!]
    if (before.to !== hop.from)
      return `The path breaks: ${before.transition} ends in ${before.to}, ${hop.transition} begins in ${hop.from}.`
  }
  const end = hops[hops.length - 1]?.to
  return end === undefined || end === to ? null : `The path ends in ${end}, but the move says ${to}.`
}

function refusalOfData(data: string, { dataBytesMax }: Limits): string | null {
  // A character has at most three bytes for each of its units: most texts need no measuring.
  if (data.length * 3 <= dataBytesMax) return null
  const bytes = Buffer.byteLength(data)
  if (bytes <= dataBytesMax) return null
  return `Data has ${bytes} bytes; at most ${dataBytesMax} are kept. Store it elsewhere and keep a reference.`
}

function refusalOfWait(wait: Wait): string | null {
  if (wait.for === 'nothing' || wait.at === null || isMoment(wait.at)) return null
  return `The time to wait for (${wait.for}) must be a number of milliseconds up to ${timeMax}; it was ${wait.at}.`
}

function isMoment(at: number): boolean {
  return Number.isFinite(at) && Math.abs(at) <= timeMax
}

function refusalOfLabels(labels: readonly (string | null)[]): string | null {
  return labels.length <= labelsMax ? null : `An entity has at most ${labelsMax} labels; ${labels.length} were given.`
}
