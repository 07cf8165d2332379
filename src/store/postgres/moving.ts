import { attemptsAfter } from '../../attempts.ts'
import type { LaneStatus } from '../../lane.ts'
import { spawnedAfter } from '../../spawned.ts'
import type { Move } from '../../store.ts'
import { actorText } from './actor-text.ts'
import { hintOfWait } from './births.ts'
import { standings } from './lane-row.ts'
import type { Ledger } from './ledger.ts'
import { edgeOf, place, placeLeased } from './placing.ts'
import {
  type EntityRow,
  type More,
  moreOf,
  setLabels,
  sharesOf,
  textOfMore,
  textOfShares,
  waitAt,
  waitCode,
  waits,
} from './row.ts'
import { spawn } from './spawn.ts'
import { endUnits } from './units.ts'

/** Everything that a move does, after it was judged to be right. */
export function move(ledger: Ledger, row: EntityRow, move: Move): void {
  const { lanes, dictionary, now } = ledger
  const lane = lanes.byId(row.lane)
  const before = ledger.figure(row)
  const waited = waitsForChildren(row)
  const { owner } = row
  if (move.by === 'outside' && owner !== null) ledger.hint('ended')
  applyPools(ledger, row, move)
  const isMove = move.hops.length > 0
  const keeps = owner !== null && (move.by === 'aside' || (move.by === 'lease' && move.keep))
  change(ledger, row, move)
  if (move.reason !== undefined) row.reason = lanes.reasonIn(lane, move.reason)
  if (owner !== null && !keeps) endUnits(ledger, row)
  if (move.labels !== null) setLabels(row, move.labels)
  if (keeps) placeLeased(row, owner, now)
  else if (move.by !== 'aside' || changesPlace(move)) place(ledger, row, lane, edgeOf(ledger, row))
  ledger.writing.change(row, move.data)
  if (waitsForChildren(row) !== waited) lanes.await(row.id, !waited)
  applyLanes(ledger, row, move)
  spawn(ledger, row, move)
  const isRecounted = isMove || move.reason !== undefined || move.sums !== undefined
  if (isRecounted) lanes.count(lane, before, ledger.figure(row))
  if (!keeps && (move.wait !== null || owner !== null)) hintOfWait(ledger, row)
  if (isMove) ledger.record(row, dictionary.path(move.cause, move.hops), actorText(move.actor), move.error ?? null)
}

function change(ledger: Ledger, row: EntityRow, move: Move): void {
  const isMove = move.hops.length > 0
  const spawned = spawnedAfter(moreOf(row).spawned ?? 0, row.generation, move)
  if (move.by === 'outside') row.epoch += 1
  row.attempts = attemptsAfter(row.attempts, move)
  // The holder of the lease is alive and has got somewhere: no suspicion is left. A checkpoint proves no such thing.
  if (move.by === 'lease' && (isMove || !move.keep)) row.suspect = 0
  if (isMove) {
    row.state = ledger.dictionary.word(move.state)
    row.settled = move.settled
    row.generation = move.generation
    row.seq += 1
    row.changedAt = Math.max(row.changedAt, ledger.now)
  }
  if (move.priority !== null) row.priority = move.priority
  if (move.wait !== null) {
    row.wait = waitCode(move.wait)
    row.at = waitAt(move.wait)
  }
  if (move.sums !== undefined) row.sums = move.sums === null ? null : JSON.stringify(move.sums)
  if (move.lanes !== null) row.standing = standings.indexOf(statusAfter[move.lanes])
  changeMore(row, move, spawned)
}

function changeMore(row: EntityRow, { request, checkpoint, progress, error, wait }: Move, spawned: number): void {
  const isWaitWithPool = wait !== null && wait.for === 'run' && wait.pool !== undefined
  const isTouched = request !== undefined || checkpoint !== undefined || progress !== undefined || error !== undefined
  if (!isTouched && !isWaitWithPool && spawned === 0 && (row.more === null || wait === null)) return
  const more: More = { ...moreOf(row) }
  if (request !== undefined) set(more, 'request', request)
  if (checkpoint !== undefined) set(more, 'checkpoint', checkpoint)
  if (progress !== undefined) set(more, 'progress', progress)
  if (error !== undefined) set(more, 'error', error)
  set(more, 'spawned', spawned === 0 ? null : spawned)
  if (wait !== null) {
    set(more, 'pool', wait.for === 'run' ? (wait.pool ?? null) : null)
    set(more, 'timedOut', wait.for === 'run' ? (wait.timedOut ?? null) : null)
  }
  row.more = textOfMore(more)
}

function set<Name extends keyof More>(more: More, name: Name, value: More[Name] | null): void {
  if (value === null || value === undefined) delete more[name]
  else more[name] = value
}

/** What decides where it stands. Labels do, for a hold may have put it aside for one. */
function changesPlace({ wait, priority, labels, request }: Move): boolean {
  return wait !== null || priority !== null || labels !== null || request !== undefined
}

function waitsForChildren(row: EntityRow): boolean {
  return row.wait === waits.children && !row.settled
}

function applyPools(ledger: Ledger, row: EntityRow, { gives, takes }: Move): void {
  if (gives.length === 0 && takes.length === 0) return
  const shares = sharesOf(row)
  const own = new Set(shares.own ?? [])
  for (const pool of gives) {
    if (ledger.pools.give(pool, row.id)) ledger.hint('work')
    own.delete(pool)
  }
  for (const { pool, amount, ceiling } of takes) {
    ledger.pools.take(pool, row.id, amount, ceiling)
    own.add(pool)
  }
  row.shares = textOfShares({ ...shares, own: [...own] })
}

/** The entity's own lanes: its standing order first, so that lanes made by the same move follow it. */
function applyLanes(ledger: Ledger, row: EntityRow, move: Move): void {
  const { lanes } = ledger
  if (move.lanes !== null) {
    const status = statusAfter[move.lanes]
    for (const own of lanes.of(row.id)) {
      lanes.change(own, { status, ...(move.lanes === 'go' && { entered: [] }) })
      follow(ledger, own.id)
    }
    if (move.lanes === 'stop') ledger.hint('ended')
    if (move.lanes === 'go') ledger.hint('work')
  }
  for (const name of move.opens) setGate(ledger, row.id, name, 'open')
  for (const name of move.shuts) setGate(ledger, row.id, name, 'shut')
  for (const { lane: name, wake } of move.read ?? []) {
    const own = lanes.find(row.id, name)
    if (own) lanes.change(own, { seen: wake })
  }
}

const statusAfter: Readonly<Record<'rest' | 'stop' | 'go', LaneStatus>> = {
  rest: 'resting',
  stop: 'stopped',
  go: 'going',
}

function setGate(ledger: Ledger, parent: number, name: string, gate: 'open' | 'shut'): void {
  const own = ledger.lanes.make(parent, name)
  ledger.lanes.change(own, { gate })
  follow(ledger, own.id)
  if (gate === 'open') ledger.hint('work')
}

function follow({ lines, lanes, stagings }: Ledger, lane: number): void {
  lines.follow(lane, lanes.byId(lane).lane, (staging) => stagings.isOpen(staging))
}
