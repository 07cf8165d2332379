import type { EntityId } from '../../entity.ts'
import { refusalOfMove } from '../../refusal.ts'
import { SeenIds } from '../../seen-ids.ts'
import type { Move } from '../../store.ts'
import { isSamePath } from '../../transition.ts'
import { type Alike, isPlainMove, isPlainRow } from './alike.ts'
import { idSet } from './id-set.ts'
import { judge, saved } from './judge.ts'
import type { Ledger } from './ledger.ts'
import { plainRowOf, selectPlainRows } from './row.ts'

/** Fewer are read one by one: that costs no more. */
const uniformMin = 4

/**
 * Moves of a commit that are the same but for their ids and data, from rows that are the same but for theirs, are proven by counting: if as many
 * rows as moves stand exactly as the first one does, what holds for the first holds for all. Returns how many were taken, from the
 * beginning on; those that are left are judged one by one.
 */
export function takeUniform(ledger: Ledger, moves: readonly Move[], alike: Alike, now: number): number {
  const first = moves[0]
  if (
    !first ||
    !isUniform(first) ||
    refusalOfMove(first, ledger.limits) !== null ||
    moves.some(reachesOthers) ||
    ledger.holds.standing(now).length > 0 ||
    ledger.purging().size > 0
  )
    return 0
  // Only from the beginning on: the feed tells of moves in the order in which they were asked for.
  const ids: EntityId[] = []
  for (const move of moves) {
    if (!isUniform(move) || !isSameMove(first, move)) break
    // What was said of the first holds for all of them but for their data.
    if (move.data !== null && refusalOfMove(move, ledger.limits) !== null) return 0
    ids.push(move.id)
  }
  const like = ids.length === moves.length ? moves : moves.slice(0, ids.length)
  // Who stands twice in a commit is refused the second time: that is judged in order.
  if (like.length < uniformMin || !areDifferent(moves)) return 0
  const { database } = ledger
  const values = database.get(`${selectPlainRows} WHERE id = ?`, first.id)
  const row = values ? plainRowOf(values) : null
  if (!row || !isPlainRow(row) || judge(ledger, row, first, now) !== saved) return 0
  const { where, values: named } = idSet(ids, 10)
  const alikeRows = database.number(
    `SELECT count(*) FROM entity WHERE line = ?1 AND machine = ?2 AND state = ?3 AND seq = ?4 AND epoch = ?5 AND settled = ?6 AND lane = ?7
     AND staging IS ?8 AND wait = ?9 AND suspect = 0 AND coalesce(reason, sums, shares, more) IS NULL AND ${where}`,
    row.line,
    row.machine,
    row.state,
    row.seq,
    row.epoch,
    row.settled,
    row.lane,
    row.staging,
    row.wait,
    ...named,
  )
  if (alikeRows !== ids.length) return 0
  alike.addAll(row, first, like)
  return like.length
}

function areDifferent(moves: readonly Move[]): boolean {
  const seen = new SeenIds()
  for (const { id } of moves) if (!seen.add(id)) return false
  return true
}

/** What a worker's `done` usually is: nothing but state, wait and proof, and perhaps data. */
function isUniform(move: Move): boolean {
  return move.by === 'lease' && !move.sums && move.children.length === 0 && isPlainMove(move)
}

/** A move that can change what another one of the same commit is judged by. */
function reachesOthers(move: Move): boolean {
  return move.by === 'outside' || move.lanes !== null || move.takes.length > 0 || move.gives.length > 0
}

function isSameMove(one: Move, other: Move): boolean {
  return (
    one === other ||
    (one.seq === other.seq &&
      one.epoch === other.epoch &&
      one.state === other.state &&
      one.settled === other.settled &&
      one.generation === other.generation &&
      one.attempts === other.attempts &&
      one.cause === other.cause &&
      one.actor === other.actor &&
      one.wait?.for === other.wait?.for &&
      timeOf(one) === timeOf(other) &&
      isSamePath(one.hops, other.hops))
  )
}

function timeOf({ wait }: Move): number | null {
  return wait === null || wait.for === 'nothing' ? null : wait.at
}
