import type { Decision } from '../path.ts'
import { type Move, nobody } from '../store.ts'
import { childrenOf } from './births.ts'
import { nothingSpawned, type ProcessorContext } from './context.ts'
import { followUp, moveOf } from './moves.ts'
import type { Running } from './running.ts'
import type { Services } from './services.ts'

export interface RunMoveParts {
  readonly keep: boolean
  readonly context: ProcessorContext | null
  readonly holds: readonly number[] | null
  readonly passes?: readonly string[] | undefined
  /** The run goes on: only what its earlier processors have spawned is written. */
  readonly settling?: ProcessorContext | null
}

/** The decision about a run as the store takes it, with what the run has spawned. Throws `invalid` if the store could not keep it. */
export function runMove(
  { registry, limits, store }: Services,
  { entity, run, wrote }: Running,
  decision: Decision,
  { keep, context, holds, settling, passes }: RunMoveParts,
): Move {
  const spawned = settling?.settling() ?? context?.result() ?? nothingSpawned(entity)
  const { spawn } = decision.change
  const children =
    spawn.length === 0
      ? spawned.children
      : [...spawned.children, ...childrenOf(registry, entity, spawn, spawned.spawned, store.time(), limits)]
  const { request } = entity
  return moveOf(
    run.implementation.machine,
    entity,
    decision,
    {
      by: 'lease',
      keep,
      children,
      staging: spawned.staging,
      spawned: spawned.spawned + spawn.length,
      read: request?.read ?? null,
      holds,
      passes,
      wrote,
      request: decision.request ? followUp(decision.request) : undefined,
      actor: request
        ? { actor: request.actor, role: request.role, reason: request.reason, requestId: request.requestId }
        : nobody,
    },
    limits,
  )
}
