import { setTimeout as pause } from 'node:timers/promises'
import { type Context, type Implementation, implement } from '../../src/implementation.ts'
import { done, fail, type Outcome, poll, retry } from '../../src/outcome.ts'
import type { Journal } from './journal.ts'
import {
  batchMachine,
  briefMachine,
  doomedMachine,
  itemMachine,
  partMachine,
  pieceMachine,
  routeMachine,
} from './machines.ts'
import type { PlannedData } from './plan.ts'
import type { Trap } from './trap.ts'

/** Children between two checkpoints. */
const groupSize = 100

/** The crash machines with processors that tell the journal of each effect, and can die around it. */
export function crashImplementations(journal: Journal, trap: Trap): readonly Implementation[] {
  const effect = (context: Context, body: string = JSON.stringify(context.data)) => {
    trap.pass('effect:before')
    journal.write({ kind: 'effect', key: context.idempotencyKey, body })
    trap.pass('effect:after')
  }
  const effectThenDone = (context: Context) => effect(context)

  const work = (context: Context): Outcome => {
    const data = context.data as PlannedData
    if (data.mood === 'bad') return fail('bad')
    if (data.mood === 'retry' && context.attempt === 1) return retry('The first attempt never works.')
    const polled = data.polled ?? 2
    if (polled < 2) return poll(20, { ...data, polled: polled + 1 })
    // Another process must write the same body, however often it has polled.
    effect(context, `item ${data.number}`)
    return done()
  }

  const split = async (context: Context): Promise<void> => {
    const { number, mood, first = 0, second = 0 } = context.data as PlannedData
    effect(context)
    const total = first + second
    for (let ordinal = (context.cursor as number | null) ?? 0; ordinal < total; ) {
      const end = Math.min(total, ordinal + groupSize)
      for (; ordinal < end; ordinal += 1) {
        const isFirst = ordinal < first
        await context.spawn({
          machine: 'crash_piece',
          lane: isFirst ? 'first' : 'second',
          state: isFirst ? 'ready' : 'gated',
          ordinal,
          data: { number, ordinal, mood },
        })
      }
      if (total <= groupSize) continue
      await context.checkpoint(ordinal)
      trap.pass('checkpoint:after')
    }
  }

  const finish = async (context: Context): Promise<void> => {
    effect(context)
    // Cancelling must find some of them running.
    if ((context.data as PlannedData).mood === 'cancelled') await pause(60)
  }

  const splitBrief = async (context: Context): Promise<void> => {
    const { number, first = 0 } = context.data as PlannedData
    effect(context)
    await context.spawn(
      Array.from({ length: first }, (_, ordinal) => ({ machine: 'crash_part', data: { number, ordinal } })),
    )
  }

  return [
    implement(itemMachine, { processors: { work } }),
    implement(doomedMachine, {
      processors: {
        throwAlways: () => {
          throw new Error('It never works.')
        },
      },
    }),
    implement(routeMachine, { processors: { load: effectThenDone, check: effectThenDone, store: effectThenDone } }),
    implement(batchMachine, {
      processors: { split, report: effectThenDone },
      criteria: { firstSettled: (_, { lanes }) => lanes?.find((lane) => lane.name === 'first')?.open === 0 },
      assigns: { openSecond: () => ({ open: ['second'] }), shutSecond: () => ({ shut: ['second'] }) },
    }),
    implement(pieceMachine, { processors: { finish } }),
    implement(briefMachine, { processors: { splitBrief } }),
    implement(partMachine, { processors: { finishPart: () => {} } }),
  ]
}
