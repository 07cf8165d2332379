import { timeAfter } from './clock.ts'
import { judge } from './criterion.ts'
import type { Entity, Request, Wait } from './entity.ts'
import { SluiceError } from './errors.ts'
import type { Assign, Change, Facts, Implementation, LogLine, View } from './implementation.ts'
import { policyFor, viewOf } from './implementation.ts'
import { edgeNamed, type Machine, type StatePlan, statePlan } from './machine.ts'
import type { Sums } from './outcome.ts'
import type { Policy } from './policy.ts'
import { type Edge, type Hop, Trail } from './transition.ts'

/** What is to be done about an occurrence: one move, or none. */
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
  readonly reason: string | null | undefined
  readonly error: string | null | undefined
}

/** What the edges of one move change together. */
export type Changes = Required<Pick<Change, 'open' | 'shut' | 'spawn' | 'takes' | 'gives'>> &
  Pick<Change, 'sums' | 'priority' | 'ask'> & { readonly log: readonly LogLine[] }

/** Most moves change nothing but the state: they share this one. */
export const noChange: Changes = { open: [], shut: [], spawn: [], takes: [], gives: [], log: [] }

export function joinChanges(before: Changes, change: Change): Changes {
  if (changesOnlyData(change)) return before
  const sums = change.sums ? { ...before.sums, ...change.sums } : before.sums
  const priority = change.priority ?? before.priority
  const ask = change.ask ?? before.ask
  return {
    open: [...before.open, ...(change.open ?? [])],
    shut: [...before.shut, ...(change.shut ?? [])],
    spawn: [...before.spawn, ...(change.spawn ?? [])],
    takes: [...before.takes, ...(change.takes ?? [])],
    gives: [...before.gives, ...(change.gives ?? [])],
    log: change.log ? [...before.log, change.log] : before.log,
    ...(sums === undefined ? {} : { sums }),
    ...(priority === undefined ? {} : { priority }),
    ...(ask === undefined ? {} : { ask }),
  }
}

function changesOnlyData({ open, shut, spawn, takes, gives, log, sums, priority, ask }: Change): boolean {
  return !(open || shut || spawn || takes || gives || log || sums || ask || priority !== undefined)
}

/** Where a path was before something was tried that may break. */
interface Mark {
  state: string
  trail: Trail
  data: unknown
  changed: boolean
  generation: number
  lanes: Path['lanes']
  change: Changes
  reason: string | null | undefined
  error: string | null | undefined
}

/**
 * The hops that one move takes, and what they change: kept in memory from the claim to the commit, so that a cascade of
 * five processors costs one decision, not five. It knows nothing of processors: whoever runs them says how they ended.
 */
export class Path {
  readonly machine: Machine
  readonly entity: Entity
  error: string | null | undefined
  /** Edge whose processor was asked for; it is answered by the first hop. */
  request: Request | null
  lanes: 'rest' | 'stop' | 'go' | null = null
  /** The last processor's work was accepted: its edge was taken. */
  isAccepted = false
  /** The inline edge whose processor runs next. */
  runs: Edge | null = null
  #state: string
  /** Of the state: looked up when it is entered, and asked many times. */
  #plan: StatePlan
  #reason: string | null | undefined
  readonly #implementation: Implementation
  readonly #hopsMax: number
  #trail = Trail.start
  #facts: Facts
  #data: unknown
  #changed = false
  #generation: number
  #change: Changes = noChange
  #view: View | null = null
  #mark: Mark | null = null
  /** How many hops had been taken when the last processor began: their attempts are over. */
  #carried = 0
  /** Of the last decision that paused. */
  #cause = 'done'

  constructor(implementation: Implementation, entity: Entity, data: unknown, facts: Facts, hopsMax: number) {
    this.#implementation = implementation
    this.machine = implementation.machine
    this.entity = entity
    this.request = entity.request
    this.#facts = facts
    this.#data = data
    this.#state = entity.state
    this.#plan = statePlan(implementation.machine, entity.state)
    this.#generation = entity.generation
    this.#hopsMax = hopsMax
  }

  get state(): string {
    return this.#state
  }

