import { sleep } from '../../src/clock.ts'
import type { Stage } from '../../src/testing/simulation/index.ts'
import {
  done,
  fail,
  type JobEnding,
  type JobHandler,
  type Reducer,
  retry,
  retryLater,
  type Sink,
  type StepDetails,
  type StepOutcome,
} from '../../workflows/chunked/index.ts'
import { type Book, forReducer, type Item, type Run } from './book.ts'

/** How often a job's steps go wrong. */
export type Mood = 'good' | 'mixed' | 'bad' | 'hopeless'

export interface Outlets {
  readonly isFirst: boolean
  /** The next step first. */
  readonly later: readonly string[]
  readonly feedsReducer: boolean
}

/** Reasons for which a chunk fails at once, whatever attempts it has left. */
export const unrecoverable: ReadonlySet<string | null> = new Set([
  'unlucky',
  'bad output',
  'no outcome',
  'poll deadline passed',
])

const ends: Readonly<Record<Mood, Readonly<Record<string, number>>>> = {
  good: { done: 40, retry: 1, poll: 2 },
  mixed: { done: 40, retry: 3, throw: 3, thrown_poll: 1, poll: 4, fail: 1, misfit: 0.3, nonsense: 0.2 },
  hopeless: { done: 6, retry: 6, throw: 6, poll: 2 },
  bad: { done: 20, retry: 3, throw: 4, thrown_poll: 2, poll: 3, fail: 3, misfit: 1, nonsense: 1 },
}

type Details = StepDetails<unknown, unknown>

/** A step that does whatever chance says, and writes into the book what it gave out. */
export function runStep(stage: Stage, book: Book, mood: Mood, outlets: Outlets, attemptsMax: number) {
  return (details: Details, sink: Sink<Item>): StepOutcome | undefined | Promise<StepOutcome | undefined> => {
    const { random } = stage
    noteEffect(stage, details, attemptsMax)
    const run = book.begin(details.chunk.id, details.idempotencyKey, details.cursor)
    // Whoever has nothing to wait for runs without a promise.
    return random.chance(0.2)
      ? hurry(stage, book, mood, outlets, run, sink)
      : work(stage, book, mood, outlets, run, details, sink)
  }
}

function hurry(
  stage: Stage,
  book: Book,
  mood: Mood,
  outlets: Outlets,
  run: Run,
  sink: Sink<Item>,
): StepOutcome | undefined {
  for (let count = countOf(stage, outlets); count > 0; count--)
    void giveOne(stage, book, outlets, run, sink).catch(() => {})
  return end(stage, mood, run, sink)
}

async function work(
  stage: Stage,
  book: Book,
  mood: Mood,
  outlets: Outlets,
  run: Run,
  details: Details,
  sink: Sink<Item>,
): Promise<StepOutcome | undefined> {
  const { random, clock, faults } = stage
  const { signal } = details
  if (random.chance(0.4)) await sleep(clock, random.between(1, 120))
  for (let count = countOf(stage, outlets); count > 0; count--) {
    await giveOne(stage, book, outlets, run, sink)
    if (random.chance(0.25)) await details.checkpoint(book.cursorOf(run))
    if (random.chance(0.1)) await sleep(clock, random.between(1, 200))
  }
  // Some listen to the signal, others do not: both must be harmless.
  if (mood === 'bad' && random.chance(0.004)) return poison(stage)
  if (faults.hangs()) await sleep(clock, 3_000, random.chance(0.5) ? signal : undefined)
  else if (random.chance(0.2)) await sleep(clock, random.between(1, 100))
  return end(stage, mood, run, sink)
}

/** A step does not know its chunk's generation; its key does. */
function noteEffect({ ledger }: Stage, { chunk, idempotencyKey, attempt }: Details, attemptsMax: number): void {
  const generation = Number(idempotencyKey.split(':')[1])
  const entity = { machine: 'chunked_chunk', id: chunk.id, state: 'in_progress', generation }
  ledger.effect({ entity, idempotencyKey, attempt }, chunk.step, attemptsMax)
}

/** Kills whoever runs it. */
function poison({ faults, crash }: Stage): Promise<never> {
  faults.count('poison_crash')
  return crash()
}

function countOf({ random }: Stage, { isFirst, later, feedsReducer }: Outlets): number {
  return later.length === 0 && !feedsReducer
    ? 0
    : random.pick(isFirst ? [0, 2, 3, 4, 6, 12] : feedsReducer ? [0, 1, 2, 3, 4] : [0, 0, 1, 1, 2, 2, 3])
}

function giveOne({ random }: Stage, book: Book, { later }: Outlets, run: Run, sink: Sink<Item>): Promise<void> {
  const [next = forReducer, ...others] = later
  const lane = others.length > 0 && random.chance(0.35) ? random.pick(others) : next
  const one: Item = { run: run.id, index: run.given.get(lane)?.length ?? 0 }
  const given = lane === next ? sink.accept(one) : sink.acceptFor(lane, one)
  // Accepted as soon as it did not throw: whatever becomes of the writing becomes of the whole run.
  book.give(run, lane, one)
  return given
}

function end({ random }: Stage, mood: Mood, run: Run, sink: Sink<Item>): StepOutcome | undefined {
  if (random.chance(0.05)) sink.warn('odd')
  if (random.chance(0.05)) sink.recoveredError('got over it')
  const how = random.weighted(ends[mood] as Record<string, number>)
  switch (how) {
    case 'done':
      run.hasSucceeded = true
      return random.chance(0.5) ? done(random.below(5)) : undefined
    case 'retry':
      return random.chance(0.3) ? retry('not this time', random.pick([0, 100])) : retry('not this time')
    case 'throw':
      throw new Error('thrown')
    case 'poll':
      return random.chance(0.5) ? retryLater(random.pick([0, 30, 200])) : retryLater(60)
    case 'thrown_poll':
      throw retryLater(50)
    case 'fail':
      return fail('unlucky', 'as chance would have it')
    case 'misfit':
      void sink.accept({ run: 'none' } as unknown as Item)
      return done()
    case 'nonsense':
      return { kind: 'whatever' } as unknown as StepOutcome
    default:
      throw new Error(`There is no end ${how}.`)
  }
}

/** Its report is the list of what it took in. */
export function runReducer(
  { random, clock, faults }: Stage,
  mood: Mood,
): Omit<Reducer<unknown, Item, Item[], Item[]>, 'id'> {
  const stumble = () => {
    if (mood === 'good') return
    if (random.chance(0.03)) throw new Error('stumbled')
    if (random.chance(mood === 'mixed' ? 0.01 : 0.03)) throw fail('unlucky', 'a reducer as chance would have it')
  }
  return {
    timeoutMs: 800,
    initial: () => [],
    consume: (accumulator, output) => {
      stumble()
      const next = [...accumulator, output]
      return random.chance(0.2) ? sleep(clock, random.between(1, 60)).then(() => next) : next
    },
    report: async (accumulator, { signal }) => {
      // Everything was taken in, and yet it is not over.
      if (random.chance(0.2)) throw new Error('stumbled at the end')
      stumble()
      if (faults.hangs()) await sleep(clock, 3_000, random.chance(0.5) ? signal : undefined)
      return accumulator
    },
  }
}

/** Fails at first, now and then: it is called again. */
export function tellHandler({ random, clock }: Stage, book: Book): JobHandler {
  return async ({ id, generation, state }: JobEnding, { key, attempt }) => {
    if (random.chance(0.3)) await sleep(clock, random.between(1, 100))
    if (attempt <= 2 && random.chance(0.3)) throw new Error('nobody answers')
    book.told({ id, generation, state }, key)
  }
}
