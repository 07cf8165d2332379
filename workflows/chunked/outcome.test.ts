import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Lane, View } from 'sluice'
import { z } from 'zod'
import { defineJob } from './define-job.ts'
import { planOf } from './definitions.ts'
import type { JobData, Tolerance } from './job-data.ts'
import { jobCriteria } from './job-rules.ts'
import { judgeJob } from './judgement.ts'
import { done, fail, retry } from './outcome.ts'
import { gateOf, numbers, range, Stage, soon, storeKinds } from './test/stage.ts'

const none = z.object({})

/** A job with so many steps, some of them gated, as it is while it runs. */
function jobData(steps: number, isReducing: boolean, tolerance: Tolerance, current: number, seen: number): JobData {
  let definition = defineJob({ id: 'judged', version: 1, parameters: none, tolerance }).firstStep({
    id: 's0',
    output: z.number(),
    run: () => {},
  })
  for (const index of range(steps).slice(1))
    definition = definition.step({ id: `s${index}`, gated: index % 2 === 0, output: z.number(), run: () => {} })
  const reduced = definition.reducer({ id: 'report', initial: () => 0, consume: () => 0 })
  return {
    definition: 'judged',
    version: 1,
    parameters: {},
    plan: planOf(isReducing ? reduced : definition),
    attachments: [],
    attachmentFolder: null,
    currentStep: `s${Math.min(current, steps - 1)}`,
    startTime: 0,
    endTime: null,
    stepTimes: {},
    toleratedFailures: seen,
    errorMessage: null,
    report: null,
    rerun: null,
    handler: null,
    collection: null,
  }
}

const laneOf = fc
  .record({
    ready: fc.nat(3),
    gate_waiting: fc.nat(2),
    poll_waiting: fc.nat(2),
    in_progress: fc.nat(2),
    error: fc.nat(2),
    completed: fc.nat(5),
    failed: fc.nat(3),
    more: fc.nat(3),
  })
  .map(({ more, ...counts }) => {
    const { completed, failed, ...waiting } = counts
    const open = Object.values(waiting).reduce((sum, count) => sum + count, 0)
    const errors = counts.error + failed + more
    return {
      parent: 1,
      machine: 'chunked_chunk',
      version: 1,
      counts: Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)),
      total: open + completed + failed,
      open,
      reasons: {},
      sums: errors > 0 ? { errors } : {},
      wake: 0,
      seen: 0,
      watches: [],
      entered: [],
      gate: 'shut',
      status: 'going',
    } satisfies Omit<Lane, 'name'>
  })

const situation = fc.record({
  lanes: fc.array(fc.option(laneOf), { minLength: 1, maxLength: 5 }),
  isReducing: fc.boolean(),
  isErrored: fc.boolean(),
  tolerance: fc.oneof(
    fc.record({ failures: fc.nat(4) }),
    fc.record({ percent: fc.integer({ min: 0, max: 100 }) }),
  ) as fc.Arbitrary<Tolerance>,
  current: fc.nat(4),
  seen: fc.nat(4),
})

type Situation = typeof situation extends fc.Arbitrary<infer T> ? T : never

function situated({ lanes, isReducing, tolerance, current, seen }: Situation) {
  const named = lanes.flatMap((lane, index) => (lane === null ? [] : [{ ...lane, name: `s${index}` }]))
  return { data: jobData(lanes.length, isReducing, tolerance, current, seen), lanes: named as readonly Lane[] }
}

function judged(data: JobData, lanes: readonly Lane[], isErrored: boolean) {
  const state = isErrored ? 'errored' : 'in_progress'
  const view = { data, state } as View<JobData>
  const facts = { lanes } as Parameters<typeof jobCriteria.AllComplete>[1]
  return Object.entries(jobCriteria)
    .filter(([name]) => !name.startsWith('Reducer'))
    .filter(([, criterion]) => criterion(view, facts) === true)
    .map(([name]) => name)
}

