import { keyPool } from '../../pool.ts'
import type { Move, Verdict } from '../../store.ts'
import type { Ledger } from './ledger.ts'
import { type EntityRow, labelsOf } from './row.ts'

export const saved: Verdict = { kind: 'saved' }
const stale: Verdict = { kind: 'stale' }

/** The verdicts in their order, after what is wrong with the move in itself. Nothing is changed by judging. */
export function judge(ledger: Ledger, row: EntityRow | null, move: Move): Verdict {
  if (!row || isStale(ledger, row, move)) return stale
  const from = move.hops.length === 0 ? move.state : move.hops[0]!.from
  if (from !== ledger.dictionary.text(row.state)) {
    const message = `Entity ${row.id} is ${ledger.dictionary.text(row.state)}; the move begins in ${from}.`
    return { kind: 'refused', message }
  }
  if (move.children.length > 0) {
    const message = refusalOfParents(ledger, row, move)
    if (message) return { kind: 'refused', message }
  }
  return (
    (move.takes.length > 0 ? full(ledger, move) : null) ??
    (move.children.length > 0 ? fullKey(ledger, move) : null) ??
    held(ledger, row, move) ??
    saved
  )
}

function isStale(ledger: Ledger, row: EntityRow, move: Move): boolean {
  if (row.epoch !== move.epoch || row.seq !== move.seq) return true
  if (row.staging !== null && ledger.stagings.isOpen(row.staging)) return true
  if (move.by === 'lease') {
    if (row.owner === null) return true
    if (ledger.lanes.byId(row.lane).lane.status === 'stopped') return true
  }
  if (ledger.isPurging(row)) return true
  if (move.read === null) return false
  return move.read.some(({ lane: name, wake }) => {
    const lane = ledger.lanes.find(row.id, name)
    return lane !== null && ledger.lanes.current(lane).wake > wake
  })
}

/** Children that the move would count with somebody who is not there to count them. */
function refusalOfParents(ledger: Ledger, row: EntityRow, { children }: Move): string | null {
  const own = ledger.lanes.byId(row.lane).lane.parent
  let known: number | null = row.id
  for (const { ordinal, parent } of children) {
    if (parent === known) continue
    if (parent !== row.id && parent !== own) {
      return `Child ${ordinal} of entity ${row.id} names ${parent} as its parent; it must be the source or the source's own parent.`
    }
    if (parent !== row.id && ledger.row(parent) === null) {
      return `Child ${ordinal} of entity ${row.id} names the parent ${parent}, which does not exist.`
    }
    known = parent
  }
  return null
}

function full({ pools }: Ledger, move: Move): Verdict | null {
  for (const { pool, amount, ceiling } of move.takes) {
    if (pools.room(pool, ceiling, move.id) >= amount) continue
    return { kind: 'full', pool, holders: pools.holders(pool).filter((holder) => holder !== move.id) }
  }
  return null
}

/** A key of a child that somebody else has. */
function fullKey(ledger: Ledger, move: Move): Verdict | null {
  for (const { key, ordinal } of move.children) {
    if (key === null) continue
    const old = ledger.child(move.id, ordinal)
    // What exists is reopened or left alone, with the key that it has; what is staged gives way, and its key with it.
    if (old && !ledger.stagings.isOpen(old.staging)) continue
    const holders = ledger.pools.holders(keyPool(key)).filter((holder) => holder !== old?.id)
    if (holders.length > 0) return { kind: 'full', pool: keyPool(key), holders }
  }
  return null
}

/** A move that would go on is stopped by a hold that its decision did not know. */
function held(ledger: Ledger, row: EntityRow, move: Move): Verdict | null {
  const { now } = ledger
  const known = move.holds
  if (known === null || !(move.keep || move.wait?.for === 'run')) return null
  if (ledger.holds.standing(now).length === 0) return null
  const { name: machine } = ledger.dictionary.machineOf(row.machine)
  const { parent } = ledger.lanes.byId(row.lane).lane
  const { state, passes } = move
  const next = { id: row.id, machine, state, parent, labels: move.labels ?? labelsOf(row), passes }
  const over = ledger.holds.over(next, move.holdable, ledger.dictionary.labelNames, now)
  const holds = over.filter((hold) => !known.includes(hold.id))
  return holds.length === 0 ? null : { kind: 'held', holds }
}
