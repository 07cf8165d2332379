import { z } from 'zod'
import type { Child, Context, Implementation } from '../../../implementation.ts'
import { implement, inGroups } from '../../../implementation.ts'
import { defineMachine } from '../../../machine.ts'
import { done, fail, retry } from '../../../outcome.ts'
import { perform, quickPolicy, type Stage } from './stage.ts'

const pieceData = z.object({ collection: z.string(), luck: z.enum(['good', 'bad', 'mixed']) })

/** A child that a batch spawns, and spawns again after it was reopened. Siblings run in groups. */
export const piece = defineMachine({
  name: 'piece',
  version: 1,
  parent: 'batch',
  initial: ['ready'],
  settled: ['done', 'failed', 'skipped'],
  final: ['done', 'skipped'],
  states: { ready: 'Waits.', working: 'Runs.', done: 'Ended.', failed: 'Broken.', skipped: 'Left out.' },
  transitions: {
    start: { from: 'ready', to: 'working', on: 'claim' },
    finish: { from: 'working', to: 'done', on: 'done', processor: 'work' },
    fail: { from: 'working', to: 'failed', on: 'fail' },
    skip: { from: ['ready', 'working', 'failed'], to: 'skipped', on: 'action' },
    again: { from: 'failed', to: 'ready', on: 'action' },
  },
  data: pieceData,
  labels: ['collection'],
  policies: { work: { ...quickPolicy, parallel: 8 } },
  respawn: 'again',
})

const batchData = z.object({
  collection: z.string(),
  count: z.number(),
  /** How many children there are between two checkpoints; 0: none are made. */
  checkpointEvery: z.number(),
  /** The first failure ends it. */
  strict: z.boolean(),
  failed: z.number().optional(),
})

/** Fan-out, with or without checkpoints; fan-in; a watched failure; ended, reopened and cancelled by people. */
export const batch = defineMachine({
  name: 'batch',
  version: 1,
  initial: ['expanding'],
  settled: ['completed', 'partly', 'failed', 'cancelled'],
  final: ['completed', 'cancelled'],
  states: {
    expanding: 'Makes its pieces.',
    processing: 'Its pieces run.',
    reporting: 'All pieces have ended.',
    completed: { purpose: 'All is well.', retentionMs: 4_000 },
    partly: 'Some pieces failed.',
    failed: 'Given up.',
    cancelled: 'Ended by a person.',
  },
  transitions: {
    expand: { from: 'expanding', to: 'processing', on: 'done', processor: 'expand' },
    abandon: { from: 'processing', to: 'failed', on: 'children', when: 'isLost', children: 'stop' },
    join: { from: 'processing', to: 'reporting', on: 'children', assign: 'tally' },
    overdue: { from: 'processing', to: 'failed', on: 'time', afterMs: 15_000, children: 'rest' },
    complete: { from: 'reporting', to: 'completed', on: 'done', processor: 'report', when: 'isClean' },
    complete_partly: { from: 'reporting', to: 'partly', on: 'done', processor: 'report' },
    fail: { from: ['expanding', 'reporting'], to: 'failed', on: 'fail', children: 'rest' },
    cancel: { from: ['expanding', 'processing', 'reporting'], to: 'cancelled', on: 'action', children: 'stop' },
    resume: { from: 'failed', to: 'expanding', on: 'action', children: 'go' },
    retry_failed: { from: 'partly', to: 'processing', on: 'action', processor: 'retryFailed', children: 'go' },
    still_partly: { from: 'partly', to: 'partly', on: 'fail' },
  },
  data: batchData,
  labels: ['collection'],
  policies: {
    expand: { ...quickPolicy, attemptsMax: 6 },
    report: quickPolicy,
    retryFailed: { ...quickPolicy, attemptsMax: 6 },
  },
  watches: ['failed'],
})

/** A child that may think again when its parent is about to count it. */
export const answer = defineMachine({
  name: 'answer',
  version: 1,
  parent: 'survey',
  initial: ['ready', 'given'],
  settled: ['given', 'failed'],
  final: [],
  states: { ready: 'Is thought about.', given: 'Was given.', failed: 'Was never given.' },
  transitions: {
    give: { from: 'ready', to: 'given', on: 'done', processor: 'think' },
    fail: { from: 'ready', to: 'failed', on: 'fail' },
    refuse: { from: 'ready', to: 'failed', on: 'action' },
    revise: { from: ['given', 'failed'], to: 'ready', on: 'action' },
  },
  policies: { think: quickPolicy },
})

