import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { explore } from 'sluice/testing'
import { z } from 'zod'
import { openChunked } from './chunked.ts'
import { defineJob } from './define-job.ts'
import { done, fail } from './outcome.ts'
import { numbers, range, refused, Stage, storeKinds } from './test/stage.ts'

const none = z.object({})

for (const kind of storeKinds) {
  describe(`rerun, ${kind}`, () => {
    test('runs the failed chunks again, and nothing else; the job goes on from there in a new generation', async () => {
      let isMended = false
      const runs: string[] = []
      const keys = new Set<string>()
      const job = defineJob({ id: 'again', version: 1, parameters: none })
        .firstStep({
          id: 'first',
          output: z.number(),
          run: async (_, sink) => {
            runs.push('first')
            await numbers(5)(null, sink)
          },
        })
        .step({
          id: 'second',
          output: z.number(),
          run: async ({ data, idempotencyKey }, sink) => {
            runs.push(`second ${data}`)
            if (data === 3) keys.add(idempotencyKey)
            if (data === 3 && !isMended) return fail('broken', 'until it is mended')
            return sink.accept(data)
          },
        })
        .step({
          id: 'third',
          gated: true,
          output: z.number(),
          run: async ({ data }, sink) => {
            runs.push(`third ${data}`)
            await sink.accept(data)
          },
        })
        .reducer({ id: 'report', initial: () => [] as number[], consume: (all, one) => [...all, one] })
      await using stage = await Stage.open(kind, [job])
      const id = await stage.start(job, {})
      const before = await stage.settled(id)
      assert.deepEqual([before.state, before.generation], ['failed', 0])
      const failedBefore = (await stage.chunks(id, 'second')).find(({ state }) => state === 'failed')
      assert.deepEqual([failedBefore?.reason, failedBefore?.errorMessage], ['broken', 'until it is mended'])
      isMended = true
      await stage.chunked.rerun(stage.control, id, { actor: 'ada', reason: 'mended' })
      await stage.until(id, 'the end', ({ state }) => state === 'completed')
      const view = await stage.view(id)
      assert.deepEqual([view.state, view.generation, view.report], ['completed', 1, range(5)])
      assert.deepEqual(view.rerun, { done: 1 })
      assert.equal(view.errorMessage, null)
      assert.equal(view.errorCount, 1, 'errors so far are still counted')
      assert.deepEqual(view.reasons, {})
      assert.equal(runs.filter((run) => run === 'first').length, 1)
      assert.equal(runs.filter((run) => run === 'second 3').length, 2)
      assert.equal(keys.size, 2, 'the idempotency key is new after a rerun')
      for (const data of [0, 1, 2, 4]) assert.equal(runs.filter((run) => run === `second ${data}`).length, 1)
      const chunk = (await stage.chunks(id, 'second')).find(({ data }) => data === 3)
      assert.equal(chunk?.id, failedBefore?.id, 'the same row, never a second copy')
      assert.deepEqual(await stage.drift(id), [])
    })

    test('a failed reducer is run again by its job, and takes in everything', async () => {
      let isMended = false
      const job = defineJob({ id: 'reducer', version: 1, parameters: none })
        .firstStep({ id: 'first', output: z.number(), run: numbers(4) })
        .step({ id: 'second', output: z.number(), run: ({ data }, sink) => sink.accept(data) })
        .reducer({
          id: 'report',
          initial: () => [] as number[],
          consume: (all, one) => [...all, one],
          report: (all) => {
            if (!isMended) throw fail('no printer')
            return all
          },
        })
      await using stage = await Stage.open(kind, [job], { limits: { reduceEvery: 1 } })
      const failed = await stage.run(job, {})
      assert.deepEqual([failed.state, failed.reasons], ['failed', { 'no printer': 1 }])
      const [reducer] = await stage.chunks(failed.id, 'report')
      await assert.rejects(stage.control.act(reducer!.id, 'rerun'), refused('conflict', /job/))
      isMended = true
      await stage.chunked.rerun(stage.control, failed.id)
      await stage.until(failed.id, 'the end', ({ state }) => state === 'completed')
      const view = await stage.view(failed.id)
      assert.deepEqual([view.report, view.reasons], [range(4), {}])
      const reducers = await stage.chunks(failed.id, 'report')
      assert.deepEqual(
        reducers.map(({ id, state }) => [id, state]),
        [[reducer!.id, 'completed']],
      )
    })

    test('only a failed job can be run again; a chunk is run again with its job only', async () => {
      const job = defineJob({ id: 'refused', version: 1, parameters: none, tolerance: { failures: 1 } })
        .firstStep({ id: 'first', output: z.number(), run: numbers(2) })
        .step({ id: 'second', run: ({ data }) => (data === 0 ? fail('broken') : undefined) })
      await using stage = await Stage.open(kind, [job])
      const { id, state } = await stage.run(job, {})
      assert.equal(state, 'completed')
      await assert.rejects(stage.chunked.rerun(stage.control, id), refused('conflict', /completed/))
      const failed = (await stage.chunks(id, 'second')).find((chunk) => chunk.state === 'failed')
      await assert.rejects(
        stage.control.act(failed!.id, 'rerun'),
        refused('conflict', /^(?!.*with its job.*with its job).*with its job/),
      )
      const { sentence } = await stage.control.explain(failed!.id)
      assert.equal(sentence.split('with its job').length, 2, sentence)
      const both = await stage.control.actOnMany({ parent: id, states: ['failed'] }, 'rerun', { confirm: true })
      await stage.control.settled(both.walk!, 10_000)
      assert.equal((await stage.chunks(id, 'second')).filter((chunk) => chunk.state === 'failed').length, 1)
    })

    test('fails again, is run again: each time a generation more', async () => {
      let left = 3
      const job = defineJob({ id: 'thrice', version: 1, parameters: none }).firstStep({
        id: 'only',
        run: () => {
          left -= 1
          return left > 0 ? fail('broken') : undefined
        },
      })
      await using stage = await Stage.open(kind, [job])
      const id = await stage.start(job, {})
      await stage.settled(id)
      for (const generation of [1, 2]) {
        await stage.chunked.rerun(stage.control, id)
        await stage.until(
          id,
          `generation ${generation}`,
          (detail) => detail.generation === generation && detail.settled,
        )
      }
      const view = await stage.view(id)
      assert.deepEqual([view.state, view.generation, view.errorCount], ['completed', 2, 2])
    })
  })
}

