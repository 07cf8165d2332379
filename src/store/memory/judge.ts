import { refusalOfMove } from '../../refusal.ts'
import type { Move, Verdict } from '../../store.ts'
import type { Memory } from './memory.ts'
import type { Row } from './rows.ts'
import { fullKey, refusalOfParents } from './spawn.ts'

export const saved: Verdict = { kind: 'saved' }
const stale: Verdict = { kind: 'stale' }

/** The verdicts in their order: refused, stale, full, held, saved. Nothing is changed by judging. */
export function judge(memory: Memory, move: Move, now: number): Verdict {
  const malformed = refusalOfMove(move, memory.limits)
  if (malformed) return refused(malformed)
  const row = memory.rows.find(move.id)
  if (!row || isStale(memory, row, move)) return stale
  const impossible = refusalOfStart(row, move) ?? refusalOfParents(memory, row.entity, move.children)
  if (impossible) return refused(impossible)
  return full(memory, move) ?? fullKey(memory, move) ?? held(memory, row, move, now) ?? saved
}

function isStale(memory: Memory, row: Row, move: Move): boolean {
  const { entity, lane } = row
  if (!lane || entity.epoch !== move.epoch || entity.seq !== move.seq) return true
  if (move.by === 'lease' && (entity.owner === null || lane.lane.status === 'stopped')) return true
  if (memory.isPurging(entity)) return true
  return move.read?.some(({ lane: name, wake }) => (memory.lanes.find(move.id, name)?.lane.wake ?? 0) > wake) ?? false
}

/** With proof of the row, the path can only begin elsewhere if whoever decided made it up. */
function refusalOfStart({ entity }: Row, move: Move): string | null {
  const from = move.hops[0]?.from ?? move.state
  if (from === entity.state) return null
  return `Entity ${entity.id} is ${entity.state}; the move begins in ${from}.`
}

function full(memory: Memory, move: Move): Verdict | null {
  for (const { pool, amount, ceiling } of move.takes) {
    if (memory.pools.room(pool, ceiling, move.id) >= amount) continue
    const holders = memory.pools.holders(pool).filter((holder) => holder !== move.id)
    return { kind: 'full', pool, holders }
  }
  return null
}

/** A move that would go on is stopped by a hold that its decision did not know. */
function held(memory: Memory, { entity }: Row, move: Move, now: number): Verdict | null {
  const known = move.holds
  if (known === null || !(move.keep || move.wait?.for === 'run')) return null
  const next = { ...entity, state: move.state, labels: move.labels ?? entity.labels, passes: move.passes }
  const holds = memory.holds
    .over(next, move.holdable, memory.labelNames, now)
    .filter((hold) => !known.includes(hold.id))
  return holds.length === 0 ? null : { kind: 'held', holds }
}

function refused(message: string): Verdict {
  return { kind: 'refused', message }
}