describe('A7: what becomes of a job is a function of its chunks', () => {
  test('total and exclusive: at most one edge can be taken, and none only while there is work to wait for', () => {
    fc.assert(
      fc.property(situation, (given) => {
        const { data, lanes } = situated(given)
        const holding = judged(data, lanes, given.isErrored)
        assert.ok(holding.length <= 1, holding.join(', '))
        const open = lanes.reduce((sum, lane) => sum + lane.open, 0)
        if (holding.length === 0) assert.ok(open > 0, 'a job that waits has something to wait for')
      }),
    )
  })

  test('failed beyond the tolerance, and only then; complete or reduced only without open chunks', () => {
    fc.assert(
      fc.property(situation, (given) => {
        const { data, lanes } = situated(given)
        const { kind } = judgeJob(data, given.isErrored, lanes)
        const failures = lanes.reduce((sum, lane) => sum + (lane.counts.failed ?? 0), 0)
        const open = lanes.reduce((sum, lane) => sum + lane.open, 0)
        if (failures === 0) assert.notEqual(kind, 'failed')
        if ('failures' in given.tolerance) assert.equal(kind === 'failed', failures > given.tolerance.failures)
        else {
          const shares = lanes.map((lane) => ((lane.counts.failed ?? 0) * 100) / Math.max(1, lane.total))
          if (kind === 'failed') assert.ok(Math.max(...shares) > given.tolerance.percent)
          // Once nothing is open every step is judged.
          if (open === 0) assert.equal(kind === 'failed', Math.max(0, ...shares) > given.tolerance.percent)
        }
        if (kind === 'complete' || kind === 'reduce') assert.equal(open, 0)
        if (kind === 'complete') assert.equal(given.isReducing, false)
        if (kind === 'reduce') assert.equal(given.isReducing, true)
        if (kind === 'errored') assert.equal(given.isErrored, false)
      }),
    )
  })

  test('a step is reached only when no chunk before it is open, and never goes back', () => {
    fc.assert(
      fc.property(situation, (given) => {
        const { data, lanes } = situated(given)
        const judgement = judgeJob(data, given.isErrored, lanes)
        if (judgement.kind !== 'advance') return
        const place = data.plan.steps.findIndex(({ id }) => id === data.currentStep)
        assert.ok(judgement.to > place)
        const openIn = (index: number) => lanes.find(({ name }) => name === `s${index}`)?.open ?? 0
        assert.ok(openIn(judgement.to) > 0)
        assert.deepEqual(range(judgement.to).map(openIn), range(judgement.to).fill(0))
      }),
    )
  })

  test('does not depend on the order of the lanes, and comes to rest after a few edges', () => {
    fc.assert(
      fc.property(situation, (given) => {
        const { data, lanes } = situated(given)
        assert.deepEqual(judgeJob(data, given.isErrored, [...lanes].reverse()), judgeJob(data, given.isErrored, lanes))
        let [now, isErrored] = [data, given.isErrored]
        for (const _ of range(5)) {
          const judgement = judgeJob(now, isErrored, lanes)
          if (judgement.kind === 'errored') isErrored = true
          else if (judgement.kind === 'advance') now = { ...now, currentStep: `s${judgement.to}` }
          else if (judgement.kind === 'tolerate') now = { ...now, toleratedFailures: judgement.failures }
          else return
        }
        assert.fail('it goes round in circles')
      }),
    )
  })
})

