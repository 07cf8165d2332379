import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { z } from 'zod'
import { defineJob } from './define-job.ts'
import { etaOf, percentOf, type StepProgress } from './job-progress.ts'
import { done, fail } from './outcome.ts'
import { numbers, Stage } from './test/stage.ts'

const none = z.object({})

function progress(total: number, settled: number, weight: number | null = null): StepProgress {
  return {
    id: 's',
    kind: 'step',
    gated: false,
    phase: total === settled ? 'complete' : 'running',
    chunks: {},
    total,
    settled,
    failed: 0,
    records: 0,
    errors: 0,
    warnings: 0,
    since: 0,
    ratePerSecond: null,
    etaMs: 0,
    percent: total === 0 ? 0 : (settled / total) * 100,
    weight,
  }
}

describe('the percentage of a job', () => {
  test('without weights counts chunks', () => {
    assert.equal(percentOf([progress(1, 1), progress(9, 4)], false), 50)
  })

  test('weighted steps count by their weight, the others share the rest', () => {
    assert.equal(percentOf([progress(10, 5, 0.8), progress(4, 4), progress(4, 0)], false), 50)
    assert.equal(percentOf([progress(10, 10, 0.5), progress(100, 0, 0.5)], false), 50)
    // Weights alone are all there is, whether or not they add up to 1.
    assert.equal(percentOf([progress(10, 10, 0.1), progress(10, 0, 0.1)], false), 50)
  })

  test('is between 0 and 100, never 100 before the job is completed, and grows with what is settled', () => {
    const step = fc
      .record({
        total: fc.nat(1_000),
        share: fc.double({ min: 0, max: 1, noNaN: true }),
        weight: fc.option(fc.constant(0.2)),
      })
      .map(({ total, share, weight }) => progress(total, Math.floor(total * share), weight))
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 5 }), fc.nat(4), (steps, at) => {
        const percent = percentOf(steps, false)
        assert.ok(percent >= 0 && percent < 100, `${percent}`)
        assert.equal(percentOf(steps, true), 100)
        const chosen = steps[at % steps.length]!
        if (chosen.settled >= chosen.total) return
        const further = steps.map((one) => (one === chosen ? progress(one.total, one.settled + 1, one.weight) : one))
        assert.ok(percentOf(further, false) >= percent)
      }),
    )
  })

  test('the estimate is that of the steps that are not complete, and null if one cannot tell', () => {
    assert.equal(
      etaOf([
        { ...progress(2, 1), etaMs: 500 },
        { ...progress(2, 0), etaMs: 700 },
      ]),
      1_200,
    )
    assert.equal(
      etaOf([
        { ...progress(2, 1), etaMs: 500 },
        { ...progress(2, 0), etaMs: null },
      ]),
      null,
    )
    assert.equal(etaOf([{ ...progress(2, 2), etaMs: null }]), 0)
  })
})

describe('progress of a running job', () => {
  test('each step tells its chunks by state, records, rate and what is left; the job its share', async () => {
    const job = defineJob({ id: 'watched', version: 1, parameters: none })
      .firstStep({ id: 'first', output: z.number(), weight: 0.1, run: numbers(10) })
      .step({
        id: 'second',
        concurrency: 1,
        gated: true,
        output: z.number(),
        run: async ({ data }, sink) => {
          await kit.clock.sleep('10s')
          await sink.accept(data)
          if (data === 0) sink.warn('odd')
          return done(100)
        },
      })
      .step({ id: 'third', gated: true, weight: 0.3, output: z.number(), run: ({ data }, sink) => sink.accept(data) })
      .reducer({ id: 'report', initial: () => 0, consume: (count) => count + 1 })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const hold = await stage.control.hold({ machine: 'chunked_job' }, { reason: 'a test looks', owner: 'test' })
    const id = await stage.start(job, {})
    await kit.advance('5s')
    const before = await stage.view(id)
    assert.deepEqual(
      [before.state, before.percent, before.currentStep, before.startTime, before.recordsPerSecond],
      ['queued', 0, null, null, null],
    )
    assert.equal(before.etaMs, null, 'nobody can tell yet')
    assert.deepEqual(
      before.steps.map(({ phase, total }) => [phase, total]),
      Array.from({ length: 4 }, () => ['waiting', 0]),
    )
    await stage.control.release(hold.id)
    await kit.advance('45s')
    const view = await stage.view(id)
    assert.equal(view.state, 'in_progress')
    assert.equal(view.currentStep, 'second')
    const [first, second, third, report] = view.steps
    assert.deepEqual(
      [first?.phase, second?.phase, third?.phase, report?.phase],
      ['complete', 'running', 'waiting', 'waiting'],
    )
    assert.equal(second?.settled, 4)
    assert.deepEqual(second?.chunks, { ready: 5, in_progress: 1, completed: 4 })
    assert.deepEqual(third?.chunks, { gate_waiting: 4 })
    assert.deepEqual([second?.records, second?.warnings, view.records, view.warningCount], [400, 1, 400, 1])
    assert.equal(second?.percent, 40)
    assert.ok(second!.ratePerSecond! > 0.08 && second!.ratePerSecond! < 0.11, `${second?.ratePerSecond}`)
    assert.ok(second!.etaMs! > 50_000 && second!.etaMs! < 80_000, `${second?.etaMs}`)
    assert.ok(view.recordsPerSecond! > 8 && view.recordsPerSecond! < 11)
    // A tenth for the first step, and four tenths of the unweighted rest of sixty.
    assert.equal(view.percent, 34)
    const { percent, etaMs } = await stage.control.progress(id)
    assert.deepEqual([percent, etaMs], [view.percent, view.etaMs])
    let last = view.percent
    for (const _ of Array.from({ length: 8 })) {
      await kit.advance('9s')
      const { percent } = await stage.view(id)
      assert.ok(percent >= last)
      last = percent
    }
    await kit.drain()
    const end = await stage.view(id)
    assert.deepEqual([end.state, end.percent, end.etaMs, end.currentStep], ['completed', 100, 0, null])
    assert.deepEqual(
      end.steps.map(({ phase, percent }) => [phase, percent]),
      Array.from({ length: 4 }, () => ['complete', 100]),
    )
    const frozen = end.steps.map(({ ratePerSecond }) => ratePerSecond)
    await kit.advance('1h')
    assert.deepEqual(
      (await stage.view(id)).steps.map(({ ratePerSecond }) => ratePerSecond),
      frozen,
      'figures of a job that has ended do not change',
    )
  })

  test('a failed job is not 100 per cent, and its failed chunks are told by step and reason', async () => {
    const job = defineJob({ id: 'failed', version: 1, parameters: none })
      .firstStep({ id: 'first', output: z.number(), run: numbers(4) })
      .step({ id: 'second', run: ({ data }) => fail(data % 2 === 0 ? 'even' : 'odd') })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const id = await stage.start(job, {})
    await kit.drain()
    const view = await stage.view(id)
    // One of five: failed chunks are not done.
    assert.equal(view.percent, 20)
    assert.equal((await stage.control.progress(id)).percent, 20, 'the same figure everywhere')
    assert.equal(view.steps[1]?.percent, 0)
    assert.deepEqual(view.chunks, { total: 5, settled: 5, failed: 4 })
    assert.deepEqual(view.reasons, { even: 2, odd: 2 })
    assert.equal(view.steps[1]?.errors, 4)
    assert.equal(view.etaMs, 0)
  })
})
