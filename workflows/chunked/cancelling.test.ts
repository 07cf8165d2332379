import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { z } from 'zod'
import { defineJob } from './define-job.ts'
import { retryLater } from './outcome.ts'
import { gateOf, numbers, refused, Stage, soon, storeKinds } from './test/stage.ts'

const none = z.object({})

for (const kind of storeKinds) {
  describe(`cancel, ${kind}`, () => {
    test('D7: a queued job is cancelled, and never starts', async () => {
      let runs = 0
      const job = defineJob({ id: 'queued', version: 1, parameters: none }).firstStep({
        id: 'only',
        run: () => {
          runs += 1
        },
      })
      await using stage = await Stage.open(kind, [job])
      const hold = await stage.control.hold({ machine: 'chunked_job' }, { reason: 'a test looks', owner: 'test' })
      const id = await stage.start(job, {})
      await stage.chunked.cancel(stage.control, id, { actor: 'ada', reason: 'by mistake' })
      await stage.control.release(hold.id)
      const view = await stage.settled(id)
      assert.deepEqual([view.state, view.chunks.total, runs], ['cancelled', 0, 0])
      assert.equal(view.errorMessage, 'Job instance cancelled by ada: by mistake')
      assert.ok(view.endTime)
      assert.deepEqual(await stage.history(id), ['create', 'cancel'])
    })

    for (const isErrored of [false, true]) {
      test(`from ${isErrored ? 'errored' : 'in_progress'}: the signal reaches running steps, and nothing starts afterwards`, async () => {
        const begun: number[] = []
        const aborted = gateOf()
        const running = gateOf()
        const job = defineJob({ id: 'running', version: 1, parameters: none })
          .firstStep({ id: 'first', output: z.number(), run: numbers(10) })
          .step({
            id: 'second',
            concurrency: 1,
            retry: soon,
            output: z.number(),
            run: async ({ data, signal, attempt }, sink) => {
              if (isErrored && attempt === 1) throw new Error('once')
              begun.push(data)
              running.open()
              await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
              // Too late: it is told so, and nothing of it is seen.
              await assert.rejects(async () => sink.accept(1), refused('lease_lost', /was told to end/))
              aborted.open()
            },
          })
          .step({ id: 'third', gated: true, run: () => begun.push(-1) as unknown as undefined })
        await using stage = await Stage.open(kind, [job])
        const id = await stage.start(job, {})
        await running.passed
        await stage.until(id, 'the second step', ({ state, data }) => {
          const { currentStep } = data as { currentStep: string }
          return currentStep === 'second' && state === (isErrored ? 'errored' : 'in_progress')
        })
        await stage.chunked.cancel(stage.control, id)
        await aborted.passed
        const view = await stage.settled(id)
        assert.equal(view.state, 'cancelled')
        assert.match(view.errorMessage!, /^Job instance cancelled.* while running step second/)
        assert.equal(begun.length, 1)
        const after = await stage.chunks(id, 'second')
        assert.ok(
          after.every(({ state }) => !['completed', 'failed'].includes(state)),
          'D10: chunks of a cancelled job stay where they were',
        )
        for (const chunk of after.slice(0, 2)) {
          const explained = await stage.control.explain(chunk.id)
          assert.equal(explained.kind, 'parent_ended', explained.sentence)
        }
        assert.deepEqual(await stage.drift(id), [])
      })
    }

    test('a step that does not care about its signal changes nothing any more', async () => {
      const running = gateOf()
      const ended = gateOf()
      const job = defineJob({ id: 'deaf', version: 1, parameters: none })
        .firstStep({
          id: 'first',
          output: z.number(),
          run: async (_, sink) => {
            await sink.accept(1)
            running.open()
            await ended.passed
          },
        })
        .step({ id: 'second', run: () => assert.fail('nothing of it may be seen') })
      await using stage = await Stage.open(kind, [job])
      const id = await stage.start(job, {})
      await running.passed
      await stage.chunked.cancel(stage.control, id)
      ended.open()
      const view = await stage.settled(id)
      assert.deepEqual([view.state, view.chunks.total, view.chunks.settled], ['cancelled', 1, 0])
    })

    test('D16: what has ended cannot be cancelled, and the refusal says so', async () => {
      const job = defineJob({ id: 'over', version: 1, parameters: none }).firstStep({ id: 'only', run: () => {} })
      await using stage = await Stage.open(kind, [job])
      const { id } = await stage.run(job, {})
      await assert.rejects(stage.chunked.cancel(stage.control, id), refused('conflict', /completed/))
      assert.equal((await stage.view(id)).state, 'completed')
      const [chunk] = await stage.chunks(id)
      await assert.rejects(stage.chunked.cancel(stage.control, chunk!.id), refused('not_found', /is no job/))
      await assert.rejects(stage.chunked.cancel(stage.control, 999), refused('not_found', /999/))
    })

    test('cancelled twice at the same time: once', async () => {
      const job = defineJob({ id: 'twice', version: 1, parameters: none }).firstStep({
        id: 'only',
        run: () => retryLater(),
      })
      await using stage = await Stage.open(kind, [job])
      const id = await stage.start(job, {})
      await stage.until(id, 'its start', ({ state }) => state === 'in_progress')
      const both = await Promise.allSettled([
        stage.chunked.cancel(stage.control, id, { actor: 'ada' }),
        stage.chunked.cancel(stage.control, id, { actor: 'ben' }),
      ])
      assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
      assert.equal((await stage.history(id)).filter((name) => name === 'cancel').length, 1)
    })
  })
}

describe('cancel, in time', () => {
  test('chunks that wait for their next look, their next attempt or their gate never come', async () => {
    const seen: string[] = []
    const job = defineJob({ id: 'waiting', version: 1, parameters: none })
      .firstStep({ id: 'first', output: z.number(), run: numbers(2) })
      .step({
        id: 'second',
        output: z.number(),
        retry: { attemptsMax: 9, backoff: { firstMs: 600_000, maxMs: 600_000 } },
        run: ({ data, now }) => {
          seen.push(`${data} ${now()}`)
          if (data === 0) throw new Error('later')
          return retryLater(600_000)
        },
      })
      .step({ id: 'third', gated: true, run: () => {} })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const id = await stage.start(job, {})
    await kit.advance('1m')
    assert.equal(seen.length, 2)
    await stage.chunked.cancel(stage.control, id)
    await kit.drain()
    await kit.advance('1d')
    assert.equal(seen.length, 2)
    assert.equal((await stage.view(id)).state, 'cancelled')
  })

  test('a job whose process died is cancelled at once, and stays so when the process comes back', async () => {
    let runs = 0
    const job = defineJob({ id: 'dead', version: 1, parameters: none }).firstStep({
      id: 'only',
      run: async ({ signal }) => {
        runs += 1
        await kit.clock.sleep('1h', signal)
      },
    })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const id = await stage.start(job, {})
    await kit.advance('1m')
    kit.crash()
    await stage.chunked.cancel(stage.control, id)
    assert.equal((await stage.view(id)).state, 'cancelled')
    await kit.restart()
    await kit.advance('3h')
    assert.equal(runs, 1, 'D11, A9: what the dead held is not run again')
  })
})