/** Its join runs a processor under a lease; some of its children are born settled, or there are none. They come from the first of two processors of one move. */
export const survey = defineMachine({
  name: 'survey',
  version: 1,
  initial: ['asking'],
  settled: ['evaluated', 'failed'],
  final: ['evaluated', 'failed'],
  states: {
    asking: 'Asks.',
    asked: 'Has asked.',
    waiting: 'Waits for answers.',
    evaluated: 'Knows.',
    failed: 'Will never know.',
  },
  transitions: {
    ask: { from: 'asking', to: 'asked', on: 'done', processor: 'ask' },
    announce: { from: 'asked', to: 'waiting', on: 'done', processor: 'announce', inline: true },
    evaluate: { from: 'waiting', to: 'evaluated', on: 'children', processor: 'evaluate' },
    ask_more: { from: 'waiting', to: 'asking', on: 'action' },
    fail: { from: ['asking', 'asked', 'waiting'], to: 'failed', on: 'fail', children: 'rest' },
  },
  data: z.object({ count: z.number(), evaluated: z.number().optional() }),
  policies: {
    ask: { ...quickPolicy, attemptsMax: 6 },
    announce: { ...quickPolicy, attemptsMax: 6 },
    evaluate: { ...quickPolicy, attemptsMax: 6 },
  },
})

export function batches(stage: Stage): readonly Implementation[] {
  const { random } = stage
  return [
    implement(piece, {
      processors: {
        work: inGroups(async (contexts) => {
          await Promise.all(contexts.map((context) => perform(stage, context, 'work', 3)))
          // Whoever breaks a group is not to be found among its members: each of them runs by itself then.
          if (contexts.length > 1 && random.chance(0.1)) throw new Error('too many at once')
          return contexts.map(({ data: { luck } }) => {
            if (luck === 'bad' || (luck === 'mixed' && random.chance(0.3))) return fail('bad luck')
            return luck === 'mixed' && random.chance(0.2)
              ? retry('another try')
              : done(undefined, { records: 1 + random.below(5) })
          })
        }),
      },
    }),
    implement(batch, {
      criteria: {
        isLost: ({ data }, { lanes }) => data.strict && (lanes ?? []).some((lane) => (lane.counts.failed ?? 0) > 0),
        isClean: ({ data }) => (data.failed ?? 0) === 0,
      },
      assigns: {
        tally: ({ data }, { lanes }) => {
          // A rule with a bug that shows now and then: whoever judges it must try again, and leave the others alone.
          if (random.chance(0.05)) throw new Error('lost count')
          return { data: { ...data, failed: (lanes ?? []).reduce((sum, lane) => sum + (lane.counts.failed ?? 0), 0) } }
        },
      },
      processors: {
        expand: (context) => expand(stage, context),
        report: async (context) => {
          await perform(stage, context, 'report', 3)
          if (random.chance(0.1)) throw new Error('the report is jammed')
        },
        retryFailed: async (context) => {
          await perform(stage, context, 'retryFailed', 6)
          await context.actOnChildren('again', { states: ['failed'] })
          return random.chance(0.1) ? fail('nobody wanted to') : done()
        },
      },
    }),
    implement(answer, { processors: { think: (context) => perform(stage, context, 'think', 3) } }),
    implement(survey, {
      processors: {
        ask: async (context) => {
          await perform(stage, context, 'ask', 6)
          // Asked again in the same generation, it asks the same: it says so by naming the ordinals.
          const children: Child[] = Array.from({ length: context.data.count }, (_, ordinal) =>
            ordinal % 3 === 2
              ? { machine: 'answer', data: null, ordinal, state: 'given' }
              : { machine: 'answer', data: null, ordinal },
          )
          await context.spawn(children)
        },
        announce: async (context) => {
          await perform(stage, context, 'announce', 6)
          if (random.chance(0.3)) await context.checkpoint('said')
          if (random.chance(0.15)) throw new Error('nobody heard it')
        },
        evaluate: async (context) => {
          await perform(stage, context, 'evaluate', 6)
          const given = context.lanes.reduce((sum, lane) => sum + lane.total, 0)
          return done({ ...context.data, evaluated: given })
        },
      },
    }),
  ]
}

/** The same children in the same order at every attempt, from wherever the last checkpoint says. */
async function expand(stage: Stage, context: Context<z.infer<typeof batchData>>): Promise<void> {
  const { data } = context
  await perform(stage, context, 'expand', 6)
  if (context.attempt < 6 && stage.random.chance(0.1)) return overshoot(context)
  for (let ordinal = (context.cursor as number | null) ?? 0; ordinal < data.count; ordinal++) {
    await context.spawn({
      machine: 'piece',
      data: { collection: data.collection, luck: luckOf(context.entity.id, ordinal) },
    })
    if (data.checkpointEvery > 0 && (ordinal + 1) % data.checkpointEvery === 0) {
      await context.checkpoint(ordinal + 1)
      context.progress({ ordinal })
    }
  }
}

/** Read too far, noticed it and gave up: what it wrote beyond the end must never be seen. */
async function overshoot(context: Context<z.infer<typeof batchData>>): Promise<never> {
  const { collection, count } = context.data
  for (let surplus = 0; surplus < count + 6; surplus++) {
    await context.spawn({ machine: 'piece', data: { collection, luck: 'bad' } })
  }
  throw new Error('read too far')
}

function luckOf(batch: number, ordinal: number): 'good' | 'bad' | 'mixed' {
  const number = (batch * 7 + ordinal * 13) % 11
  return number === 0 ? 'bad' : number < 4 ? 'mixed' : 'good'
}