for (const kind of storeKinds) {
  describe(`the outcome of a job, ${kind}`, () => {
    test('D1: an error makes it errored, one-way; with all chunks completed it is completed', async () => {
      const erred = gateOf()
      const job = defineJob({ id: 'errors', version: 1, parameters: none })
        .firstStep({ id: 'first', output: z.number(), run: numbers(2) })
        .step({
          id: 'second',
          retry: soon,
          run: async ({ data, attempt }) => {
            if (data === 1 && attempt < 3) return retry(`error ${attempt}`)
            await erred.passed
            return done()
          },
        })
      await using stage = await Stage.open(kind, [job])
      const id = await stage.start(job, {})
      await stage.until(id, 'the error', ({ state }) => state === 'errored')
      erred.open()
      const view = await stage.settled(id)
      assert.deepEqual([view.state, view.errorCount, view.errorMessage], ['completed', 2, null])
      const path = await stage.path(id)
      assert.ok(!path.slice(path.indexOf('errored')).includes('in_progress'), 'A9: errored is a one-way trip')
      const erring = (await stage.chunks(id, 'second')).find(({ data }) => data === 1)
      assert.deepEqual([erring?.errorCount, erring?.errorMessage], [2, 'error 2'])
    })

    test('A4: too many errors fail the chunk, and the chunk its job', async () => {
      let runs = 0
      const job = defineJob({ id: 'limit', version: 1, parameters: none }).firstStep({
        id: 'only',
        retry: soon,
        run: () => {
          runs += 1
          throw new Error(`error ${runs}`)
        },
      })
      await using stage = await Stage.open(kind, [job])
      const view = await stage.run(job, {})
      assert.deepEqual([view.state, view.errorCount, runs], ['failed', 4, 4])
      assert.match(
        view.errorMessage!,
        /1 of 1 chunk of step only failed: error thrown, attempts spent \(chunk \d+: After 4 of 4 attempts: error 4\)/,
      )
      assert.ok(view.endTime)
      const [chunk] = await stage.chunks(view.id)
      assert.equal((await stage.path(chunk!.id)).filter((state) => state === 'error').length, 3)
    })

    test('D2: a failed job sends nothing any more; what runs may finish, and counts', async () => {
      const running = gateOf()
      const begun: number[] = []
      const job = defineJob({ id: 'failing', version: 1, parameters: none })
        .firstStep({ id: 'first', output: z.number(), run: numbers(50) })
        .step({
          id: 'second',
          concurrency: 4,
          output: z.number(),
          run: async ({ data }, sink) => {
            begun.push(data)
            if (data === begun[3]) return fail('broken')
            await running.passed
            await sink.accept(data)
            return done(1)
          },
        })
        .step({
          id: 'third',
          run: () => {
            begun.push(-1)
          },
        })
      await using stage = await Stage.open(kind, [job])
      const id = await stage.start(job, {})
      assert.equal((await stage.settled(id)).state, 'failed')
      const started = [...begun]
      const survivors = (await stage.chunks(id, 'second')).filter(({ state }) => state === 'in_progress')
      assert.ok(survivors.length >= 3)
      running.open()
      for (const { id } of survivors) await stage.until(id, 'its end', ({ state }) => state === 'completed')
      const view = await stage.view(id)
      assert.equal(view.records, survivors.length)
      const { completed, failed, ...waiting } = view.steps[1]!.chunks
      assert.deepEqual([completed, failed], [survivors.length, 1])
      assert.deepEqual(Object.keys(waiting), ['ready'])
      assert.deepEqual(view.steps[2]?.chunks, { ready: survivors.length }, 'what they gave out is there, and rests')
      assert.deepEqual(begun, started, 'nothing was started any more')
      const [resting] = await stage.chunks(id, 'third')
      const explained = await stage.control.explain(resting!.id)
      assert.equal(explained.kind, 'parent_ended', explained.sentence)
      assert.deepEqual(await stage.drift(id), [])
    })

    const shares = [
      { tolerance: { failures: 2 }, failing: 2, state: 'completed' },
      { tolerance: { failures: 2 }, failing: 3, state: 'failed' },
      { tolerance: { percent: 20 }, failing: 2, state: 'completed' },
      { tolerance: { percent: 20 }, failing: 3, state: 'failed' },
      { tolerance: { percent: 100 }, failing: 10, state: 'completed' },
      { tolerance: { percent: 0 }, failing: 1, state: 'failed' },
    ] as const
    for (const { tolerance, failing, state } of shares) {
      test(`${failing} of 10 failed, ${JSON.stringify(tolerance)} tolerated: ${state}`, async () => {
        const job = defineJob({ id: 'tolerant', version: 1, parameters: none, tolerance })
          .firstStep({ id: 'first', output: z.number(), run: numbers(10) })
          .step({
            id: 'second',
            output: z.number(),
            run: ({ data }, sink) => (data < failing ? fail('broken') : sink.accept(data)),
          })
          .reducer({ id: 'report', initial: () => 0, consume: (count) => count + 1 })
        await using stage = await Stage.open(kind, [job])
        const view = await stage.run(job, {})
        assert.equal(view.state, state, view.errorMessage ?? '')
        if (state === 'completed') {
          assert.equal(view.report, 10 - failing)
          assert.deepEqual(view.reasons, { broken: failing })
          assert.equal(view.errorCount, failing)
          assert.ok((await stage.path(view.id)).includes('errored'))
        } else assert.match(view.errorMessage!, /chunks of step second failed: broken/)
        assert.deepEqual(await stage.drift(view.id), [])
      })
    }

    test('failures that come one after another are each seen: the one too many ends the job at once', async () => {
      const begun: number[] = []
      const job = defineJob({ id: 'slowly', version: 1, parameters: none, tolerance: { failures: 3 } })
        .firstStep({ id: 'first', output: z.number(), run: numbers(30) })
        .step({
          id: 'second',
          concurrency: 1,
          run: async ({ data }) => {
            begun.push(data)
            return fail('broken')
          },
        })
      await using stage = await Stage.open(kind, [job], { engineLimits: { claimMax: 1 } })
      const view = await stage.run(job, {})
      assert.equal(view.state, 'failed')
      assert.ok(begun.length < 30, `${begun.length} of 30 were tried`)
      assert.equal((await stage.history(view.id)).at(-1), 'fail_on_chunks')
    })
  })
}
