import { attemptsSpent, type Occurrence } from '../decide.ts'
import type { Entity } from '../entity.ts'
import { messageOf, reasonOf } from '../errors.ts'
import type { Context, GroupProcessor, Implementation, Processor } from '../implementation.ts'
import { outranTimeout } from '../lease.ts'
import { type Outcome, plainDone } from '../outcome.ts'
import { storableText } from '../storable-text.ts'
import { type Edge, processorsOf } from '../transition.ts'
import type { ProcessorContext } from './context.ts'

/** A throw is a retry. What a processor returns at once is not awaited. */
export function outcomeOf(processor: Processor, context: ProcessorContext): Outcome | Promise<Outcome> {
  try {
    const returned = processor(context)
    if (isThenable(returned))
      return Promise.resolve(returned).then(
        (outcome) => outcome ?? plainDone,
        (error) => thrown(error, context),
      )
    return returned ?? plainDone
  } catch (error) {
    return thrown(error, context)
  }
}

/** All that the edge runs. */
export function runEdge(
  implementation: Implementation,
  edge: Edge,
  processor: Processor,
  context: ProcessorContext,
): Outcome | Promise<Outcome> {
  return edge.then ? runInOrder(implementation, processorsOf(edge), context) : outcomeOf(processor, context)
}

/** Several processors of one edge: each sees the data that the one before has left. The first that is not done ends the run. */
async function runInOrder(
  { processors }: Implementation,
  names: readonly string[],
  context: ProcessorContext,
): Promise<Outcome> {
  let all: Done = plainDone
  for (const name of names) {
    context.advance(name, all.data === undefined ? context.data : all.data)
    const outcome = await outcomeOf(processors[name] as Processor, context)
    if (outcome.kind !== 'done') return outcome
    all = joinDone(all, outcome)
  }
  return all
}

/** What a group processor says of each. Null: it threw, or did not answer for all of them. */
export async function outcomesOf(
  processor: GroupProcessor,
  contexts: readonly Context[],
): Promise<readonly Outcome[] | null> {
  try {
    const outcomes = await processor(contexts)
    if (!Array.isArray(outcomes) || outcomes.length !== contexts.length) return null
    // Holes too: whoever fills a list by position leaves them where there is nothing to say.
    const all: Outcome[] = new Array(outcomes.length)
    for (let position = 0; position < all.length; position += 1) all[position] = outcomes[position] ?? plainDone
    return all
  } catch {
    return null
  }
}

type Done = Extract<Outcome, { kind: 'done' }>
type Retry = Extract<Occurrence, { cause: 'retry' }>

function joinDone(before: Done, after: Done): Done {
  const data = after.data === undefined ? before.data : after.data
  const sums = before.sums || after.sums ? { ...before.sums, ...after.sums } : undefined
  return { kind: 'done', ...(data === undefined ? {} : { data }), ...(sums ? { sums } : {}) }
}

function thrown(error: unknown, context: ProcessorContext): Outcome {
  context.threw(error)
  return { kind: 'retry', error: messageOf(error), reason: reasonOf(error) }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

/** A poll that asks again at once would keep the store busy for nothing. */
const pollMsMin = 10

/** What the outcome of an edge's processor means for its entity. */
export function occurrenceOf(edge: Edge, outcome: Outcome): Occurrence {
  switch (outcome.kind) {
    case 'done':
      // Told apart so that neither is copied: this is asked for every run.
      return outcome.sums
        ? { cause: 'done', edge, data: outcome.data, sums: outcome.sums }
        : { cause: 'done', edge, data: outcome.data }
    case 'retry':
      return {
        cause: 'retry',
        error: storableText(outcome.error),
        data: outcome.data,
        processor: edge.processor ?? null,
        ...(outcome.reason === undefined ? {} : { reason: storableText(outcome.reason) }),
        ...(isDelay(outcome.delayMs) ? { delayMs: outcome.delayMs } : {}),
      }
    case 'poll':
      if (!isDelay(outcome.afterMs)) return nonsense(edge, `poll(${outcome.afterMs})`)
      return { cause: 'poll', afterMs: Math.max(pollMsMin, outcome.afterMs), data: outcome.data }
    case 'fail':
      return {
        cause: 'fail',
        reason: storableText(outcome.reason),
        error: storableText(outcome.error ?? outcome.reason),
        data: outcome.data,
      }
    default:
      outcome satisfies never
      return nonsense(edge, typeof outcome)
  }
}

/** The reason of what failed because its last run took too long. */
export const timeoutReason = 'timeout'

/** What a run that took too long is said to have done wrong. */
export function timeoutText(processor: string, timeoutMs: number): string {
  return `${processor} took longer than ${timeoutMs} ms.`
}

/** The timeout of the run before, whose lease the store ended: it left the error that it was told. */
export function timeoutOf({ error }: Entity, { name, processor = name }: Edge, timeoutMs: number): Retry {
  const said = error === null || error === outranTimeout ? timeoutText(processor, timeoutMs) : error
  return { cause: 'retry', error: said, reason: timeoutReason, processor }
}

/** All attempts have ended in an error, a timeout or the death of their process. */
export function spent(lastError: string | null, attemptsMax: number): Occurrence {
  const because = lastError
    ? `the last one ended with: ${lastError.replace(/\.$/, '')}`
    : 'its process died or it outran its timeout each time'
  return {
    cause: 'fail',
    reason: attemptsSpent,
    error: `All ${attemptsMax} attempts are spent; ${because}.`,
  }
}

/** A delay that makes no sense, such as one computed from a header that was not there, is left to the policy's backoff. */
function isDelay(delayMs: number | undefined): delayMs is number {
  return delayMs !== undefined && Number.isFinite(delayMs) && delayMs >= 0
}

/** Plain JavaScript can return anything. Trying again would return it again. */
function nonsense({ processor }: Edge, what: string): Occurrence {
  const error = `${processor} returned ${what}; a processor returns done(), retry(), poll(milliseconds), fail(reason) or nothing.`
  return { cause: 'fail', reason: 'no outcome', error }
}
