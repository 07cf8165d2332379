import { z } from 'zod'
import type { Implementation } from '../../../implementation.ts'
import { implement, inGroups } from '../../../implementation.ts'
import { defineMachine } from '../../../machine.ts'
import { done, fail, poll, retry } from '../../../outcome.ts'
import { patientPolicy, perform, quickPolicy, type Stage } from './stage.ts'

const collection = z.object({ collection: z.string() })

/** Does nothing, and never fails: the neighbour of those who do. */
export const innocent = defineMachine({
  name: 'innocent',
  version: 1,
  initial: ['ready'],
  settled: ['done', 'failed'],
  final: ['done'],
  states: { ready: 'Waits.', done: { purpose: 'Ended.', retentionMs: 3_000 }, failed: 'Cancelled.' },
  transitions: {
    finish: { from: 'ready', to: 'done', on: 'done', processor: 'nothing' },
    fail: { from: 'ready', to: 'failed', on: 'fail' },
    cancel: { from: 'ready', to: 'failed', on: 'action' },
    again: { from: 'failed', to: 'ready', on: 'action' },
  },
  data: collection,
  labels: ['collection'],
  policies: { nothing: { ...patientPolicy, parallel: 6 } },
})

/** Kills its process whenever it runs. */
export const poison = defineMachine({
  name: 'poison',
  version: 1,
  initial: ['ready'],
  settled: ['done', 'failed'],
  final: ['done', 'failed'],
  states: { ready: 'Waits.', done: 'Never.', failed: 'Found out.' },
  transitions: {
    finish: { from: 'ready', to: 'done', on: 'done', processor: 'kill' },
    fail: { from: 'ready', to: 'failed', on: 'fail' },
  },
  policies: { kill: { ...quickPolicy, attemptsMax: 2 } },
})

/** Several states in a row: by a claim, under a kept lease, and inline. */
export const relay = defineMachine({
  name: 'relay',
  version: 1,
  initial: ['queued'],
  settled: ['done', 'failed'],
  final: ['done'],
  states: {
    queued: 'Waits.',
    first: 'Runs.',
    second: 'Runs on.',
    third: 'Runs out.',
    done: 'Ended.',
    failed: 'Broken.',
  },
  transitions: {
    start: { from: 'queued', to: 'first', on: 'claim' },
    pass: { from: 'first', to: 'second', on: 'done', processor: 'one' },
    pass_on: { from: 'second', to: 'third', on: 'done', processor: 'two', inline: true },
    finish: { from: 'third', to: 'done', on: 'done', processor: 'three' },
    fail: { from: ['first', 'second', 'third'], to: 'failed', on: 'fail' },
    cancel: { from: ['queued', 'first', 'second', 'third'], to: 'failed', on: 'action' },
    again: { from: 'failed', to: 'queued', on: 'action' },
  },
  data: collection,
  labels: ['collection'],
  policies: { one: quickPolicy, two: quickPolicy, three: quickPolicy },
})

/** Fails in every way there is, and sometimes succeeds; several at once. */
export const flaky = defineMachine({
  name: 'flaky',
  version: 1,
  initial: ['ready'],
  settled: ['done', 'failed'],
  final: ['done'],
  states: { ready: 'Waits.', working: 'Runs.', error: 'Is tried again.', done: 'Ended.', failed: 'Broken.' },
  transitions: {
    start: { from: ['ready', 'error'], to: 'working', on: 'claim' },
    finish: { from: 'working', to: 'done', on: 'done', processor: 'attempt', ensure: 'good', assign: 'note' },
    try_again: { from: 'working', to: 'error', on: 'retry' },
    fail: { from: 'working', to: 'failed', on: 'fail' },
    cancel: { from: ['ready', 'working', 'error'], to: 'failed', on: 'action' },
    again: { from: 'failed', to: 'ready', on: 'action' },
  },
  data: collection.extend({ quality: z.number().optional() }),
  labels: ['collection'],
  policies: { attempt: { ...quickPolicy, parallel: 8 } },
})

/** Asks again and again until something is there. */
export const poller = defineMachine({
  name: 'poller',
  version: 1,
  initial: ['ready', 'waiting'],
  settled: ['done', 'failed'],
  final: ['done', 'failed'],
  states: { ready: 'May ask.', asking: 'Asks.', waiting: 'Will ask again.', done: 'Got it.', failed: 'Never got it.' },
  transitions: {
    due: { from: 'waiting', to: 'ready', on: 'time', afterMs: 100 },
    start: { from: 'ready', to: 'asking', on: 'claim' },
    got_it: { from: 'asking', to: 'done', on: 'done', processor: 'ask' },
    not_yet: { from: 'asking', to: 'waiting', on: 'poll' },
    fail: { from: 'asking', to: 'failed', on: 'fail' },
    cancel: { from: ['ready', 'asking', 'waiting'], to: 'failed', on: 'action' },
  },
  data: z.object({ asks: z.number() }),
  policies: { ask: patientPolicy },
})

/** Timers, one of which runs a processor. */
export const alarm = defineMachine({
  name: 'alarm',
  version: 1,
  initial: ['set'],
  settled: ['off', 'failed'],
  final: ['off'],
  states: { set: 'Will ring.', ringing: 'Rings.', off: 'Rang.', failed: 'Broken.' },
  transitions: {
    ring: { from: 'set', to: 'ringing', on: 'time', afterMs: 250 },
    stop: { from: 'ringing', to: 'off', on: 'time', afterMs: 150, processor: 'silence' },
    snooze: { from: 'ringing', to: 'set', on: 'action' },
    fail: { from: 'ringing', to: 'failed', on: 'fail' },
    again: { from: 'failed', to: 'set', on: 'action', processor: 'wind' },
    still_broken: { from: 'failed', to: 'failed', on: 'fail' },
  },
  policies: { silence: quickPolicy, wind: quickPolicy },
})

