import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { explore } from 'sluice/testing'
import { z } from 'zod'
import { openChunked } from './chunked.ts'
import { defineJob } from './define-job.ts'
import { fail, failWithReport, retry } from './outcome.ts'
import type { Reducer } from './step.ts'
import { gateOf, numbers, range, Stage, soon, storeKinds } from './test/stage.ts'

const none = z.object({})

type Folding = Partial<Reducer<object, number, unknown, unknown>>

/** A job of a few chunks with this reducer. */
function reducing(reducer: Folding, count = 3) {
  return defineJob({ id: 'reducing', version: 1, parameters: none })
    .firstStep({ id: 'first', output: z.number(), run: numbers(count) })
    .step({ id: 'last', gated: true, output: z.number(), run: ({ data }, sink) => sink.accept(data) })
    .reducer({
      id: 'report',
      retry: soon,
      initial: () => [] as unknown,
      consume: (all, one) => [...(all as number[]), one] as unknown,
      ...reducer,
    })
}

for (const kind of storeKinds) {
  describe(`the reducer, ${kind}`, () => {
    test('D5: is one REDUCER chunk, leased, retried and completed like any other', async () => {
      let runs = 0
      const job = reducing({
        report: (all) => {
          runs += 1
          if (runs < 3) throw new Error('not yet')
          return all
        },
      })
      await using stage = await Stage.open(kind, [job])
      const view = await stage.run(job, {})
      assert.deepEqual([view.state, view.report, view.errorCount], ['completed', [0, 1, 2], 2])
      const chunks = await stage.chunks(view.id, 'report')
      assert.equal(chunks.length, 1)
      assert.deepEqual([chunks[0]?.kind, chunks[0]?.state], ['REDUCER', 'completed'])
      assert.deepEqual(await stage.path(chunks[0]!.id), [
        'ready',
        'queued',
        ...range(2).flatMap(() => ['in_progress', 'error']),
        'in_progress',
        'completed',
      ])
      const path = await stage.path(view.id)
      assert.equal(path.filter((state) => state === 'finalize').length, 1, 'A8: finalize is entered once')
      assert.deepEqual(await stage.drift(view.id), [])
    })

    test('may fail with a report: the job is failed and carries it, and its handler is told', async () => {
      const told: unknown[] = []
      const job = reducing({
        report: (all) => {
          throw failWithReport({ taken: all }, 'too few', 'Three are not enough.')
        },
      })
      const telling = { ...job, onFailed: (ending: { readonly report: unknown }) => void told.push(ending.report) }
      await using stage = await Stage.open(kind, [telling])
      const view = await stage.run(telling, {})
      assert.deepEqual([view.state, view.report], ['failed', { taken: [0, 1, 2] }])
      assert.match(view.errorMessage ?? '', /The reducer report failed: too few.*Three are not enough/)
      assert.deepEqual(view.reasons, { 'too few': 1 })
      await stage.until(view.id, 'the handler is told', ({ request }) => request === null)
      assert.deepEqual(told, [{ taken: [0, 1, 2] }])
    })

    test('takes in each output once, in the order of source and ordinal, whatever order they were made in', async () => {
      const slow = gateOf()
      const job = defineJob({ id: 'order', version: 1, parameters: none })
        .firstStep({
          id: 'first',
          output: z.number(),
          run: async (_, sink) => {
            await sink.acceptFor('last', 100)
            for (const number of range(120)) await sink.accept(number)
            await sink.acceptFor('last', 101)
          },
        })
        .step({
          id: 'middle',
          output: z.number(),
          run: async ({ data }, sink) => {
            if (data === 0) await slow.passed
            for (const part of range(data % 3)) await sink.accept(data * 1_000 + part)
            if (data === 119) slow.open()
          },
        })
        .step({
          id: 'last',
          output: z.number(),
          run: async ({ data }, sink) => {
            await sink.accept(data)
            await sink.accept(-data)
          },
        })
        .reducer({ id: 'report', initial: () => [] as number[], consume: (all, one) => [...all, one] })
      await using stage = await Stage.open(kind, [job])
      const view = await stage.run(job, {})
      assert.equal(view.state, 'completed')
      const parts = range(120).flatMap((number) => range(number % 3).map((part) => number * 1_000 + part))
      assert.deepEqual(
        view.report,
        [100, 101, ...parts].flatMap((number) => [number, -number]),
        'what the first step gave comes first, in its order; then that of each middle chunk, in theirs',
      )
    })

    const failing: readonly (readonly [string, Folding, RegExp])[] = [
      [
        'consume throws in all attempts',
        {
          consume: () => {
            throw new Error('bad output')
          },
        },
        /The reducer report failed: .*bad output/,
      ],
      [
        'consume says fail',
        {
          consume: () => {
            throw fail('bad output', 'at once')
          },
        },
        /The reducer report failed: bad output/,
      ],
      ['consume rejects', { consume: () => Promise.reject('text only') }, /The reducer report failed: .*text only/],
      [
        'initial throws',
        {
          initial: () => {
            throw new Error('no beginning')
          },
        },
        /The reducer report failed: .*no beginning/,
      ],
      [
        'report throws',
        {
          report: () => {
            throw new Error('no report')
          },
        },
        /The reducer report failed: .*no report/,
      ],
      [
        'report says retry for ever',
        {
          report: () => {
            throw retry('again', 1)
          },
        },
        /The reducer report failed: .*again/,
      ],
      ['the report is too big', { report: () => 'r'.repeat(300_000) }, /The reducer report failed: .*300\d+ bytes/],
      ['the report is no data', { report: () => ({ big: 1n }) }, /The reducer report failed: .*BigInt/],
      ['the accumulator is too big', { consume: () => 'a'.repeat(300_000) }, /The reducer report failed: /],
      ['the accumulator is no data', { consume: () => ({ big: 1n }) }, /The reducer report failed: /],
      ['the report never comes', { report: () => new Promise(() => {}), timeoutMs: 20 }, /The reducer report failed/],
    ]
    for (const [what, reducer, message] of failing) {
      test(`D14: ${what}: the job fails and says so`, async () => {
        const job = reducing({ retry: { ...soon, attemptsMax: 2 }, ...reducer })
        await using stage = await Stage.open(kind, [job], { limits: { reduceEvery: 1 }, engineLimits: { drainMs: 50 } })
        const view = await stage.run(job, {})
        assert.equal(view.state, 'failed')
        assert.match(view.errorMessage!, message)
        assert.equal(view.report, null)
        assert.equal(view.steps.at(-1)?.failed, 1)
        assert.deepEqual(await stage.drift(view.id), [])
      })
    }

    test('parameters and report that together do not fit into the job: the job fails and says so', async () => {
      const job = defineJob({ id: 'big', version: 1, parameters: z.object({ text: z.string() }) })
        .firstStep({ id: 'first', output: z.number(), run: numbers(1) })
        .reducer({ id: 'report', initial: () => 0, consume: () => 0, report: () => 'r'.repeat(150_000) })
      await using stage = await Stage.open(kind, [job])
      const view = await stage.run(job, { text: 't'.repeat(150_000) })
      assert.equal(view.state, 'failed')
      assert.match(view.errorMessage!, /Data of chunked_job has \d+ bytes/)
      assert.deepEqual((await stage.history(view.id)).slice(-2), ['finalize', 'give_up'])
    })

    test('cancelled while it reduces, the signal reaches it, and there is no report', async () => {
      const begun = gateOf()
      const aborted = gateOf()
      const job = reducing({
        report: async (all, { signal }) => {
          signal.addEventListener('abort', () => aborted.open())
          begun.open()
          await aborted.passed
          return all
        },
      })
      await using stage = await Stage.open(kind, [job])
      const id = await stage.start(job, {})
      await begun.passed
      assert.equal((await stage.view(id)).state, 'finalize')
      await stage.chunked.cancel(stage.control, id, { actor: 'ada' })
      await aborted.passed
      const view = await stage.settled(id)
      assert.deepEqual([view.state, view.report], ['cancelled', null])
      assert.equal(view.errorMessage, 'Job instance cancelled by ada while running step report')
      const [chunk] = await stage.chunks(id, 'report')
      assert.notEqual(chunk?.state, 'completed')
    })
  })
}