  #enter(state: string): void {
    this.#state = state
    this.#plan = statePlan(this.machine, state)
  }

  get facts(): Facts {
    return this.#facts
  }

  /** The time has gone on, or a processor has run meanwhile. */
  set facts(facts: Facts) {
    this.#facts = facts
  }

  get data(): unknown {
    return this.#data
  }

  get generation(): number {
    return this.#generation
  }

  get hops(): number {
    return this.#trail.hops.length
  }

  get view(): View {
    const { state } = this
    const last = this.#view
    if (last && last.data === this.#data && last.state === state && last.generation === this.#generation) return last
    this.#view = viewOf(this.entity, this.#data, state, this.#generation)
    return this.#view
  }

  put(data: unknown): void {
    if (data === undefined) return
    this.#data = data
    this.#changed = true
  }

  addSums(sums: Sums): void {
    this.#change = joinChanges(this.#change, { sums })
  }

  /** It went wrong for good, in the state where the path is now. */
  giveUp(reason: string, error: string | null): Decision | null {
    const edge = this.first(this.#plan.edges.fail)
    if (!edge) {
      throw new SluiceError('internal', `Machine ${this.machine.name} has no fail edge from ${this.state}.`, {
        state: this.state,
      })
    }
    this.#reason = reason
    this.error = error
    this.#facts = { ...this.#facts, reason, error }
    this.take(edge)
    return this.arrive('fail', false)
  }

  judge(names: readonly string[]): string | null {
    return names.length === 0 ? null : judge(this.#implementation, names, this.view, this.#facts)
  }

  first(edges: readonly Edge[]): Edge | null {
    for (const edge of edges) if (edge.when.length === 0 || this.judge(edge.when) === null) return edge
    return null
  }

  /** The edge whose processor runs in this state: what was requested, or the first `done` edge that may be taken. Null: none may. */
  choose(): Edge | null {
    if (this.runs) return this.runs
    const requested = this.request?.edge
    if (requested === undefined) return this.first(this.#plan.edges.done)
    return this.machine.edges.find((edge) => edge.from === this.state && edge.name === requested) ?? null
  }

  take(edge: Edge): void {
    if (this.hops >= this.#hopsMax) {
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
    if (edge.to !== edge.from && this.#plan.settled) {
      // Reopened: what it failed of belongs to the generation before.
      this.#generation += 1
      this.#reason = null
      this.error = null
    } else if (this.#plan.settled && edge.on === 'action' && this.entity.attempts > 1) {
      // The error is that of an attempt before this one. It does not say why the entity ended.
      this.error = null
    }
    if (edge.assign) this.#apply(edge.assign)
    if (edge.children) this.lanes = edge.children
    this.#trail = this.#trail.after(edge)
    this.#enter(edge.to)
  }

  #apply(name: string): void {
    const assign = this.#implementation.assigns[name] as Assign
    const change = assign(this.view, this.#facts, this.#facts.input)
    this.put(change.data)
    this.#change = joinChanges(this.#change, change)
  }

  /** Takes the edge of this cause, if there is one; without it the state is kept, and runs again at this time. */
  follow(cause: 'retry' | 'poll', at: number, attempts: 'back' | 'stay'): Decision {
    const edge = this.first(this.#plan.edges[cause])
    if (edge) this.take(edge)
    return this.#decision(cause, { ...this.#waitIn(), for: 'run', at } as Wait, attempts, null)
  }

  /**
   * Goes on from where the last hop led: inline edges and, if lanes were read, edges over children. Null: an inline
   * edge's processor (`runs`) comes first, and then the path goes on.
   */
  arrive(cause: string, judging: boolean): Decision | null {
    while (!this.#plan.settled) {
      const edge = this.#next(judging)
      if (!edge) break
      if (edge.on === 'children' && edge.processor) return this.ask(edge, cause)
      if (edge.processor) return this.#pause(edge, cause)
      const refusal = this.judge(edge.ensure)
      if (refusal !== null) return this.giveUp(refusal, refusal)
      this.take(edge)
    }
    if (this.hops === 0) return this.idle()
    const asked = this.#change.ask
    if (asked !== undefined) return this.#askNext(edgeNamed(this.machine, this.state, asked), cause)
    return this.#decision(cause, this.#waitIn(), 'reset', null)
  }

  #pause(edge: Edge, cause: string): null {
    this.runs = edge
    this.#cause = cause
    this.request = null
    this.#carried = this.hops
    return null
  }

  #next(judging: boolean): Edge | null {
    const inline = this.first(this.#plan.edges.done)
    if (inline?.inline && this.hops > 0) return inline
    // The lanes were read before: of children that this very move spawns they know nothing.
    const isCurrent = judging && this.#facts.lanes !== null && this.#change.spawn.length === 0
    return isCurrent ? this.#firstOverChildren() : null
  }

  #firstOverChildren(): Edge | null {
    const edges = this.#plan.edges.children
    if (edges.length === 0) return null
    const settled = (this.#facts.lanes ?? []).every((lane) => lane.open === 0)
    // An unguarded edge over children is taken when no child is open.
    return this.first(edges.filter((edge) => edge.when.length > 0 || settled))
  }

  /** The processor of this edge runs first. */
  ask(edge: Edge, cause: string): Decision {
    return this.#decision(cause, { for: 'run', at: this.#facts.now }, 'stay', edge)
  }

  /** The work so far is done; what follows from it has attempts of its own. */
  #askNext(edge: Edge, cause: string): Decision {
    return this.#decision(cause, { for: 'run', at: this.#facts.now }, 'reset', edge)
  }

  /** No edge may be taken now. */
  idle(): Decision {
    const { now } = this.#facts
    const deadlines = this.#plan.edges.time
      .map((edge) => timeAfter(this.entity.changedAt, edge.afterMs ?? 0))
      .filter((at) => at > now)
    const at = deadlines.length > 0 ? Math.min(...deadlines) : null
    const waitsForChildren = this.#plan.edges.children.length > 0
    const wait: Wait = waitsForChildren
      ? { for: 'children', at }
      : at === null
        ? { for: 'nothing' }
        : { for: 'time', at }
    return this.#decision('look', wait, 'stay', null)
  }

  /** The hops taken so far as a move of their own, after which the same processor goes on. */
  soFar(): Decision {
    return this.#decision('done', { for: 'run', at: this.#facts.now }, 'reset', null)
  }

  /** The path up to the processor that runs next. */
  paused(): Decision {
    return { ...this.#decision(this.#cause, this.#waitIn(), 'reset', null), runs: this.runs }
  }

  /** Notes where it is, for `restore`. One note is kept, and written over: a cascade takes one for each of its processors. */
  mark(): void {
    const mark = this.#mark
    if (!mark) {
      this.#mark = {
        state: this.state,
        trail: this.#trail,
        data: this.#data,
        changed: this.#changed,
        generation: this.#generation,
        lanes: this.lanes,
        change: this.#change,
        reason: this.#reason,
        error: this.error,
      }
      return
    }
    mark.state = this.state
    mark.trail = this.#trail
    mark.data = this.#data
    mark.changed = this.#changed
    mark.generation = this.#generation
    mark.lanes = this.lanes
    mark.change = this.#change
    mark.reason = this.#reason
    mark.error = this.error
  }

  /** Back to where it was noted last. */
  restore(): void {
    const mark = this.#mark
    if (!mark) return
    this.#enter(mark.state)
    this.#trail = mark.trail
    this.#data = mark.data
    this.#changed = mark.changed
    this.#generation = mark.generation
    this.lanes = mark.lanes
    this.#change = mark.change
    this.#reason = mark.reason
    this.error = mark.error
  }

  #waitIn(): Wait {
    const isRoot = this.entity.parent === null
    const { retentionMs } = this.#implementation.tuning
    const own = retentionMs && isRoot && this.#plan.settled ? retentionMs(this.view) : undefined
    return waitIn(this.machine, this.state, isRoot, this.#facts.now, own)
  }

  /** How the processor is treated for this entity, with its data as it is now. */
  policy(processor: string | null | undefined): Policy {
    return policyFor(this.#implementation, processor, this)
  }

  #decision(cause: string, wait: Wait, attempts: Decision['attempts'], request: Edge | null): Decision {
    return {
      cause,
      hops: this.#trail.hops,
      state: this.state,
      settled: this.#plan.settled,
      generation: this.#generation,
      data: this.#changed ? this.#data : undefined,
      wait,
      attempts: this.#carried === 0 ? attempts : afterHops(attempts),
      runs: null,
      request,
      change: this.#change,
      lanes: this.lanes,
      reason: this.#reason,
      error: this.error,
    }
  }
}

/** The hops before have done their work: what is counted now is the last state's first attempt. */
function afterHops(attempts: Decision['attempts']): Decision['attempts'] {
  return attempts === 'stay' ? 'one' : attempts === 'back' ? 'reset' : attempts
}

/** What an entity that enters this state waits for. */
export function waitIn(
  machine: Machine,
  state: string,
  isRoot: boolean,
  now: number,
  ownRetentionMs?: number | null,
): Wait {
  const { settled, edges, claim: plan } = statePlan(machine, state)
  if (settled) {
    const retentionMs = ownRetentionMs === undefined ? (machine.states[state]?.retentionMs ?? null) : ownRetentionMs
    return retentionMs !== null && isRoot ? { for: 'purge', at: timeAfter(now, retentionMs) } : { for: 'nothing' }
  }
  if (plan) {
    const timer = plan.hops.length > 0 ? edges.time[0] : undefined
    const at = timer && plan.hops[0]?.transition === timer.name ? timeAfter(now, timer.afterMs ?? 0) : now
    return plan.gated ? { for: 'run', at, gated: true } : { for: 'run', at }
  }
  if (edges.children.length > 0) return { for: 'children', at: now }
  const timers = edges.time
  if (timers.length > 0)
    return { for: 'time', at: timeAfter(now, Math.min(...timers.map((edge) => edge.afterMs ?? 0))) }
  return { for: 'nothing' }
}
