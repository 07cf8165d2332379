import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { z } from 'zod'
import { defineJob } from './define-job.ts'
import { retryLater } from './outcome.ts'
import { gateOf, numbers, range, Stage, storeKinds } from './test/stage.ts'

const none = z.object({})

for (const kind of storeKinds) {
  describe(`gates, ${kind}`, () => {
    test('nothing of a gated step starts before the steps before it are complete; its chunks wait untouched', async () => {
      const last = gateOf()
      const look = gateOf()
      const running = gateOf()
      const begun: string[] = []
      const job = defineJob({ id: 'gated', version: 1, parameters: none })
        .firstStep({
          id: 'a',
          output: z.number(),
          run: async (_, sink) => {
            await sink.acceptFor('c', 99)
            await numbers(6)(null, sink)
          },
        })
        .step({
          id: 'b',
          output: z.number(),
          run: async ({ data }, sink) => {
            begun.push('b')
            if (data === 0) await last.passed
            await sink.accept(data)
          },
        })
        .step({
          id: 'c',
          gated: true,
          concurrency: 1,
          run: async () => {
            begun.push('c')
            running.open()
            await look.passed
          },
        })
      await using stage = await Stage.open(kind, [job])
      const id = await stage.start(job, {})
      for (const { id: chunk, data } of await stage.chunks(id, 'b'))
        if (data !== 0) await stage.control.settled(chunk, 10_000)
      await stage.until(id, 'the second step', ({ data }) => (data as { currentStep: string }).currentStep === 'b')
      // Five of six have completed, and given out.
      const b = await stage.chunks(id, 'b')
      await Promise.all(b.filter(({ data }) => data !== 0).map((chunk) => stage.control.settled(chunk.id, 10_000)))
      assert.deepEqual(await stage.counts(id, 'c'), { gate_waiting: 6 })
      const waiting = await stage.chunks(id, 'c')
      assert.deepEqual(
        waiting.map(({ state }) => state),
        waiting.map(() => 'gate_waiting'),
      )
      const explained = await stage.control.explain(waiting[0]!.id)
      assert.equal(explained.kind, 'gated', explained.sentence)
      assert.ok(!begun.includes('c'))

      last.open()
      const opened = await stage.until(
        id,
        'the gate',
        ({ data }) => (data as { currentStep: string }).currentStep === 'c',
      )
      assert.equal(opened.state, 'in_progress')
      await running.passed
      // One of them runs. The rest is shown as ready, though their rows are what they were.
      const shown = await stage.chunks(id, 'c')
      const resting = shown.filter(({ state }) => state === 'ready')
      assert.ok(resting.length >= 6, `${resting.length} of ${shown.length} are shown as ready`)
      for (const chunk of resting) {
        const { state, seq } = await stage.control.get(chunk.id)
        assert.deepEqual([state, seq], ['gate_waiting', 0], 'nobody wrote its row')
        assert.deepEqual(await stage.path(chunk.id), ['gate_waiting'])
      }
      const { ready = 0, gate_waiting = 0 } = await stage.counts(id, 'c')
      assert.ok(ready >= 6)
      const listed = await stage.chunked.chunks(stage.control, id, { step: 'c', states: ['ready'] })
      assert.ok(listed.chunks.length >= 6, 'what is shown as ready is found as ready')
      assert.equal(gate_waiting, 0)
      look.open()
      const view = await stage.settled(id)
      assert.equal(view.state, 'completed')
      assert.equal(view.steps[2]?.total, 7)
      const chunk = await stage.control.history(resting[0]!.id)
      assert.deepEqual(
        chunk.map(({ to }) => to),
        ['gate_waiting', 'ready', 'queued', 'in_progress', 'completed'],
      )
      assert.deepEqual(await stage.drift(id), [])
    })

    test('a gate stays shut while a chunk of the step before is tried again', async () => {
      const done: string[] = []
      const job = defineJob({ id: 'erring', version: 1, parameters: none })
        .firstStep({ id: 'a', output: z.number(), run: numbers(3) })
        .step({
          id: 'b',
          output: z.number(),
          retry: { backoff: { firstMs: 30, maxMs: 30 } },
          run: async ({ data, attempt }, sink) => {
            if (data === 1 && attempt < 3) throw new Error('again')
            await sink.accept(data)
            done.push('b')
          },
        })
        .step({
          id: 'c',
          gated: true,
          run: () => {
            done.push('c')
          },
        })
      await using stage = await Stage.open(kind, [job])
      const view = await stage.run(job, {})
      assert.equal(view.state, 'completed')
      assert.deepEqual(done, ['b', 'b', 'b', 'c', 'c', 'c'])
      const path = await stage.path(view.id)
      assert.deepEqual(
        new Set(path.slice(path.indexOf('errored'))),
        new Set(['errored', 'completed']),
        'a one-way trip',
      )
    })

    test('a gate stays shut while a chunk of the step before polls', async () => {
      const done: string[] = []
      const job = defineJob({ id: 'polling', version: 1, parameters: none })
        .firstStep({ id: 'a', output: z.number(), run: numbers(2) })
        .step({
          id: 'b',
          polling: { everyMs: 10 },
          output: z.number(),
          run: async ({ data, chunk }, sink) => {
            if (data === 1 && chunk.pollAttempts < 2) return retryLater()
            done.push('b')
            return sink.accept(data)
          },
        })
        .step({
          id: 'c',
          gated: true,
          run: () => {
            done.push('c')
          },
        })
      await using stage = await Stage.open(kind, [job])
      assert.equal((await stage.run(job, {})).state, 'completed')
      assert.deepEqual(done, ['b', 'b', 'c', 'c'])
    })

    test('gated and other steps mix: what is not gated runs as soon as it is there', async () => {
      const slow = gateOf()
      const early = gateOf()
      const done: string[] = []
      const job = defineJob({ id: 'mixed', version: 1, parameters: none })
        .firstStep({ id: 'a', output: z.number(), run: numbers(2) })
        .step({
          id: 'b',
          gated: true,
          output: z.number(),
          run: async ({ data }, sink) => {
            if (data === 0) await slow.passed
            await sink.accept(data)
            done.push(`b${data}`)
          },
        })
        .step({
          id: 'c',
          output: z.number(),
          run: async ({ data }, sink) => {
            await sink.accept(data)
            done.push(`c${data}`)
            if (data === 1) early.open()
          },
        })
        .step({
          id: 'd',
          gated: true,
          run: ({ data }) => {
            done.push(`d${data}`)
          },
        })
      await using stage = await Stage.open(kind, [job])
      const id = await stage.start(job, {})
      await early.passed
      assert.deepEqual(done, ['b1', 'c1'], 'c does not wait for b; d does')
      slow.open()
      assert.equal((await stage.settled(id)).state, 'completed')
      assert.deepEqual(done.slice(2, 4), ['b0', 'c0'])
      assert.deepEqual(done.slice(4).sort(), ['d0', 'd1'])
    })

    test('a large fan-out behind a gate opens with one row of the job', async () => {
      const job = defineJob({ id: 'large', version: 1, parameters: none })
        .firstStep({ id: 'a', output: z.number(), run: numbers(2_500) })
        .step({ id: 'b', gated: true, run: () => {} })
      await using stage = await Stage.open(kind, [job])
      const view = await stage.run(job, {})
      assert.deepEqual([view.state, view.chunks.total], ['completed', 2_501])
      assert.deepEqual(await stage.history(view.id), ['create', 'start', 'advance', 'complete'])
      assert.deepEqual(await stage.drift(view.id), [])
    })
  })
}

