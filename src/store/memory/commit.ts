import { attemptsAfter } from '../../attempts.ts'
import type { Entity, EntityId } from '../../entity.ts'
import { SluiceError } from '../../errors.ts'
import { spawnedAfter } from '../../spawned.ts'
import type { Move, Verdict } from '../../store.ts'
import { frozen } from './frozen.ts'
import { judge, saved } from './judge.ts'
import type { Memory } from './memory.ts'
import type { Row } from './rows.ts'
import { spawn } from './spawn.ts'

export function checkCommit(memory: Memory, moves: readonly Move[]): void {
  const { commitMax } = memory.limits
  if (moves.length <= commitMax) return
  throw new SluiceError(
    'invalid',
    `${moves.length} moves in one commit; at most ${commitMax} are allowed. Commit them in groups.`,
    {
      given: moves.length,
      max: commitMax,
    },
  )
}

/** The moves one after another, each judged by what those before it left. */
export function commit(memory: Memory, operation: string, moves: readonly Move[]): readonly Verdict[] {
  const now = memory.time()
  return memory.operations.once(`commit ${operation}`, now, () => {
    const seen = new Set<EntityId>()
    return Object.freeze(
      moves.map((move) => {
        if (seen.has(move.id)) return frozen(twice(move.id))
        seen.add(move.id)
        const verdict = judge(memory, move, now)
        if (verdict === saved) apply(memory, memory.rows.get(move.id), move, now)
        return frozen(verdict)
      }),
    )
  })
}

function twice(id: EntityId): Verdict {
  return {
    kind: 'refused',
    message: `Entity ${id} stands twice in this commit: the second move cannot have proof of the first. Send it in another commit.`,
  }
}

/** Everything that a move does, after it was judged to be right. */
function apply(memory: Memory, row: Row, move: Move, now: number): void {
  const before = row.entity
  if (move.by === 'outside' && before.owner !== null) memory.hint('ended')
  applyPools(memory, move)
  applyLanes(memory, row, move, now)
  spawn(memory, move, now)
  memory.replace(row, changesOf(memory, row, move, now), now)
  const after = row.entity
  const recounted = move.hops.length > 0 || after.reason !== before.reason || after.sums !== before.sums
  if (row.lane && recounted) memory.lanes.count(row.lane, before, after, now)
  if (move.hops.length === 0) return
  memory.record({
    entity: move.id,
    seq: after.seq,
    epoch: after.epoch,
    generation: after.generation,
    at: now,
    cause: move.cause,
    hops: move.hops,
    error: move.error ?? null,
    ...move.actor,
  })
}

function changesOf(memory: Memory, row: Row, move: Move, now: number): Partial<Entity> {
  const { entity } = row
  const moves = move.hops.length > 0
  const keepsOwner = move.by === 'aside' || (move.by === 'lease' && move.keep)
  return {
    epoch: move.by === 'outside' ? entity.epoch + 1 : entity.epoch,
    owner: keepsOwner ? entity.owner : null,
    attempts: attemptsAfter(entity.attempts, move),
    // The holder of the lease is alive and has got somewhere: no suspicion is left. A checkpoint proves no such thing.
    suspect: move.by === 'lease' && (moves || !move.keep) ? 0 : entity.suspect,
    ...(moves && {
      state: move.state,
      settled: move.settled,
      generation: move.generation,
      seq: entity.seq + 1,
      changedAt: now,
    }),
    spawned: spawnedAfter(entity.spawned, entity.generation, move),
    ...(move.data !== null && { data: move.data }),
    ...(move.labels !== null && { labels: frozen(move.labels) }),
    ...(move.priority !== null && { priority: move.priority }),
    ...(move.wait !== null && { wait: frozen(move.wait) }),
    ...(move.request !== undefined && { request: frozen(move.request) }),
    ...(move.checkpoint !== undefined && { checkpoint: frozen(move.checkpoint) }),
    ...(move.progress !== undefined && { progress: move.progress }),
    ...(move.reason !== undefined && { reason: row.lane && memory.lanes.reasonIn(row.lane, move.reason) }),
    ...(move.sums !== undefined && { sums: frozen(move.sums) }),
    ...(move.error !== undefined && { error: move.error }),
  }
}

function applyPools(memory: Memory, move: Move): void {
  for (const pool of move.gives) if (memory.pools.give(pool, move.id)) memory.hint('work')
  for (const { pool, amount, ceiling } of move.takes) memory.pools.take(pool, move.id, amount, ceiling)
}

/** The entity's own lanes: its standing order first, so that lanes made by the same move follow it. */
function applyLanes(memory: Memory, row: Row, move: Move, now: number): void {
  const { lanes } = memory
  if (move.lanes !== null) {
    row.order = statusAfter[move.lanes]
    for (const own of lanes.of(move.id)) {
      const entered = move.lanes === 'go' ? [] : own.lane.entered
      lanes.set(own, { ...own.lane, status: row.order, entered }, now)
    }
    if (move.lanes === 'stop') memory.hint('ended')
  }
  for (const name of move.opens) setGate(memory, move.id, name, 'open', now)
  for (const name of move.shuts) setGate(memory, move.id, name, 'shut', now)
  for (const { lane: name, wake } of move.read ?? []) {
    const own = lanes.find(move.id, name)
    if (own) lanes.set(own, { ...own.lane, seen: wake }, now)
  }
}

const statusAfter = { rest: 'resting', stop: 'stopped', go: 'going' } as const

function setGate(memory: Memory, parent: EntityId, name: string, gate: 'open' | 'shut', now: number): void {
  const own = memory.lanes.make(parent, name)
  memory.lanes.set(own, { ...own.lane, gate }, now)
}
