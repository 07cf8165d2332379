import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { z } from 'zod'
import { defineJob } from './define-job.ts'
import { done, fail, retry, retryLater } from './outcome.ts'
import type { Sink, StepDetails } from './step.ts'
import { gateOf, numbers, refused, Stage, soon, storeKinds } from './test/stage.ts'

const none = z.object({})

type Run = (details: StepDetails<object, number>, sink: Sink<unknown>) => unknown

/** A good chunk on each side of a bad one, and a neighbour job: nothing of it may be disturbed. */
function jobWith(run: Run) {
  return defineJob({ id: 'bad', version: 1, parameters: none, tolerance: { failures: 1 } })
    .firstStep({ id: 'first', output: z.number(), run: numbers(3) })
    .step({
      id: 'second',
      retry: { ...soon, attemptsMax: 2 },
      output: z.object({ n: z.number(), text: z.string().optional() }),
      run: (async (details: StepDetails<object, number>, sink: Sink<unknown>) => {
        if (details.data === 1) return run(details, sink)
        return sink.accept({ n: details.data })
      }) as never,
    })
    .step({ id: 'third', gated: true, output: z.number(), run: ({ data }, sink) => sink.accept(data.n) })
    .reducer({ id: 'report', initial: () => [] as number[], consume: (all, one) => [...all, one] })
}

const letters = z.string().transform((text) => new Set(text))

const rows: readonly (readonly [string, Run, string, RegExp])[] = [
  [
    'gives to an earlier step',
    (_, sink) => sink.acceptFor('first', 1),
    'bad output',
    /Step second cannot give anything to first: it does not come after second. Later steps: third/,
  ],
  ['gives to itself', (_, sink) => sink.acceptFor('second', 1), 'bad output', /does not come after second/],
  ['gives to a step that is not there', (_, sink) => sink.acceptFor('nowhere', 1), 'bad output', /no such step/],
  [
    'gives to the reducer, and is not before it',
    (_, sink) => sink.acceptFor('report', 1),
    'bad output',
    /only the step before a reducer gives it data/,
  ],
  [
    'gives out data of the wrong type',
    (_, sink) => sink.accept({ n: 'one' }),
    'bad output',
    /What step second gave to third does not fit: n: /,
  ],
  [
    'gives out data of the wrong type, and hides the refusal',
    async (_, sink) => {
      await Promise.resolve(sink.accept(null)).catch(() => {})
    },
    'bad output',
    /does not fit/,
  ],
  [
    'catches the refusal itself',
    (_, sink) => {
      try {
        void sink.accept(7)
      } catch {
        // It thinks that nobody sees.
      }
    },
    'bad output',
    /does not fit/,
  ],
  [
    'gives out a chunk that is too big',
    (_, sink) => sink.accept({ n: 1, text: 'x'.repeat(300_000) }),
    'bad output',
    /What step second gave .*bytes/,
  ],
  [
    'throws a text',
    () => {
      throw 'just a text'
    },
    'error thrown, attempts spent',
    /just a text/,
  ],
  [
    'throws nothing',
    () => {
      throw undefined
    },
    'error thrown, attempts spent',
    /undefined/,
  ],
  ['rejects with null', () => Promise.reject(null), 'error thrown, attempts spent', /null/],
  [
    'throws something without a text',
    () => {
      throw Object.create(null)
    },
    'error thrown, attempts spent',
    /without text/,
  ],
  ['returns a number', () => 5, 'no outcome', /Step second returned 5; a step returns done/],
  ['returns null', () => null, 'no outcome', /Step second returned null; a step returns done/],
  ['returns an object', () => ({ ok: true }), 'no outcome', /returned \{"ok":true\}/],
  ['has processed half a record', () => done(1.5), 'no outcome', /1.5 records; expected a whole number/],
  ['has processed less than nothing', () => done(-5), 'no outcome', /-5 records; expected a whole number from 0 on/],
  ['polls at no time', () => retryLater(Number.NaN), 'no outcome', /retryLater\(NaN\)/],
  ['polls in the past', () => retryLater(-1), 'no outcome', /retryLater\(-1\)/],
  ['retries at no time', () => retry('again', Number.NaN), 'attempts spent', /After 2 of 2 attempts: again/],
  ['fails for good', () => fail('unreadable', 'line 7 is torn'), 'unreadable', /line 7 is torn/],
  [
    'throws that it fails for good',
    () => {
      throw fail('unreadable')
    },
    'unreadable',
    /unreadable/,
  ],
  [
    'asks for an attachment that is not there',
    ({ attachment }) => void attachment('a.txt'),
    'no such attachment',
    /It has: none/,
  ],
]