describe('a reduction that is interrupted', () => {
  test('at every point: each output is taken in once, and the report is one', async () => {
    const job = reducing({}, 6)
    const limits = { reduceEvery: 2 }
    const family = openChunked({ definitions: [job], limits })
    const { points } = await explore({
      implementations: () => openChunked({ definitions: [job], limits }).implementations,
      start: (control) => family.start(control, job, {}),
      check: async (control) => {
        const [line] = (await family.jobs(control)).jobs
        const view = await family.job(control, line!.id)
        assert.deepEqual([view.state, view.report], ['completed', range(6)])
        const { entities } = await control.list({ parent: view.id, lane: 'report' })
        assert.equal(entities.length, 1)
      },
      zombies: true,
      pairs: 10,
      maxPoints: 60,
    })
    assert.ok(points > 20, `${points} points`)
  })

  test('goes on where it was saved, also behind its first pages', async () => {
    let crash = () => {}
    let consumed = 0
    const job = defineJob({ id: 'long', version: 1, parameters: none })
      .firstStep({ id: 'first', output: z.number(), run: numbers(600) })
      .step({
        id: 'middle',
        output: z.number(),
        run: async ({ data }, sink) => {
          for (const part of range(3)) await sink.accept(data * 10 + part)
        },
      })
      .step({ id: 'last', output: z.number(), run: ({ data }, sink) => sink.accept(data) })
      .reducer({
        id: 'report',
        initial: () => [] as number[],
        consume: (all, one, { count }) => {
          consumed += 1
          if (count === 1_300) crash()
          return [...all, one]
        },
      })
    const { stage, kit } = await Stage.kit([job], { limits: { reduceEvery: 500 } })
    await using _ = stage
    crash = () => {
      crash = () => {}
      kit.crash()
    }
    const id = await stage.start(job, {})
    await kit.drain().catch(() => {})
    assert.equal((await stage.view(id)).state, 'finalize')
    await kit.restart()
    await kit.drain()
    const view = await stage.view(id)
    const all = range(600).flatMap((number) => range(3).map((part) => number * 10 + part))
    assert.deepEqual([view.state, view.report], ['completed', all])
    assert.ok(consumed < 2 * all.length, 'a crash costs what came after the last checkpoint, not all')
  })

  test('memory that a reducer keeps in its closure is not what the report is made of', async () => {
    // Two jobs of one definition reduce at the same time, in one process.
    const job = defineJob({ id: 'two', version: 1, parameters: z.object({ n: z.number() }) })
      .firstStep({ id: 'first', output: z.number(), run: ({ parameters }, sink) => numbers(parameters.n)(null, sink) })
      .step({ id: 'last', output: z.number(), run: ({ data }, sink) => sink.accept(data) })
      .reducer({
        id: 'report',
        initial: ({ parameters }) => ({ n: parameters.n, seen: 0 }),
        consume: async ({ n, seen }) => ({ n, seen: seen + 1 }),
      })
    const { stage, kit } = await Stage.kit([job], { engines: 2 })
    await using _ = stage
    const ids = await Promise.all(range(6).map((n) => stage.start(job, { n })))
    await kit.drain()
    for (const [n, id] of ids.entries()) assert.deepEqual((await stage.view(id)).report, { n, seen: n })
  })
})
