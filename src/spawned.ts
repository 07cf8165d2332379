import type { Move } from './store.ts'

/**
 * How many ordinals a source has used after a move. A processor that runs again after a crash counts from what was saved, and so
 * spawns the same children; the next state's processor goes on counting. A new generation begins anew, and so finds the
 * children of the one before.
 */
export function spawnedAfter(spawned: number, generation: number, move: Move): number {
  const before = move.generation === generation ? spawned : 0
  const spawns = move.staging === 'publish' || (move.staging === 'none' && move.children.length > 0)
  return spawns ? Math.max(before, move.spawned) : before
}