for (const kind of storeKinds) {
  describe(`a step that is wrong, ${kind}`, () => {
    test('a transform that makes no plain data is refused by its field, in parameters and in what a step gives out', async () => {
      const parameters = z.object({ text: letters })
      const asked = defineJob({ id: 'asked', version: 1, parameters }).firstStep({ id: 'only', run: () => {} })
      const given = defineJob({ id: 'given', version: 1, parameters: z.object({}) })
        .firstStep({
          id: 'first',
          output: z.object({ text: letters }),
          run: (_, sink) => sink.accept({ text: 'ab' } as never),
        })
        .step({ id: 'second', run: () => {} })
      await using stage = await Stage.open(kind, [asked, given])
      await assert.rejects(
        stage.start(asked, { text: 'ab' }),
        refused('invalid', /cannot be kept as JSON: text is a Set/),
      )
      const view = await stage.run(given, {})
      assert.deepEqual([view.state, view.reasons], ['failed', { 'bad output': 1 }])
      assert.match(view.errorMessage ?? '', /cannot be kept as JSON: text is a Set/)
    })

    for (const [what, run, reason, message] of rows) {
      test(`${what}: its chunk fails and says why; nothing else is disturbed`, async () => {
        const job = jobWith(run)
        await using stage = await Stage.open(kind, [job])
        const view = await stage.run(job, {})
        assert.deepEqual([view.state, view.report], ['completed', [0, 2]], view.errorMessage ?? '')
        assert.deepEqual(view.reasons, { [reason]: 1 })
        const bad = (await stage.chunks(view.id, 'second')).find(({ state }) => state === 'failed')
        assert.equal(bad?.data, 1)
        assert.match(bad?.errorMessage ?? '', message)
        assert.deepEqual(await stage.drift(view.id), [])
      })
    }

    test('gives out after its end: it is told, and nothing of it is kept', async () => {
      const late = gateOf<Sink<number>>()
      const told = gateOf<unknown>()
      const job = defineJob({ id: 'late', version: 1, parameters: none })
        .firstStep({
          id: 'first',
          output: z.number(),
          run: async (_, sink) => {
            await sink.accept(1)
            late.open(sink)
          },
        })
        .step({ id: 'second', run: () => {} })
      await using stage = await Stage.open(kind, [job])
      const view = await stage.run(job, {})
      const sink = await late.passed
      try {
        await sink.accept(2)
        told.open(null)
      } catch (error) {
        told.open(error)
      }
      refused('conflict', /has ended/)(await told.passed)
      assert.deepEqual([view.state, view.chunks.total], ['completed', 2])
    })

    test('a step that declares no output gives out: its chunk fails', async () => {
      const job = defineJob({ id: 'silent', version: 1, parameters: none }).firstStep({
        id: 'only',
        run: (_, sink) => sink.accept(1 as never),
      })
      await using stage = await Stage.open(kind, [job])
      const view = await stage.run(job, {})
      assert.equal(view.state, 'failed')
      const [chunk] = await stage.chunks(view.id)
      assert.match(chunk?.errorMessage ?? '', /Step only is the last one: there is nobody to accept/)
    })

    for (const [what, run] of [
      ['errs', () => retry('e'.repeat(500))],
      ['fails', () => fail('e'.repeat(500))],
      ['warns', (_: unknown, sink: Sink<string>) => sink.warn('w'.repeat(500))],
      ['polls', ({ chunk }: StepDetails) => (chunk.pollAttempts < 2 ? retryLater(10) : undefined)],
      ['gives out', (_: unknown, sink: Sink<string>) => sink.accept('w'.repeat(5_000))],
    ] as const) {
      test(`a chunk that fills its row and ${what} has an end`, async () => {
        const job = defineJob({ id: 'full', version: 1, parameters: none })
          .firstStep({
            id: 'first',
            output: z.string(),
            run: (_, sink) => sink.accept('x'.repeat(256 * 1_024 - 150)),
          })
          .step({ id: 'second', retry: soon, output: z.string(), run: run as never })
          .reducer({ id: 'report', initial: () => 0, consume: (count) => count + 1 })
        await using stage = await Stage.open(kind, [job])
        const view = await stage.run(job, {})
        assert.ok(['completed', 'failed'].includes(view.state))
        assert.deepEqual(await stage.drift(view.id), [])
      })
    }

    test('unknown jobs, chunks and steps are refused by name', async () => {
      const job = defineJob({ id: 'asked', version: 1, parameters: none }).firstStep({ id: 'only', run: () => {} })
      await using stage = await Stage.open(kind, [job])
      const { id } = await stage.run(job, {})
      const [chunk] = await stage.chunks(id)
      for (const ask of [
        () => stage.chunked.job(stage.control, chunk!.id),
        () => stage.chunked.chunks(stage.control, chunk!.id),
        () => stage.chunked.warnings(stage.control, chunk!.id),
        () => stage.chunked.rerun(stage.control, chunk!.id),
      ]) {
        await assert.rejects(ask, refused('not_found', /is no job; it is of machine chunked_chunk/))
      }
      await assert.rejects(stage.chunked.job(stage.control, 4_711), refused('not_found', /4711/))
      await assert.rejects(
        stage.chunked.chunks(stage.control, id, { step: 'nowhere' }),
        refused('invalid', /Job \d+ has no step nowhere. It has: only/),
      )
    })

    test('a step called as what every object has is a step like any other', async () => {
      const job = defineJob({ id: 'constructor', version: 1, parameters: none })
        .firstStep({ id: 'toString', output: z.number(), run: numbers(2) })
        .step({
          id: 'constructor',
          gated: true,
          concurrency: 1,
          output: z.number(),
          run: ({ data }, sink) => sink.accept(data),
        })
        .reducer({ id: 'valueOf', initial: () => 0, consume: (count) => count + 1 })
      await using stage = await Stage.open(kind, [job])
      const hold = await stage.control.hold({ machine: 'chunked_chunk' }, { reason: 'a test looks', owner: 'test' })
      const id = await stage.start(job, {})
      await stage.until(id, 'its start', ({ state }) => state === 'in_progress')
      const before = await stage.view(id)
      assert.deepEqual(
        before.steps.map(({ since }) => since),
        [before.startTime, null, null],
      )
      await stage.control.release(hold.id)
      const view = await stage.settled(id)
      assert.deepEqual([view.state, view.report], ['completed', 2])
    })
  })
}
