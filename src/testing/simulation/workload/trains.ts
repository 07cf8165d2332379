import { z } from 'zod'
import type { Context, Implementation } from '../../../implementation.ts'
import { implement } from '../../../implementation.ts'
import type { Lane } from '../../../lane.ts'
import { defineMachine } from '../../../machine.ts'
import { done, fail, poll, retry } from '../../../outcome.ts'
import { perform, quickPolicy, type Stage } from './stage.ts'

/** How many lanes a train has; the gate of each but the first opens when the one before it is through. */
const stepsMax = 3

/** A chunk of one step: behind a gate, queued, polled and tried again as the chunked family does it. */
export const wagon = defineMachine({
  name: 'wagon',
  version: 1,
  parent: 'train',
  initial: ['ready', 'gate_waiting'],
  settled: ['completed', 'failed'],
  final: ['completed', 'failed'],
  states: {
    gate_waiting: 'The step before is not complete.',
    ready: 'May be queued.',
    queued: 'Is queued.',
    poll_waiting: 'Asks again later.',
    error: 'Is tried again.',
    in_progress: 'Runs.',
    completed: 'Ended.',
    failed: 'Broken.',
  },
  transitions: {
    open_gate: { from: 'gate_waiting', to: 'ready', on: 'gate' },
    poll_again: { from: 'poll_waiting', to: 'ready', on: 'time' },
    queue: { from: 'ready', to: 'queued', on: 'claim' },
    start: { from: ['queued', 'error'], to: 'in_progress', on: 'claim' },
    complete: { from: 'in_progress', to: 'completed', on: 'done', processor: 'roll' },
    try_again: { from: 'in_progress', to: 'error', on: 'retry' },
    poll_later: { from: 'in_progress', to: 'poll_waiting', on: 'poll' },
    fail: { from: 'in_progress', to: 'failed', on: 'fail' },
  },
  data: z.object({ step: z.number(), wide: z.boolean() }),
  policies: { roll: { ...quickPolicy, attemptsMax: 5 } },
})

export const train = defineMachine({
  name: 'train',
  version: 1,
  initial: ['loading'],
  settled: ['arrived', 'broken', 'cancelled'],
  final: ['arrived', 'broken', 'cancelled'],
  states: {
    loading: 'Makes its first step.',
    running: 'Goes step by step.',
    unloading: 'One last wagon takes all together.',
    arrived: 'All steps are through.',
    broken: 'A wagon failed.',
    cancelled: 'Ended by a person.',
  },
  transitions: {
    load: { from: 'loading', to: 'running', on: 'done', processor: 'load' },
    break_down: { from: ['running', 'unloading'], to: 'broken', on: 'children', when: 'hasFailed', children: 'rest' },
    advance: { from: 'running', to: 'running', on: 'children', when: 'stepIsThrough', assign: 'openNext' },
    unload: { from: 'running', to: 'unloading', on: 'children', when: 'isThrough', assign: 'spawnLast' },
    arrive: { from: 'unloading', to: 'arrived', on: 'children' },
    fail: { from: 'loading', to: 'broken', on: 'fail' },
    cancel: { from: ['loading', 'running', 'unloading'], to: 'cancelled', on: 'action', children: 'stop' },
  },
  data: z.object({ step: z.number(), wagons: z.number() }),
  policies: { load: { ...quickPolicy, attemptsMax: 6 } },
  watches: ['failed'],
})

export const laneOf = (step: number): string => `step ${step}`

export function trains(stage: Stage): readonly Implementation[] {
  return [
    implement(wagon, { processors: { roll: (context) => roll(stage, context) } }),
    implement(train, {
      criteria: {
        hasFailed: (_entity, { lanes }) => (lanes ?? []).some((lane) => (lane.counts.failed ?? 0) > 0),
        stepIsThrough: ({ data }, { lanes }) => data.step < stepsMax - 1 && isThrough(lanes, data.step),
        isThrough: ({ data }, { lanes }) => data.step === stepsMax - 1 && isThrough(lanes, data.step),
      },
      assigns: {
        // Its number is its own: it must not be taken for one of the wagons.
        spawnLast: () => ({
          spawn: [{ machine: 'wagon', lane: laneOf(stepsMax), ordinal: 1_000, data: { step: stepsMax, wide: false } }],
        }),
        openNext: ({ data }) => ({ data: { ...data, step: data.step + 1 }, open: [laneOf(data.step + 1)] }),
      },
      processors: {
        load: async (context) => {
          await perform(stage, context, 'load', 6)
          for (let count = 0; count < context.data.wagons; count++) {
            await context.spawn({ machine: 'wagon', lane: laneOf(0), data: { step: 0, wide: count % 2 === 0 } })
          }
        },
      },
    }),
  ]
}

function isThrough(lanes: readonly Lane[] | null, step: number): boolean {
  return (lanes ?? []).every((lane) => lane.name !== laneOf(step) || lane.open === 0)
}

/** Spawns the wagons of the next step behind its gate, counted by the train. */
async function roll(stage: Stage, context: Context<{ step: number; wide: boolean }>) {
  const { step, wide } = context.data
  const { random } = stage
  await perform(stage, context, 'roll', 5)
  const next = step + 1
  if (next < stepsMax && wide) {
    const child = { machine: 'wagon', lane: laneOf(next), of: 'parent', state: 'gate_waiting' } as const
    await context.spawn([
      { ...child, data: { step: next, wide: true } },
      { ...child, data: { step: next, wide: false } },
    ])
  }
  const what = random.weighted({ done: 30, retry: 4, poll: 4, fail: 1 })
  if (what === 'retry') return retry('derailed')
  if (what === 'poll') return poll(random.between(0, 150))
  return what === 'fail' ? fail('scrapped') : done(undefined, { weight: 1 })
}
