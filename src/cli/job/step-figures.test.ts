import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { StepProgress } from 'sluice/chunked'
import { figuresText, inView, type StepFigures, StepPaces, stepLines } from './step-figures.ts'

const progress = (changes: Partial<StepProgress> = {}): StepProgress => ({
  id: 'work',
  kind: 'step',
  gated: true,
  phase: 'running',
  chunks: { ready: 550 },
  total: 1_000,
  settled: 450,
  failed: 0,
  records: 0,
  errors: 0,
  warnings: 0,
  since: null,
  ratePerSecond: null,
  etaMs: null,
  percent: 45,
  weight: null,
  ...changes,
})

const figures = (...steps: readonly Partial<StepProgress>[]) =>
  new StepPaces().figuresOf({ steps: steps.map(progress) }, 0)

const texts = (...steps: readonly Partial<StepProgress>[]) => figures(...steps).map(figuresText)

test('a step tells its share, its chunks, what failed, and its records', () => {
  assert.deepEqual(texts({ failed: 3, records: 45_000, chunks: { poll_waiting: 2, error: 1 } }), [
    'running: 45 %, 450 of 1,000 chunks, 3 failed, 1 to be tried again, 2 polling, 45,000 records',
  ])
  assert.deepEqual(texts({ phase: 'complete', settled: 1_000, records: 1 }), ['complete: 1,000 chunks, 1 record'])
  assert.deepEqual(texts({ phase: 'complete', total: 0, settled: 0 }), ['complete: no chunks'])
  assert.deepEqual(texts({ kind: 'reducer', total: 1, settled: 0 }), ['running'])
})

test('a step behind one that still runs has as many chunks as are known so far', () => {
  assert.deepEqual(texts({}, { phase: 'waiting', settled: 0, total: 70 }, { phase: 'waiting', settled: 0, total: 0 }), [
    'running: 45 %, 450 of 1,000 chunks',
    'waiting: 70 chunks so far',
    'waiting',
  ])
})

test('rate and time to go are those of the last seconds', () => {
  const paces = new StepPaces()
  let last: readonly StepFigures[] = []
  for (let second = 0; second <= 60; second += 1) {
    // Slow for long, then ten chunks of a hundred records each second.
    const settled = second < 50 ? 0 : (second - 50) * 10
    last = paces.figuresOf({ steps: [progress({ settled, records: settled * 100 })] }, second * 1_000)
  }
  assert.equal(figuresText(last[0]!), 'running: 10 %, 100 of 1,000 chunks, 10,000 records, 1,000 records/s, 90 s to go')
})

test('lines fit any terminal; what matters least gives way first', () => {
  const step = fc.record({
    phase: fc.constantFrom('waiting' as const, 'running' as const, 'complete' as const),
    id: fc.stringMatching(/^[a-z]{1,40}$/),
    total: fc.nat(2e9),
    settled: fc.nat(2e9),
    failed: fc.nat(1e6),
    records: fc.nat(2e9),
  })
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 5 }), fc.integer({ min: 0, max: 200 }), (steps, columns) =>
      stepLines(figures(...steps), columns).every((line) => line.length <= columns),
    ),
  )
  const [one] = figures({ failed: 3, records: 45_000 })
  const lines = [120, 70, 50].map((columns) => stepLines([one!], columns)[0])
  assert.deepEqual(lines, [
    `  work  ${'█'.repeat(9)}${'░'.repeat(11)}  45 %, 450 of 1,000 chunks, 3 failed, 45,000 records`,
    `  work  ${'█'.repeat(4)}${'░'.repeat(6)}  45 %, 450 of 1,000 chunks, 3 failed`,
    '  work  45 %, 450 of 1,000 chunks, 3 failed',
  ])
})

test('a bar is full only when its step is complete', () => {
  const [line] = stepLines(figures({ settled: 1_000 }), 120)
  assert.match(line!, /█░ {2}100 %/)
})

test('of many steps those around the current one are shown', () => {
  const steps = figures(
    ...Array.from({ length: 30 }, (_, index) => ({
      id: `s${index}`,
      phase: index < 20 ? ('complete' as const) : ('waiting' as const),
    })),
  )
  const seen = inView(steps)
  assert.deepEqual([seen.before, seen.steps.length, seen.after, seen.steps[0]?.id], [18, 12, 0, 's18'])
  assert.equal(inView(steps.slice(0, 5)).steps.length, 5)
})
