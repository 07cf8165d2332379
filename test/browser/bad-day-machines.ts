import { appendFileSync } from 'node:fs'
import { defineMachine, done, fail, implement } from 'sluice'
import { z } from 'zod'

/** The test reads in this file that the climb has begun. */
const begun = process.env.BAD_DAY_BEGUN

const ways = ['well', 'refused', 'busy', 'slow', 'held', 'asking', 'printing', 'attic'] as const

const tour = defineMachine({
  name: 'tour',
  version: 1,
  initial: ['planned'],
  settled: ['over', 'over_with_losses', 'given_up'],
  final: ['over', 'over_with_losses', 'given_up'],
  data: z.object({ town: z.string(), ways: z.array(z.enum(ways)) }),
  title: 'Tour of {town}',
  states: {
    planned: 'Visits are being planned.',
    under_way: 'Visits are made.',
    over: { purpose: 'All visits were made.', outcome: 'success' },
    over_with_losses: { purpose: 'Some visits were refused.', outcome: 'attention' },
    given_up: { purpose: 'It could not be planned.', outcome: 'failure' },
  },
  transitions: {
    plan: { from: 'planned', to: 'under_way', on: 'done', processor: 'plan' },
    give_up: { from: 'planned', to: 'given_up', on: 'fail' },
    close_with_losses: { from: 'under_way', to: 'over_with_losses', on: 'children', when: 'someRefused' },
    close: { from: 'under_way', to: 'over', on: 'children' },
  },
  policies: { plan: { role: 'desk' } },
})

/** One visit. Its state says which processor it needs, and so which worker. */
const visit = defineMachine({
  name: 'visit',
  version: 1,
  parent: 'tour',
  initial: ['due', 'asking', 'to_print', 'in_attic'],
  settled: ['made', 'refused'],
  final: ['made'],
  labels: ['way'],
  data: z.object({ way: z.enum(ways) }),
  title: 'way',
  states: {
    due: 'Waits for a clerk.',
    asking: 'Somebody has to say whether it is wanted.',
    to_print: 'Waits for the printer.',
    in_attic: 'Waits for the climber.',
    made: { purpose: 'Made.', outcome: 'success' },
    refused: { purpose: 'Nobody opened.', outcome: 'failure' },
  },
  transitions: {
    call: { from: 'due', to: 'made', on: 'done', processor: 'call' },
    print: { from: 'to_print', to: 'made', on: 'done', processor: 'print' },
    climb: { from: 'in_attic', to: 'made', on: 'done', processor: 'climb' },
    be_refused: { from: ['due', 'to_print', 'in_attic'], to: 'refused', on: 'fail' },
    confirm: { from: 'asking', to: 'due', on: 'action' },
    try_again: { from: 'refused', to: 'due', on: 'action' },
  },
  policies: {
    call: { role: 'desk', backoff: { firstMs: 600_000, factor: 2, maxMs: 900_000, jitter: 0 } },
    print: { role: 'printing' },
    climb: { role: 'attic' },
  },
})

const stateOf = { asking: 'asking', printing: 'to_print', attic: 'in_attic' } as Readonly<Record<string, string>>
const never = (signal: AbortSignal) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))

export const implementations = [
  implement(tour, {
    criteria: {
      someRefused: (_tour, { lanes }) =>
        (lanes ?? []).every((lane) => lane.open === 0) && (lanes ?? []).some((lane) => lane.counts.refused),
    },
    processors: {
      plan: async (context) => {
        await context.spawn(
          context.data.ways.map((way) => ({ machine: 'visit', state: stateOf[way] ?? 'due', data: { way } })),
        )
        return done()
      },
    },
  }),
  implement(visit, {
    processors: {
      call: async ({ data, signal }) => {
        if (data.way === 'refused') return fail('nobody opened', 'The door of 4 Canal Street stayed shut.')
        if (data.way === 'busy') throw new Error('The line to 7 Canal Street is busy.')
        if (data.way === 'slow') await never(signal)
        return done()
      },
      print: () => done(),
      climb: async ({ signal }) => {
        if (begun) appendFileSync(begun, 'climb\n')
        await never(signal)
        return done()
      },
    },
    criteria: {},
    assigns: {},
  }),
]
