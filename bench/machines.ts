import { defineMachine, done, implement } from 'sluice'

/** The least that an item can do: one state, one processor that does nothing, one end. */
export const item = defineMachine({
  name: 'bench_item',
  version: 1,
  initial: ['waiting'],
  settled: ['completed', 'failed'],
  final: ['completed', 'failed'],
  states: {
    waiting: 'To be done.',
    completed: { purpose: 'Done.', outcome: 'success' },
    failed: { purpose: 'Not done.', outcome: 'failure' },
  },
  transitions: {
    complete: { from: 'waiting', to: 'completed', on: 'done', processor: 'nothing' },
    fail: { from: 'waiting', to: 'failed', on: 'fail' },
  },
  policies: { nothing: { parallel: 2_000 } },
})

/** A parent that spawns its children in groups, waits for the last of them, and closes. */
export const batch = defineMachine({
  name: 'bench_batch',
  version: 1,
  initial: ['extracting'],
  settled: ['completed', 'failed'],
  final: ['completed', 'failed'],
  states: {
    extracting: 'Children are being made.',
    processing: 'Children are at work.',
    completed: { purpose: 'All settled.', outcome: 'success' },
    failed: { purpose: 'Not done.', outcome: 'failure' },
  },
  transitions: {
    extract: { from: 'extracting', to: 'processing', on: 'done', processor: 'extract' },
    fail: { from: 'extracting', to: 'failed', on: 'fail' },
    close: { from: 'processing', to: 'completed', on: 'children' },
    cancel: { from: 'processing', to: 'failed', on: 'action', children: 'stop' },
  },
})

export const implementations = [
  implement(item, { processors: { nothing: () => undefined } }),
  implement(batch, {
    processors: {
      async extract(context) {
        const { count } = context.data as { count: number }
        const group = 1_000
        for (let from = (context.cursor as number | null) ?? 0; from < count; from += group) {
          const size = Math.min(group, count - from)
          await context.spawn(
            Array.from({ length: size }, (_, index) => ({ machine: 'bench_item', data: { n: from + index } })),
          )
          await context.checkpoint(from + size)
          context.progress({ extracted: from + size, of: count })
        }
        return done()
      },
    },
  }),
]
