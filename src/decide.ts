import { timeAfter } from './clock.ts'
import { judge } from './criterion.ts'
import type { Entity, Wait } from './entity.ts'
import { SluiceError } from './errors.ts'
import type { Assign, Change, Facts, Implementation } from './implementation.ts'
import { viewOf } from './implementation.ts'
import { claimPlan, edgesFrom, isSettled, type Machine, policyOf } from './machine.ts'
import type { Sums } from './outcome.ts'
import { backoffMs } from './policy.ts'
import type { Edge, Hop } from './transition.ts'
import { hopOf } from './transition.ts'

/** What happened to an entity, for which it may have an edge. */
export type Occurrence =
  /** The processor of this edge returned; `undefined` data leaves the entity's. */
  | { readonly cause: 'done'; readonly edge: Edge; readonly data?: unknown; readonly sums?: Sums }
  | {
      readonly cause: 'retry'
      readonly error: string
      readonly delayMs?: number
      readonly data?: unknown
      readonly processor: string | null
    }
  | { readonly cause: 'poll'; readonly afterMs: number; readonly data?: unknown }
  | { readonly cause: 'fail'; readonly reason: string; readonly error: string | null; readonly data?: unknown }
  | { readonly cause: 'children' }
  | { readonly cause: 'time' }
  | { readonly cause: 'action'; readonly action: string; readonly to?: string }

/** What is to be done about it: one move, or none. */
export interface Decision {
  readonly cause: string
  readonly hops: readonly Hop[]
  readonly state: string
  readonly settled: boolean
  readonly generation: number
  /** Undefined: unchanged. */
  readonly data: unknown
  readonly wait: Wait
  readonly attempts: 'reset' | 'back' | 'stay' | 'one'
  /** An inline edge whose processor runs next, in memory, before anything is committed. */
  readonly runs: Edge | null
  /** An edge whose processor must run first; the entity waits to run it. */
  readonly request: Edge | null
  readonly change: Changes
  readonly lanes: 'rest' | 'stop' | 'go' | null
  /** Undefined: unchanged. */
  readonly reason?: string | null
  readonly error?: string | null
}

/** What the edges of one move change together. */
export type Changes = Required<Pick<Change, 'open' | 'shut' | 'spawn' | 'takes' | 'gives'>> &
  Pick<Change, 'sums' | 'priority'>

/** Most moves change nothing but the state: they share this one. */
export const noChange: Changes = { open: [], shut: [], spawn: [], takes: [], gives: [] }

