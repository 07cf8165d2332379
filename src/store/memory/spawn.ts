import type { Entity } from '../../entity.ts'
import { keyPool } from '../../pool.ts'
import type { ChildBirth, Move, Verdict } from '../../store.ts'
import type { Memory } from './memory.ts'
import type { Row } from './rows.ts'

/** Children that the move would count with somebody who is not there to count them. */
export function refusalOfParents(memory: Memory, source: Entity, children: readonly ChildBirth[]): string | null {
  for (const { ordinal, parent } of children) {
    if (parent !== source.id && parent !== source.parent) {
      return `Child ${ordinal} of entity ${source.id} names ${parent} as its parent; it must be the source or the source's own parent.`
    }
    if (!memory.rows.find(parent))
      return `Child ${ordinal} of entity ${source.id} names the parent ${parent}, which does not exist.`
  }
  return null
}

/** A key of a child that somebody else has. */
export function fullKey(memory: Memory, move: Move): Verdict | null {
  for (const { key, ordinal } of move.children) {
    if (key === null) continue
    const existing = memory.rows.spawnedAt(move.id, ordinal)
    // What exists is reopened or left alone, with the key that it has; what is staged gives way, and its key with it.
    if (existing?.lane) continue
    const pool = keyPool(key)
    const holders = memory.pools.holders(pool).filter((holder) => holder !== existing?.entity.id)
    if (holders.length > 0) return { kind: 'full', pool, holders }
  }
  return null
}

/** The children of a move: staged, or seen at once together with all that was staged before. */
export function spawn(memory: Memory, move: Move, now: number): void {
  for (const birth of move.children) {
    const existing = memory.rows.spawnedAt(move.id, birth.ordinal)
    if (existing?.lane) {
      if (birth.respawn?.from.includes(existing.entity.state)) reopen(memory, existing, birth, move, now)
      continue
    }
    if (existing) memory.remove(existing)
    const row = memory.bear(birth, move.id, now)
    if (move.staging !== 'stage') memory.publish(row, now)
    else noteWatches(memory, row)
  }
  if (move.staging === 'publish') publishStaged(memory, move, now)
}

function publishStaged(memory: Memory, move: Move, now: number): void {
  const watches = memory.stagedWatches.get(move.id)
  memory.stagedWatches.delete(move.id)
  for (const row of memory.rows.spawned(move.id)) {
    if (row.lane) continue
    // An earlier, crashed attempt went further than the one that ended: its surplus never was.
    if ((row.entity.ordinal ?? 0) >= move.spawned) memory.remove(row)
    else memory.publish(row, now, watches?.get(laneKey(row)))
  }
}

/** A watch that was staged stays, even if whoever brought it is staged anew without: its parent looks once too often, never too seldom. */
function noteWatches(memory: Memory, row: Row): void {
  const source = row.entity.source
  if (source === null || row.watches.length === 0) return
  const noted = memory.stagedWatches.get(source) ?? new Map<string, readonly string[]>()
  memory.stagedWatches.set(source, noted)
  noted.set(laneKey(row), [...new Set([...(noted.get(laneKey(row)) ?? []), ...row.watches])])
}

function laneKey({ entity }: Row): string {
  return `${entity.parent}/${entity.lane}`
}

/** Its source ran again, and it had ended badly: it begins anew, with what the source says of it now. */
function reopen(memory: Memory, row: Row, birth: ChildBirth, move: Move, now: number): void {
  const before = row.entity
  const { respawn } = birth
  if (!respawn || !row.lane) return
  if (before.owner !== null) memory.hint('ended')
  memory.replace(
    row,
    {
      state: respawn.to,
      settled: false,
      seq: before.seq + 1,
      epoch: before.epoch + 1,
      generation: before.generation + 1,
      spawned: 0,
      attempts: 0,
      suspect: 0,
      owner: null,
      data: birth.data,
      labels: Object.freeze([...birth.labels]),
      wait: Object.freeze({ ...respawn.wait }),
      request: null,
      // A cursor into the old data would lead astray.
      checkpoint: null,
      progress: null,
      reason: null,
      error: null,
      changedAt: now,
    },
    now,
  )
  memory.lanes.count(row.lane, before, row.entity, now)
  memory.record({
    entity: before.id,
    seq: row.entity.seq,
    epoch: row.entity.epoch,
    generation: row.entity.generation,
    at: now,
    cause: 'respawn',
    hops: [{ transition: respawn.transition, from: before.state, to: respawn.to }],
    error: null,
    ...move.actor,
  })
}
