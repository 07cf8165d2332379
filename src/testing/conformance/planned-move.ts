import type { Entity, LaneRead, Request } from '../../entity.ts'
import type { ChildBirth, Move } from '../../store.ts'
import { aChange, aCheckpoint, aChild, aMove, hop, waitForChildren, waitForNothing } from '../builders.ts'
import type { MovePlan } from './program.ts'

/** What whoever decides knows besides the entity itself. */
export interface Knowledge {
  readonly time: number
  readonly read: readonly LaneRead[]
  readonly holds: readonly number[]
}

const oversized = JSON.stringify('x'.repeat(300))

const request: Request = {
  edge: 'repack',
  actor: 'ada',
  role: null,
  reason: null,
  requestId: null,
  input: null,
  read: null,
}

/** The move that a plan makes of an entity as it was seen. One as a rule; `twice` adds a second on what the first would leave. */
export function plannedMoves(plan: MovePlan, entity: Entity, knowledge: Knowledge): readonly Move[] {
  const holds = { known: knowledge.holds, none: [], unasked: null }[plan.holds]
  const move = { ...plannedMove(plan, entity, knowledge), holds }
  if (plan.act !== 'twice') return [move]
  return [move, { ...move, epoch: move.epoch + 1, seq: move.seq + 1, hops: [hop(move.state, 'ready')], state: 'ready' }]
}

function plannedMove(plan: MovePlan, entity: Entity, { time, read }: Knowledge): Move {
  const leased = entity.owner !== null && !plan.outside
  const by = leased ? 'lease' : 'outside'
  const run = { for: 'run', at: time + plan.delayMs } as const
  const sums = plan.plain ? null : { bytes: plan.amount }
  const data = plan.data
  const inPlace = { hops: [], state: entity.state, settled: entity.settled }
  const stays = (changes: Partial<Move>): Move => (leased ? aCheckpoint(entity, changes) : aChange(entity, changes))
  const moves = (state: string, changes: Partial<Move> = {}): Move => {
    const generation = entity.settled ? entity.generation + 1 : entity.generation
    const holdable = state === 'ready'
    return aMove(entity, {
      by,
      state,
      hops: [hop(entity.state, state)],
      generation,
      wait: run,
      holdable,
      data,
      ...changes,
    })
  }
  switch (plan.act) {
    case 'done':
      return moves('done', { wait: waitForNothing, sums, reason: null })
    case 'fail':
      return moves('failed', { wait: waitForNothing, reason: `reason-${plan.ordinal}`, error: 'oops', cause: 'fail' })
    case 'retry':
      if (plan.plain) return moves('ready', { attempts: 'stay', cause: 'retry' })
      return moves('ready', { attempts: 'stay', error: 'again', cause: 'retry', wait: { ...run, pool: 'disk' } })
    case 'poll':
      return aMove(entity, { by, ...inPlace, attempts: 'back', wait: run, cause: 'poll' })
    case 'onward':
      return moves('packed', leased ? { keep: true, wait: null } : {})
    case 'checkpoint':
      return aCheckpoint(entity, {
        checkpoint: { cursor: `${plan.ordinal}`, spawned: plan.ordinal },
        progress: '1',
        sums,
      })
    case 'rank':
      return aChange(entity, { priority: plan.amount })
    case 'relabel':
      return moves('ready', { labels: plan.plain ? null : [plan.gated ? 'maps' : 'books', null] })
    case 'reopen':
      return moves('ready', { by: 'outside', reason: null, error: null })
    case 'park':
      return moves('parked', { by: 'outside', wait: waitForNothing })
    case 'await':
      return moves('filled', { wait: plan.gated ? { for: 'children', at: run.at } : waitForChildren })
    case 'look':
      return aChange(entity, { read })
    case 'close':
      return moves('closed', { by: 'outside', settled: true, wait: waitForNothing, read, cause: 'children' })
    case 'spawn':
      return stays({ children: childrenOf(plan, entity, run.at) })
    case 'stage':
      return stays({ children: childrenOf(plan, entity, run.at).map(withoutRespawn), staging: 'stage' })
    case 'publish':
      return moves('ready', { staging: 'publish', spawned: plan.ordinal + plan.count })
    case 'rest':
    case 'stop':
    case 'go':
      return aChange(entity, { lanes: plan.act })
    case 'open':
      return aChange(entity, { opens: [plan.lane] })
    case 'shut':
      return aChange(entity, { shuts: [plan.lane] })
    case 'take':
      return stays({ takes: [{ pool: 'disk', amount: plan.amount, ceiling: 3 }] })
    case 'give':
      return stays({ gives: ['disk'] })
    case 'request':
      return aMove(entity, { by: 'outside', ...inPlace, request, wait: run, attempts: 'stay' })
    case 'oversized':
      return moves('ready', { data: oversized })
    case 'keep_settled':
      return moves('done', { keep: true, wait: null })
    case 'twice':
      return moves('parked', { by: 'outside' })
    default:
      return plan.act satisfies never
  }
}

function childrenOf(plan: MovePlan, source: Entity, at: number): readonly ChildBirth[] {
  const parent = plan.forParent && source.parent !== null ? source.parent : source.id
  return Array.from({ length: plan.count }, (_, index) => {
    // Most children of a move are alike; here and there one is not, or comes under the number of the one before.
    const isOther = plan.mixed && index % 3 === 1
    const isPlain = plan.plain !== isOther
    const ordinal = plan.ordinal + (plan.mixed && index % 4 === 3 ? index - 1 : index)
    return aChild(parent, ordinal, {
      lane: plan.lane,
      state: plan.amount === 3 ? 'done' : 'ready',
      labels: [isPlain ? null : 'maps', null],
      data: `"${plan.ordinal} ${index}"`,
      watches: plan.plain && plan.gated ? [] : ['failed'],
      sums: isPlain ? null : { bytes: plan.amount },
      ...(plan.amount === 3 ? {} : { wait: plan.gated ? { for: 'run', at, gated: true } : { for: 'run', at } }),
      respawn: { from: ['failed'], transition: 'retry', to: 'ready', wait: { for: 'run', at } },
    })
  })
}

/** The contract is silent on reopening a child by staging it again. */
function withoutRespawn(child: ChildBirth): ChildBirth {
  return { ...child, respawn: null }
}