export function joinChanges(before: Changes, change: Change): Changes {
  const sums = change.sums ? { ...before.sums, ...change.sums } : before.sums
  const priority = change.priority ?? before.priority
  return {
    open: [...before.open, ...(change.open ?? [])],
    shut: [...before.shut, ...(change.shut ?? [])],
    spawn: [...before.spawn, ...(change.spawn ?? [])],
    takes: [...before.takes, ...(change.takes ?? [])],
    gives: [...before.gives, ...(change.gives ?? [])],
    ...(sums === undefined ? {} : { sums }),
    ...(priority === undefined ? {} : { priority }),
  }
}

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
  switch (occurrence.cause) {
    case 'done':
      return afterDone(path, occurrence)
    case 'retry':
      return afterRetry(path, occurrence, attempts)
    case 'poll':
      path.put(occurrence.data)
      return path.follow('poll', timeAfter(facts.now, occurrence.afterMs), 'back')
    case 'fail':
      path.put(occurrence.data)
      return afterFail(path, occurrence.reason, occurrence.error)
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
  const { machine } = implementation
  const requested = entity.request?.edge
  if (requested !== undefined) {
    return machine.edges.find((edge) => edge.from === entity.state && edge.name === requested) ?? null
  }
  return new Path(implementation, entity, data, facts, 1).first(edgesFrom(machine, entity.state, 'done'))
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

function afterDone(path: Path, { edge, data, sums }: Extract<Occurrence, { cause: 'done' }>): Decision {
  path.put(data)
  const refusal = path.judge(edge.ensure)
  // The criterion rejects the work, not the worker: trying the same again would end the same.
  if (refusal !== null) return afterFail(path, refusal, refusal)
  if (sums) path.addSums(sums)
  path.take(edge)
  return path.arrive(edge.on, false)
}

function afterRetry(path: Path, occurrence: Extract<Occurrence, { cause: 'retry' }>, attempts: number): Decision {
  path.put(occurrence.data)
  const policy = policyOf(path.machine, occurrence.processor)
  if (attempts >= policy.attemptsMax) return afterFail(path, occurrence.error, occurrence.error)
  path.error = occurrence.error
  const delayMs = occurrence.delayMs ?? backoffMs(policy.backoff, attempts, path.facts.random)
  return path.follow('retry', timeAfter(path.facts.now, delayMs), 'stay')
}

function afterFail(path: Path, reason: string, error: string | null): Decision {
  const edge = path.first(edgesFrom(path.machine, path.state, 'fail'))
  if (!edge) {
    throw new SluiceError('internal', `Machine ${path.machine.name} has no fail edge from ${path.state}.`, {
      state: path.state,
    })
  }
  path.fail(reason, error)
  path.take(edge)
  return path.arrive('fail', false)
}

function afterTime(path: Path): Decision {
  const elapsedMs = path.facts.now - path.entity.changedAt
  const ripe = edgesFrom(path.machine, path.state, 'time').filter((edge) => elapsedMs >= (edge.afterMs ?? 0))
  const edge = path.first(ripe)
  if (!edge) return path.idle()
  if (edge.processor) return path.ask(edge, 'time')
  path.take(edge)
  return path.arrive('time', false)
}

function afterAction(path: Path, { action, to }: Extract<Occurrence, { cause: 'action' }>): Decision {
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
    const reasons = candidates.map((candidate) => path.judge(candidate.when))
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

/** The hops taken so far, and what they have changed: local to one decision. */
class Path {
  readonly machine: Machine
  readonly entity: Entity
  readonly facts: Facts
  state: string
  error: string | null | undefined
  #reason: string | null | undefined
  readonly #implementation: Implementation
  readonly #hopsMax: number
  readonly #hops: Hop[] = []
  #facts: Facts
  #data: unknown
  #changed = false
  #generation: number
  #lanes: 'rest' | 'stop' | 'go' | null = null
  #change: Changes = noChange

  constructor(implementation: Implementation, entity: Entity, data: unknown, facts: Facts, hopsMax: number) {
    this.#implementation = implementation
    this.machine = implementation.machine
    this.entity = entity
    this.facts = facts
    this.#facts = facts
    this.#data = data
    this.state = entity.state
    this.#generation = entity.generation
    this.#hopsMax = hopsMax
  }

  put(data: unknown): void {
    if (data === undefined) return
    this.#data = data
    this.#changed = true
  }

  addSums(sums: Sums): void {
    this.#change = joinChanges(this.#change, { sums })
  }

  fail(reason: string, error: string | null): void {
    this.#reason = reason
    this.error = error
    this.#facts = { ...this.facts, reason, error }
  }

  judge(names: readonly string[]): string | null {
    return judge(this.#implementation, names, viewOf(this.entity, this.#data, this.state), this.#facts)
  }

  first(edges: readonly Edge[]): Edge | null {
    for (const edge of edges) if (edge.when.length === 0 || this.judge(edge.when) === null) return edge
    return null
  }

  take(edge: Edge): void {
    if (this.#hops.length >= this.#hopsMax) {
      throw new SluiceError(
        'internal',
        `Machine ${this.machine.name} took ${this.#hopsMax} hops in one move and was stopped at ${this.state}.`,
        {
          id: this.entity.id,
          edge: edge.name,
        },
      )
    }
    // A request that fails in a settled state leads back to it: that is no reopening.
    if (edge.to !== edge.from && isSettled(this.machine, this.state)) {
      // Reopened: what it failed of belongs to the generation before.
      this.#generation += 1
      this.#reason = null
      this.error = null
    }
    if (edge.assign) this.#apply(edge.assign)
    if (edge.children) this.#lanes = edge.children
    this.#hops.push(hopOf(edge))
    this.state = edge.to
  }

  #apply(name: string): void {
    const assign = this.#implementation.assigns[name] as Assign
    const view = { ...viewOf(this.entity, this.#data, this.state), generation: this.#generation }
    const change = assign(view, this.#facts, this.#facts.input)
    this.put(change.data)
    this.#change = joinChanges(this.#change, change)
  }

  /** Takes the edge of this cause, if there is one; without it the state is kept, and runs again at this time. */
  follow(cause: 'retry' | 'poll', at: number, attempts: 'back' | 'stay'): Decision {
    const edge = this.first(edgesFrom(this.machine, this.state, cause))
    if (edge) this.take(edge)
    return this.#decision(cause, { ...this.#waitIn(), for: 'run', at } as Wait, attempts, null, null)
  }

  /** Goes on from where the last hop led: inline edges and, if lanes were read, edges over children. */
  arrive(cause: string, judging: boolean): Decision {
    while (!isSettled(this.machine, this.state)) {
      const edge = this.#next(judging)
      if (!edge) break
      if (edge.on === 'children' && edge.processor) return this.ask(edge, cause)
      if (edge.processor) return this.#decision(cause, this.#waitIn(), 'reset', edge, null)
      this.take(edge)
    }
    if (this.#hops.length === 0) return this.idle()
    return this.#decision(cause, this.#waitIn(), 'reset', null, null)
  }

  #next(judging: boolean): Edge | null {
    const inline = this.first(edgesFrom(this.machine, this.state, 'done'))
    if (inline?.inline && this.#hops.length > 0) return inline
    // The lanes were read before: of children that this very move spawns they know nothing.
    const isCurrent = judging && this.facts.lanes !== null && this.#change.spawn.length === 0
    return isCurrent ? this.#firstOverChildren() : null
  }

  #firstOverChildren(): Edge | null {
    const edges = edgesFrom(this.machine, this.state, 'children')
    if (edges.length === 0) return null
    const settled = (this.facts.lanes ?? []).every((lane) => lane.open === 0)
    // An unguarded edge over children is taken when no child is open.
    return this.first(edges.filter((edge) => edge.when.length > 0 || settled))
  }

  /** The processor of this edge runs first. */
  ask(edge: Edge, cause: string): Decision {
    return this.#decision(cause, { for: 'run', at: this.facts.now }, 'stay', null, edge)
  }

  /** No edge may be taken now. */
  idle(): Decision {
    const { now } = this.facts
    const deadlines = edgesFrom(this.machine, this.state, 'time')
      .map((edge) => timeAfter(this.entity.changedAt, edge.afterMs ?? 0))
      .filter((at) => at > now)
    const at = deadlines.length > 0 ? Math.min(...deadlines) : null
    const waitsForChildren = edgesFrom(this.machine, this.state, 'children').length > 0
    const wait: Wait = waitsForChildren
      ? { for: 'children', at }
      : at === null
        ? { for: 'nothing' }
        : { for: 'time', at }
    return this.#decision('look', wait, 'stay', null, null)
  }

  #waitIn(): Wait {
    return waitIn(this.machine, this.state, this.entity.parent === null, this.facts.now)
  }

  #decision(
    cause: string,
    wait: Wait,
    attempts: Decision['attempts'],
    runs: Edge | null,
    request: Edge | null,
  ): Decision {
    return {
      cause,
      hops: this.#hops,
      state: this.state,
      settled: isSettled(this.machine, this.state),
      generation: this.#generation,
      data: this.#changed ? this.#data : undefined,
      wait,
      attempts,
      runs,
      request,
      change: this.#change,
      lanes: this.#lanes,
      ...(this.#reason === undefined ? {} : { reason: this.#reason }),
      ...(this.error === undefined ? {} : { error: this.error }),
    }
  }
}

/** What an entity that enters this state waits for. */
export function waitIn(machine: Machine, state: string, isRoot: boolean, now: number): Wait {
  if (isSettled(machine, state)) {
    const retentionMs = machine.states[state]?.retentionMs ?? null
    return retentionMs !== null && isRoot ? { for: 'purge', at: timeAfter(now, retentionMs) } : { for: 'nothing' }
  }
  const plan = claimPlan(machine, state)
  if (plan) {
    const timer = plan.hops.length > 0 ? edgesFrom(machine, state, 'time')[0] : undefined
    const at = timer && plan.hops[0]?.transition === timer.name ? timeAfter(now, timer.afterMs ?? 0) : now
    return plan.gated ? { for: 'run', at, gated: true } : { for: 'run', at }
  }
  if (edgesFrom(machine, state, 'children').length > 0) return { for: 'children', at: now }
  const timers = edgesFrom(machine, state, 'time')
  if (timers.length > 0)
    return { for: 'time', at: timeAfter(now, Math.min(...timers.map((edge) => edge.afterMs ?? 0))) }
  return { for: 'nothing' }
}
