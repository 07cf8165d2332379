import { timeAfter } from './clock.ts'
import { judge } from './criterion.ts'
import type { Entity } from './entity.ts'
import { SluiceError } from './errors.ts'
import type { Facts, Implementation } from './implementation.ts'
import { viewOf } from './implementation.ts'
import { edgesFrom } from './machine.ts'
import type { Sums } from './outcome.ts'
import { type Decision, Path } from './path.ts'
import { backoffMs } from './policy.ts'
import type { Edge } from './transition.ts'

/** The reason of what failed in all its attempts, alone or behind why the last one failed. */
export const attemptsSpent = 'attempts spent'

/** What happened to an entity, for which it may have an edge. */
export type Occurrence =
  /** The processor of this edge returned; `undefined` data leaves the entity's. */
  | { readonly cause: 'done'; readonly edge: Edge; readonly data?: unknown; readonly sums?: Sums }
  | {
      readonly cause: 'retry'
      readonly error: string
      /** Why it fails, should this have been the last attempt. Default: that attempts were spent. */
      readonly reason?: string
      readonly delayMs?: number
      readonly data?: unknown
      readonly processor: string | null
    }
  | { readonly cause: 'poll'; readonly afterMs: number; readonly data?: unknown }
  | { readonly cause: 'fail'; readonly reason: string; readonly error: string | null; readonly data?: unknown }
  | { readonly cause: 'children' }
  | { readonly cause: 'time' }
  | { readonly cause: 'action'; readonly action: string; readonly to?: string }

/**
 * Decides purely what becomes of an entity. `data` is its parsed data; `attempts` how often the state's processor has been
 * tried, this run included. The same arguments always give the same decision.
 */
export function decide(
  implementation: Implementation,
  entity: Entity,
  data: unknown,
  attempts: number,
  occurrence: Occurrence,
  facts: Facts,
  hopsMax: number,
): Decision {
  const path = new Path(implementation, entity, data, facts, hopsMax)
  return decideOn(path, attempts, occurrence) ?? path.paused()
}

/** The same for a path that may have hops behind it already. Null: an inline edge's processor runs next, and the path goes on. */
export function decideOn(path: Path, attempts: number, occurrence: Occurrence): Decision | null {
  path.runs = null
  path.isAccepted = false
  switch (occurrence.cause) {
    case 'done':
      return afterDone(path, occurrence)
    case 'retry':
      return afterRetry(path, occurrence, attempts)
    case 'poll':
      path.put(occurrence.data)
      return path.follow('poll', timeAfter(path.facts.now, occurrence.afterMs), 'back')
    case 'fail':
      path.put(occurrence.data)
      return path.giveUp(occurrence.reason, occurrence.error)
    case 'children':
      return path.arrive('children', true)
    case 'time':
      return afterTime(path)
    case 'action':
      return afterAction(path, occurrence)
    default:
      return occurrence satisfies never
  }
}

/** The edge whose processor runs in this state: what was requested, or the first `done` edge that may be taken. Null: none may. */
export function chooseRun(implementation: Implementation, entity: Entity, data: unknown, facts: Facts): Edge | null {
  return new Path(implementation, entity, data, facts, 1).choose()
}

/** Nothing can be taken now: the entity waits for what its state still has (a timer, its children, a person). */
export function decideIdle(implementation: Implementation, entity: Entity, facts: Facts): Decision {
  return new Path(implementation, entity, undefined, facts, 1).idle()
}

/** The actions that a person may ask for now, with the edges behind each, and why others are not open. */
export function actionsOf(
  implementation: Implementation,
  entity: Entity,
  data: unknown,
  facts: Facts,
): readonly ActionChoice[] {
  return edgesFrom(implementation.machine, entity.state, 'action').map((edge) => {
    const refusal = judge(implementation, edge.when, viewOf(entity, data), facts)
    return { action: edge.action, edge, refusal }
  })
}

export interface ActionChoice {
  readonly action: string
  readonly edge: Edge
  /** Null: open now. Otherwise why not. */
  readonly refusal: string | null
}

function afterDone(path: Path, { edge, data, sums }: Extract<Occurrence, { cause: 'done' }>): Decision | null {
  path.put(data)
  const refusal = path.judge(edge.ensure)
  // The criterion rejects the work, not the worker: trying the same again would end the same.
  if (refusal !== null) return path.giveUp(refusal, refusal)
  path.isAccepted = true
  if (sums) path.addSums(sums)
  path.take(edge)
  return path.arrive(edge.on, false)
}

function afterRetry(
  path: Path,
  occurrence: Extract<Occurrence, { cause: 'retry' }>,
  attempts: number,
): Decision | null {
  path.put(occurrence.data)
  const policy = path.policy(occurrence.processor)
  if (attempts >= policy.attemptsMax) {
    const { error, reason } = occurrence
    // Messages differ from one to the next: only a phrase is counted.
    if (attempts === 1) return path.giveUp(reason ?? attemptsSpent, error)
    const isSaid = reason === undefined || reason === attemptsSpent
    return path.giveUp(
      isSaid ? attemptsSpent : `${reason}, ${attemptsSpent}`,
      `After ${attempts} of ${policy.attemptsMax} attempts: ${error}`,
    )
  }
  path.error = occurrence.error
  path.facts = { ...path.facts, reason: occurrence.error, error: occurrence.error }
  const delayMs = occurrence.delayMs ?? backoffMs(policy.backoff, attempts, path.facts.random)
  return path.follow('retry', timeAfter(path.facts.now, delayMs), 'stay')
}

function afterTime(path: Path): Decision | null {
  const elapsedMs = path.facts.now - path.entity.changedAt
  const ripe = edgesFrom(path.machine, path.state, 'time').filter((edge) => elapsedMs >= (edge.afterMs ?? 0))
  const edge = path.first(ripe)
  if (!edge) return path.idle()
  if (edge.processor) return path.ask(edge, 'time')
  path.take(edge)
  return path.arrive('time', false)
}

function afterAction(path: Path, { action, to }: Extract<Occurrence, { cause: 'action' }>): Decision | null {
  const { machine, state, entity } = path
  const all = edgesFrom(machine, state, 'action')
  const named = all.filter((edge) => edge.action === action || edge.name === action)
  const candidates = to === undefined ? named : named.filter((edge) => edge.to === to)
  if (candidates.length === 0) {
    const allowed = [...new Set(all.map((edge) => edge.action))]
    const target = to === undefined ? action : `${action} to ${to}`
    throw new SluiceError(
      'conflict',
      `${machine.name} ${entity.id} is ${state}; it cannot ${target}. ${
        allowed.length === 0 ? 'No action is allowed from this state.' : `Allowed now: ${allowed.join(', ')}.`
      }`,
      { id: entity.id, state, action, allowed },
    )
  }
  const edge = path.first(candidates)
  if (!edge) {
    const reasons = [...new Set(candidates.map((candidate) => path.judge(candidate.when)))]
    throw new SluiceError('conflict', `${machine.name} ${entity.id} cannot ${action} now: ${reasons.join('; ')}`, {
      id: entity.id,
      state,
      action,
      reasons,
    })
  }
  if (edge.processor) return path.ask(edge, 'action')
  path.take(edge)
  return path.arrive('action', false)
}
