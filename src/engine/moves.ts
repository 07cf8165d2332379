import type { Checkpoint, Entity, LaneRead, Request } from '../entity.ts'
import { SluiceError } from '../errors.ts'
import type { Limits } from '../limits.ts'
import { claimPlan, type Machine } from '../machine.ts'
import type { Sums } from '../outcome.ts'
import type { Decision } from '../path.ts'
import { spawnedAfter } from '../spawned.ts'
import { storableText } from '../storable-text.ts'
import { type Actor, type ChildBirth, type Move, nobody } from '../store.ts'
import type { Edge } from '../transition.ts'
import { checkData, checkLabels, checkPriority, checkText, dataText } from './births.ts'

/** What a move has besides its decision. */
export interface MoveOptions {
  readonly by: Move['by']
  readonly keep?: boolean
  readonly children?: readonly ChildBirth[]
  readonly staging?: Move['staging']
  readonly spawned?: number
  readonly read?: readonly LaneRead[] | null
  /** Holds that the decision knew; none by default. Null: a person or the engine moves it whatever is held. */
  readonly holds?: readonly number[] | null
  /** Of the run for which the lease is kept. */
  readonly passes?: readonly string[] | undefined
  readonly actor?: Actor
  readonly request?: Request | null | undefined
  /** The run has written checkpoints or progress. */
  readonly wrote?: boolean
}

/** The decision as the store takes it. Throws `invalid` if the new data does not fit the machine's schema or the limit. */
export function moveOf(
  machine: Machine,
  entity: Entity,
  decision: Decision,
  options: MoveOptions,
  limits: Limits,
): Move {
  const { change } = decision
  const moved = decision.hops.length > 0
  // A move leaves old errors behind; so does a judgement that was possible again.
  const isFresh = moved || options.by === 'aside'
  const data = decision.data === undefined ? undefined : checkData(machine, decision.data)
  const keep = options.keep ?? false
  const goesOn = keep || decision.wait.for === 'run'
  // What belongs to a state ends with it. Hop-less changes raise neither number, so whoever moves an entity from outside may have read
  // it before they were made, and a run may still be writing them: then they are cleared whether they were seen or not.
  const clears = moved && (options.by === 'outside' || options.wrote === true)
  return {
    id: entity.id,
    epoch: entity.epoch,
    seq: entity.seq,
    by: options.by,
    cause: decision.cause,
    hops: decision.hops,
    state: decision.state,
    settled: decision.settled,
    generation: decision.generation,
    data: data === undefined ? null : changedText(entity, dataText(machine, data, limits)),
    labels:
      data === undefined || machine.labels.length === 0
        ? null
        : changedLabels(entity, checkLabels(machine, data, limits)),
    priority: change.priority === undefined ? null : checkPriority(change.priority),
    wait: decision.wait,
    keep,
    attempts: decision.attempts,
    // Undefined leaves a field as it is. All moves have one shape: the engine makes a hundred thousand of them a second.
    // A request is answered by the move that its edge makes; a retry without an edge runs it again.
    request:
      options.request !== undefined ? options.request : clears || (moved && entity.request !== null) ? null : undefined,
    checkpoint:
      !keepsCursor(machine, entity, decision) &&
      (clears || (moved && (entity.checkpoint !== null || options.staging === 'publish')))
        ? null
        : undefined,
    progress: clears || (moved && entity.progress !== null) ? null : undefined,
    reason: decision.reason === undefined ? undefined : cut(decision.reason, limits),
    sums: change.sums ? checkSums(change.sums) : undefined,
    error:
      decision.error !== undefined ? cut(decision.error, limits) : isFresh && entity.error !== null ? null : undefined,
    children: options.children ?? none,
    staging: options.staging ?? 'none',
    spawned: options.spawned ?? 0,
    opens: change.open,
    shuts: change.shut,
    lanes: decision.lanes,
    read: options.read ?? null,
    takes: change.takes,
    gives: change.gives,
    holds: goesOn && options.by === 'lease' ? (options.holds === undefined ? none : options.holds) : null,
    holdable: machine.states[decision.state]?.holdable ?? true,
    passes: options.passes,
    actor: options.actor ?? nobody,
  }
}

