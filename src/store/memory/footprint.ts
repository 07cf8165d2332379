import { type EntityId, rootLane } from '../../entity.ts'
import type { Birth, Move } from '../../store.ts'
import type { Memory } from './memory.ts'
import type { Row } from './rows.ts'
import type { Footprint, LaneKey } from './transactions.ts'

/** Roots are new: nobody else can have locked them, but their lane is shared. */
export function footprintOfCreate(operation: string, births: readonly Birth[]): Footprint {
  return {
    operation: `create ${operation}`,
    entities: () => [],
    lanes: () => births.map(({ machine, version }) => ({ parent: null, name: rootLane(machine, version) })),
  }
}

/** The entities that move and those that they may reopen; the lanes that count them, and their own. */
export function footprintOfCommit(memory: Memory, operation: string, moves: readonly Move[]): Footprint {
  return {
    operation: `commit ${operation}`,
    entities: () => moves.flatMap((move) => [move.id, ...reopened(memory, move)]),
    lanes: () => moves.flatMap((move) => lanesOfMove(memory, move)),
  }
}

/** What was chosen among rows that nobody had locked. */
export function footprintOfClaim(rows: readonly Row[]): Footprint {
  return {
    operation: null,
    entities: () => rows.map((row) => row.entity.id),
    lanes: () => rows.map(laneKey),
  }
}

function reopened(memory: Memory, move: Move): readonly EntityId[] {
  return move.children.flatMap(({ ordinal }) => memory.rows.spawnedAt(move.id, ordinal)?.entity.id ?? [])
}

function lanesOfMove(memory: Memory, move: Move): readonly LaneKey[] {
  const row = memory.rows.find(move.id)
  if (!row) return []
  const touchesAll = move.lanes !== null
  const own = [...move.opens, ...move.shuts, ...(move.read ?? []).map(({ lane }) => lane)]
  return [
    laneKey(row),
    ...move.children.map(({ parent, lane }) => ({ parent, name: lane })),
    ...own.map((name) => ({ parent: move.id, name })),
    ...(touchesAll ? memory.lanes.of(move.id).map(({ lane }) => ({ parent: move.id, name: lane.name })) : []),
    // What was staged may stand in any lane of the source or of its parent.
    ...(move.staging === 'publish' ? memory.rows.spawned(move.id).map(laneKey) : []),
  ]
}

function laneKey({ entity }: Row): LaneKey {
  return { parent: entity.parent, name: entity.lane }
}
