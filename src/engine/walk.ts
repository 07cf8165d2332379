import { z } from 'zod'
import type { Entity, EntityId } from '../entity.ts'
import { isSluiceError, messageOf } from '../errors.ts'
import type { Context, Implementation } from '../implementation.ts'
import { implement } from '../implementation.ts'
import { defineMachine } from '../machine.ts'
import { done, fail, type Outcome, poll } from '../outcome.ts'
import type { Actor, Filter } from '../store.ts'
import { type ActionResult, actOn } from './actions.ts'
import type { ProcessorContext } from './context.ts'
import type { RunServices } from './run-services.ts'

const count = z.int().min(0)
const text = z.string().nullable()

const tally = z.object({
  done: count,
  requested: count,
  refused: count,
  stale: count,
  /** Some of those that did not do it, and why. */
  refusals: z.array(z.object({ id: count, message: z.string() })),
})

/** What a walk has done so far, by verdict. */
export type WalkTally = z.infer<typeof tally>

const walkData = z.object({
  /** As fixed when it was confirmed: which entities, and the highest id among them. */
  filter: z.record(z.string(), z.unknown()),
  upTo: count,
  matching: count,
  action: z.string(),
  to: z.string().nullable(),
  input: z.unknown(),
  /** Who confirmed it: stands in the history of every single entity. */
  actor: z.object({ actor: text, role: text, reason: text, requestId: text }),
  result: tally.nullable(),
})

export type WalkData = z.infer<typeof walkData>

/** An act on many is an entity: it is listed, watched, cancelled and explained like any other, and survives a crash. */
export const walkMachine = defineMachine({
  name: 'walk',
  version: 1,
  initial: ['running'],
  settled: ['completed', 'failed', 'cancelled'],
  final: ['completed', 'failed', 'cancelled'],
  states: {
    running: 'Asks one entity after another to do what was confirmed.',
    completed: { purpose: 'Everybody was asked; the result says how they took it.', outcome: 'success' },
    failed: { purpose: 'It could not go on; the result says how far it got.', outcome: 'failure' },
    cancelled: { purpose: 'A person ended it; the result says how far it got.', outcome: 'neutral' },
  },
  transitions: {
    complete: { from: 'running', to: 'completed', on: 'done', processor: 'walk' },
    fail: { from: 'running', to: 'failed', on: 'fail' },
    // A processor of its own, because only a run can see the checkpoint, and the result must not end with the walk.
    cancel: {
      from: 'running',
      to: 'cancelled',
      on: 'action',
      processor: 'report',
      warning: 'Those who were asked already stay as they are now.',
    },
  },
  data: walkData,
  title: '{action} of {matching} entities',
  policies: { walk: { timeoutMs: 24 * 60 * 60_000, attemptsMax: 10, parallel: 4 } },
})

/** Refused entities that a result names. */
const refusalsMax = 100
const messageMax = 300

interface Cursor {
  /** Everybody up to this id has been asked. */
  readonly after: EntityId
  readonly tally: WalkTally
}

const nobodyAsked: WalkTally = { done: 0, requested: 0, refused: 0, stale: 0, refusals: [] }

export function walkImplementation(): Implementation {
  return implement(walkMachine, {
    processors: {
      walk: (context) => walk((context as Context as ProcessorContext).services, context),
      report: ({ data, cursor }) => done({ ...data, result: cursorOf(cursor).tally }),
    },
  })
}

/** Group by group, with a checkpoint behind each: after a crash it goes on where it was. */
async function walk(services: RunServices, context: Context<WalkData>): Promise<Outcome> {
  const { data } = context
  let { after, tally } = cursorOf(context.cursor)
  try {
    for (let resumed = true; ; resumed = false) {
      // The process stops, or the lease is over: whoever is next goes on from the checkpoint, with the attempt given back.
      if (context.signal.aborted) return poll(0)
      const page = await services.store.list(pageOf(data, after, services.limits.pageMax))
      tally = addResults(tally, await askGroup(services, context, page.entities, resumed))
      if (page.next === null) return done({ ...data, result: tally })
      after = page.next
      await context.checkpoint({ after, tally } satisfies Cursor)
      context.progress({ ...tally, refusals: undefined, asked: askedOf(tally), matching: data.matching })
    }
  } catch (error) {
    // What is invalid now is invalid at every attempt; all else may pass, and is tried again from the checkpoint.
    if (!isSluiceError(error, 'invalid') && !isSluiceError(error, 'unsupported')) throw error
    return fail('the filter is refused', messageOf(error), { ...data, result: tally })
  }
}

function pageOf(data: WalkData, after: EntityId, pageMax: number): Filter {
  const filter = data.filter as Omit<Filter, 'limit'>
  return { ...filter, after: Math.max(after, filter.after ?? 0), upTo: data.upTo, newestFirst: false, limit: pageMax }
}

/**
 * A walk that died behind a group but before its checkpoint meets this group again. Whoever bears the walk's request
 * already is counted, and not asked a second time: it may have failed again since, which is another matter.
 */
async function askGroup(
  services: RunServices,
  context: Context<WalkData>,
  entities: readonly Entity[],
  resumed: boolean,
): Promise<readonly ActionResult[]> {
  const { action, to, input, actor } = context.data
  const asked = resumed ? await askedBefore(services, context, entities) : []
  const ids = new Set(asked.map(({ id }) => id))
  const open = entities.filter(({ id }) => !ids.has(id))
  return [...asked, ...(await actOn(services, open, action, actor, input, to ?? undefined))]
}

async function askedBefore(
  services: RunServices,
  { data, entity: { createdAt } }: Context<WalkData>,
  entities: readonly Entity[],
): Promise<readonly ActionResult[]> {
  const { requestId } = data.actor
  const asked: ActionResult[] = []
  if (requestId === null) return asked
  for (const { id, seq, state, changedAt, request } of entities) {
    if (request?.requestId === requestId) asked.push({ kind: 'requested', id, edge: request.edge })
    else if (changedAt >= createdAt && (await hasMoved(services, id, seq, data.actor, createdAt))) {
      asked.push({ kind: 'done', id, state })
    }
  }
  return asked
}

/** Looks back over the last page of its history: the walk's own move is a recent one. */
async function hasMoved(
  services: RunServices,
  id: EntityId,
  seq: number,
  actor: Actor,
  since: number,
): Promise<boolean> {
  const { pageMax } = services.limits
  const { moves } = await services.store.events({ entity: id, afterSeq: Math.max(0, seq - pageMax), limit: pageMax })
  return moves.some((move) => move.at >= since && move.requestId === actor.requestId && move.actor === actor.actor)
}

function addResults(tally: WalkTally, results: readonly ActionResult[]): WalkTally {
  const next = { ...tally, refusals: [...tally.refusals] }
  for (const result of results) {
    next[result.kind] += 1
    if (!('message' in result) || next.refusals.length >= refusalsMax) continue
    next.refusals.push({ id: result.id, message: result.message.slice(0, messageMax) })
  }
  return next
}

function askedOf({ done, requested, refused, stale }: WalkTally): number {
  return done + requested + refused + stale
}

function cursorOf(cursor: unknown): Cursor {
  return (cursor as Cursor | null) ?? { after: 0, tally: nobodyAsked }
}