describe('A1, over the history of many small jobs', () => {
  test('a chunk of a gated step starts only after all chunks of earlier steps have ended', async () => {
    const job = defineJob({ id: 'random', version: 1, parameters: z.object({ seed: z.number() }) })
      .firstStep({
        id: 's0',
        output: z.number(),
        run: async ({ parameters }, sink) => {
          for (const number of range(parameters.seed % 5)) {
            await sink.accept(number)
            if (number % 2 === 0) await sink.acceptFor('s2', number)
            if (number % 3 === 0) await sink.acceptFor('s3', number)
          }
        },
      })
      .step({
        id: 's1',
        gated: true,
        output: z.number(),
        run: async ({ data, attempt, parameters }, sink) => {
          if (attempt === 1 && (data + parameters.seed) % 3 === 0) throw new Error('once')
          await sink.accept(data)
        },
      })
      .step({
        id: 's2',
        output: z.number(),
        run: async ({ data, chunk }, sink) => {
          if (data === 1 && chunk.pollAttempts < 2) return retryLater(5_000)
          return sink.accept(data)
        },
      })
      .step({ id: 's3', gated: true, run: () => {} })
    const { stage, kit } = await Stage.kit([job], { engines: 2 })
    await using _ = stage
    const ids = await Promise.all(range(12).map((seed) => stage.start(job, { seed })))
    await kit.drain()
    for (const id of ids) {
      const chunks = await stage.chunks(id)
      const times = await Promise.all(
        chunks.map(async (chunk) => {
          const events = await stage.control.history(chunk.id)
          const started = events.filter(({ to }) => to === 'in_progress').map(({ at }) => at)
          return { step: chunk.step, first: Math.min(...started), end: events.at(-1)!.at }
        }),
      )
      for (const { step, first } of times.filter(({ step }) => step === 's1' || step === 's3')) {
        const before = times.filter((other) => other.step < step).map(({ end }) => end)
        assert.ok(first >= Math.max(...before), `job ${id}: a chunk of ${step} started too early`)
      }
      assert.equal((await stage.view(id)).state, 'completed')
      assert.deepEqual(await stage.drift(id), [])
    }
  })
})