describe('rerun, in time', () => {
  test('A1: failed chunks of a later gated step wait at their gate until those before them are complete', async () => {
    let isMended = false
    const order: string[] = []
    const job = defineJob({ id: 'gates', version: 1, parameters: none, tolerance: { failures: 1 } })
      .firstStep({ id: 'first', output: z.number(), run: numbers(3) })
      .step({
        id: 'second',
        output: z.number(),
        run: async ({ data, signal }, sink) => {
          if (data === 0 && !isMended) return fail('broken')
          if (isMended) await kit.clock.sleep('1m', signal)
          order.push(`second ${data}`)
          return sink.accept(data)
        },
      })
      .step({
        id: 'third',
        gated: true,
        run: ({ data }) => {
          if (!isMended) return fail('broken')
          order.push(`third ${data}`)
          return done()
        },
      })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const id = await stage.start(job, {})
    await kit.drain()
    assert.equal((await stage.view(id)).state, 'failed')
    order.length = 0
    isMended = true
    await stage.chunked.rerun(stage.control, id)
    await kit.drain()
    assert.equal((await stage.view(id)).state, 'completed')
    assert.deepEqual([order[0], order.slice(1).sort()], ['second 0', ['third 0', 'third 1', 'third 2']])
    assert.deepEqual(await stage.drift(id), [])
  })

  test('a failed reduction takes in what tolerated chunks give out when they are run again', async () => {
    let isMended = false
    const job = defineJob({ id: 'tolerant', version: 1, parameters: none, tolerance: { failures: 1 } })
      .firstStep({ id: 'first', output: z.number(), run: numbers(60) })
      .step({
        id: 'second',
        output: z.number(),
        run: ({ data }, sink) => (data === 0 && !isMended ? fail('broken') : sink.accept(data)),
      })
      .reducer({
        id: 'report',
        initial: () => [] as number[],
        consume: (all, one) => [...all, one],
        report: (all) => {
          if (!isMended) throw fail('no printer')
          return all
        },
      })
    const { stage, kit } = await Stage.kit([job], { limits: { reduceEvery: 10 } })
    await using _ = stage
    const id = await stage.start(job, {})
    await kit.drain()
    assert.equal((await stage.view(id)).state, 'failed')
    isMended = true
    await stage.chunked.rerun(stage.control, id)
    await kit.drain()
    const view = await stage.view(id)
    assert.deepEqual([view.state, view.report], ['completed', range(60)])
  })

  test('after a crash at every point: each failed chunk is run again once, and the job ends', async () => {
    const job = defineJob({ id: 'crashing', version: 1, parameters: none })
      .firstStep({ id: 'first', output: z.number(), run: numbers(4) })
      .step({
        id: 'second',
        gated: true,
        output: z.number(),
        // Every chunk fails once, and is right after a rerun.
        run: async ({ data, chunk }, sink) => {
          if (chunk.errorCount === 0) return fail('broken')
          return sink.accept(data)
        },
      })
      .step({ id: 'third', gated: true, output: z.number(), run: ({ data }, sink) => sink.accept(data) })
      .reducer({ id: 'report', initial: () => [] as number[], consume: (all, one) => [...all, one] })
    const family = openChunked({ definitions: [job] })
    const failedOf = async (control: Parameters<typeof family.job>[0]) => (await family.jobs(control)).jobs[0]!
    await explore({
      implementations: () => openChunked({ definitions: [job] }).implementations,
      start: async (control, _, kit) => {
        const { id } = await family.start(control, job, {})
        await kit.drain()
        // A process that died on the way left the job where the next one takes it up.
        if ((await family.job(control, id)).state === 'failed') await family.rerun(control, id)
      },
      check: async (control, _, kit) => {
        for (const _ of range(5)) {
          const { id, state } = await failedOf(control)
          if (state !== 'failed') break
          await family.rerun(control, id)
          await kit.drain()
        }
        const { id } = await failedOf(control)
        const view = await family.job(control, id)
        assert.deepEqual([view.state, view.report], ['completed', range(4)])
        assert.deepEqual(await control.check([id, null]), [])
      },
      maxPoints: 40,
    })
  })
})