/** Knows of holds: whatever is held when it looks waits for a person. */
export const guarded = defineMachine({
  name: 'guarded',
  version: 1,
  initial: ['pending'],
  settled: ['done', 'failed'],
  final: ['done', 'failed'],
  states: {
    pending: 'Looks for holds.',
    held: 'Waits for a release.',
    working: { purpose: 'Runs, whatever label is held.', holdable: false },
    done: 'Ended.',
    failed: 'Broken.',
  },
  transitions: {
    put_aside: { from: 'pending', to: 'held', on: 'done', when: 'isHeld' },
    go: { from: 'pending', to: 'working', on: 'done' },
    release: { from: 'held', to: 'pending', on: 'action' },
    finish: { from: 'working', to: 'done', on: 'done', processor: 'work' },
    fail: { from: 'working', to: 'failed', on: 'fail' },
    cancel: { from: ['pending', 'held', 'working'], to: 'failed', on: 'action' },
  },
  data: collection,
  labels: ['collection'],
  policies: { work: quickPolicy },
})

/** Shares what there is little of: bytes, places in all, places per owner. */
export const pooled = defineMachine({
  name: 'pooled',
  version: 1,
  initial: ['provisioning'],
  settled: ['done', 'failed'],
  final: ['done'],
  states: {
    provisioning: 'Needs room.',
    downloading: 'Has room.',
    storing: 'One for each owner.',
    done: 'Ended.',
    failed: 'Broken.',
  },
  transitions: {
    reserve: { from: 'provisioning', to: 'downloading', on: 'done', assign: 'take' },
    download: { from: 'downloading', to: 'storing', on: 'done', processor: 'download' },
    store: { from: 'storing', to: 'done', on: 'done', processor: 'store', assign: 'give' },
    fail: { from: ['provisioning', 'downloading', 'storing'], to: 'failed', on: 'fail', assign: 'give' },
    cancel: { from: ['provisioning', 'downloading', 'storing'], to: 'failed', on: 'action', assign: 'give' },
    again: { from: 'failed', to: 'provisioning', on: 'action' },
  },
  data: z.object({ owner: z.string(), size: z.number() }),
  labels: ['owner'],
  policies: {
    download: { ...quickPolicy, concurrency: 2 },
    store: { ...quickPolicy, concurrencyPer: { label: 'owner', max: 1 } },
  },
})

export const diskPool = { pool: 'disk', ceiling: 10 } as const

export function singles(stage: Stage): readonly Implementation[] {
  const { random } = stage
  return [
    implement(innocent, { processors: { nothing: (context) => stage.ledger.effect(context, 'nothing', 60) } }),
    implement(poison, {
      processors: {
        kill: (context) => {
          stage.ledger.effect(context, 'kill', 2)
          stage.faults.count('poison_crash')
          return stage.crash()
        },
      },
    }),
    implement(relay, {
      processors: {
        one: async (context) => {
          await perform(stage, context, 'one', 3)
          // Still being written when the lease goes on to the next state.
          for (const share of [0.5, 0.9]) context.progress({ share })
        },
        two: async (context) => {
          await perform(stage, context, 'two', 3)
          if (random.chance(0.1)) throw new Error('stumbled')
        },
        three: (context) => perform(stage, context, 'three', 3),
      },
    }),
    implement(flaky, {
      criteria: { good: ({ data }) => (data.quality ?? 1) > 0.1 || 'poor quality' },
      assigns: {
        note: ({ data }) => {
          if ((data.quality ?? 1) < 0.15) throw new Error('a rule with a bug')
          return {}
        },
      },
      processors: {
        attempt: inGroups(async (contexts) => {
          await Promise.all(contexts.map((context) => perform(stage, context, 'attempt', 3)))
          return contexts.map(({ data }) => {
            const what = random.weighted({ done: 10, retry: 4, delay: 3, throw: 2, fail: 2, misfit: 1 })
            if (what === 'retry') return retry('not this time')
            if (what === 'delay') return retry('rather later', random.pick([0, 0, 400]))
            if (what === 'throw') throw new Error('thrown')
            if (what === 'fail') return fail('no good')
            if (what === 'misfit') return done({ collection: 7 })
            return done({ ...data, quality: random.next() }, { bytes: random.below(9) })
          })
        }),
      },
    }),
    implement(poller, {
      processors: {
        ask: async (context) => {
          await perform(stage, context, 'ask', 60)
          const { asks } = context.data
          return asks > 0 ? poll(random.pick([0, 50, 200]), { asks: asks - 1 }) : done()
        },
      },
    }),
    implement(alarm, {
      processors: {
        silence: async (context) => {
          await perform(stage, context, 'silence', 3)
          return random.chance(0.15) ? fail('still ringing') : done()
        },
        wind: async (context) => {
          await perform(stage, context, 'wind', 3)
          return random.chance(0.3) ? fail('the spring is broken') : done()
        },
      },
    }),
    implement(guarded, {
      criteria: { isHeld: (_entity, facts) => facts.holds.length > 0 },
      processors: { work: (context) => perform(stage, context, 'work', 3) },
    }),
    implement(pooled, {
      assigns: {
        take: ({ data }) => ({ takes: [{ ...diskPool, amount: data.size }] }),
        give: () => ({ gives: [diskPool.pool] }),
      },
      processors: {
        download: (context) => perform(stage, context, 'download', 3),
        store: async (context) => {
          await perform(stage, context, 'store', 3)
          if (random.chance(0.1)) throw new Error('no answer')
        },
      },
    }),
  ]
}