const none: readonly never[] = []

/** The same work is taken up again, by whatever states that leads through: it goes on where its last checkpoint was. */
function keepsCursor(machine: Machine, { state, request }: Entity, { cause, state: next }: Decision): boolean {
  if ((cause !== 'retry' && cause !== 'poll') || request !== null) return false
  const processor = claimPlan(machine, state)?.processor ?? null
  return processor !== null && claimPlan(machine, next)?.processor === processor
}

/** What a move itself asks for runs in nobody's name. */
export function followUp({ name }: Edge): Request {
  return { edge: name, actor: null, role: null, reason: null, requestId: null, input: null, read: null }
}

/** What is the same as before need not be written again. */
function changedText(entity: Entity, text: string): string | null {
  return text === entity.data ? null : text
}

function changedLabels({ labels }: Entity, after: readonly (string | null)[]): readonly (string | null)[] | null {
  return after.every((label, position) => label === (labels[position] ?? null)) ? null : after
}

/** Whole numbers only: fractions added and taken back a million times would drift. */
function checkSums(sums: Sums): Sums {
  for (const [name, amount] of Object.entries(sums)) {
    checkText(name, 'The name of a sum')
    if (!Number.isSafeInteger(amount)) {
      throw new SluiceError('invalid', `The sum ${name} must be a whole number; it was ${amount}.`, { name, amount })
    }
  }
  return sums
}

function cut(text: string | null, limits: Limits): string | null {
  if (text === null) return null
  return storableText(text.length > limits.reasonMax ? `${text.slice(0, limits.reasonMax - 1)}…` : text)
}

/** A change that keeps state and lease: a checkpoint, or a word about progress. */
export function asideOf(
  entity: Entity,
  changes: {
    checkpoint?: Checkpoint
    progress?: string
    children?: readonly ChildBirth[]
    priority?: number
    /** It has got further than any attempt before: those are forgotten. */
    isFurther?: boolean
  },
): Move {
  return {
    id: entity.id,
    epoch: entity.epoch,
    seq: entity.seq,
    by: changes.priority === undefined ? 'lease' : 'aside',
    cause: 'aside',
    hops: none,
    state: entity.state,
    settled: entity.settled,
    generation: entity.generation,
    data: null,
    labels: null,
    priority: changes.priority ?? null,
    wait: null,
    keep: changes.priority === undefined,
    attempts: changes.isFurther ? 'one' : 'stay',
    ...(changes.checkpoint === undefined ? {} : { checkpoint: changes.checkpoint }),
    ...(changes.progress === undefined ? {} : { progress: changes.progress }),
    children: changes.children ?? none,
    staging: changes.children ? 'stage' : 'none',
    spawned: 0,
    opens: none,
    shuts: none,
    lanes: null,
    read: null,
    takes: none,
    gives: none,
    holds: null,
    holdable: true,
    passes: undefined,
    actor: nobody,
  }
}

/** A kept lease takes the claim's hops along: nobody claims again. */
export function withClaimHops(machine: Machine, decision: Decision): Decision {
  const plan = claimPlan(machine, decision.state)
  if (!plan || plan.hops.length === 0) return decision
  return { ...decision, hops: [...decision.hops, ...plan.hops], state: plan.state }
}

/** The entity as the store has it after a saved move that kept the lease. */
export function afterMove(entity: Entity, move: Move): Entity {
  return {
    ...entity,
    state: move.state,
    seq: entity.seq + (move.hops.length > 0 ? 1 : 0),
    generation: move.generation,
    settled: move.settled,
    data: move.data ?? entity.data,
    labels: move.labels ?? entity.labels,
    priority: move.priority ?? entity.priority,
    attempts: 1,
    suspect: 0,
    spawned: spawnedAfter(entity.spawned, entity.generation, move),
    request: move.request === undefined ? entity.request : move.request,
    checkpoint: move.checkpoint === undefined ? entity.checkpoint : move.checkpoint,
    progress: move.progress === undefined ? entity.progress : move.progress,
    reason: move.reason === undefined ? entity.reason : move.reason,
    error: move.error === undefined ? entity.error : move.error,
    wait: move.wait ?? entity.wait,
  }
}
