import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { z } from 'zod'
import { defineJob } from './define-job.ts'
import { retry } from './outcome.ts'
import { gateOf, numbers, range, Stage, storeKinds } from './test/stage.ts'

const none = z.object({})

describe('concurrency of a step', () => {
  test('is kept over two processes and over all jobs of its version; other steps do not share it', async () => {
    const running = { limited: 0, free: 0 }
    const most = { limited: 0, free: 0 }
    const work = (name: 'limited' | 'free') => async () => {
      running[name] += 1
      most[name] = Math.max(most[name], running[name])
      await kit.clock.sleep('10s')
      running[name] -= 1
    }
    const job = defineJob({ id: 'limited', version: 1, parameters: none })
      .firstStep({
        id: 'first',
        output: z.number(),
        run: async (_, sink) => {
          await numbers(8)(null, sink)
          for (const number of range(8)) await sink.acceptFor('free', number)
        },
      })
      .step({ id: 'limited', concurrency: 3, output: z.number(), run: work('limited') })
      .step({ id: 'free', run: work('free') })
    const { stage, kit } = await Stage.kit([job], { engines: 2 })
    await using _ = stage
    const ids = await Promise.all(range(3).map(() => stage.start(job, {})))
    await kit.advance('5s')
    const waiting = (await stage.chunks(ids[2]!, 'limited')).find(({ state }) => state === 'ready')
    const explained = await stage.control.explain(waiting!.id)
    assert.equal(explained.kind, 'full', explained.sentence)
    await kit.drain()
    assert.deepEqual(most, { limited: 3, free: 24 })
    for (const id of ids) {
      assert.equal((await stage.view(id)).state, 'completed')
      assert.deepEqual(await stage.drift(id), [])
    }
  })

  test('is given back by a process that dies', async () => {
    let runs = 0
    const job = defineJob({ id: 'dying', version: 1, parameters: none })
      .firstStep({ id: 'first', output: z.number(), run: numbers(5) })
      .step({
        id: 'second',
        concurrency: 1,
        run: async () => {
          runs += 1
          await kit.clock.sleep('20s')
        },
      })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const id = await stage.start(job, {})
    await kit.advance('30s')
    kit.crash()
    await kit.restart()
    await kit.drain()
    assert.equal((await stage.view(id)).state, 'completed')
    assert.ok(runs >= 5 && runs <= 7, `${runs} runs`)
  })
})

describe('reasons', () => {
  test('300 different messages are a few reasons: the code or class of what was thrown, or that attempts were spent', async () => {
    const job = defineJob({ id: 'many', version: 1, parameters: none, tolerance: { percent: 100 } })
      .firstStep({ id: 'list', output: z.number(), run: numbers(300) })
      .step({
        id: 'each',
        retry: { attemptsMax: 2, backoff: { firstMs: 1, maxMs: 1 } },
        run: ({ data }) => {
          if (data % 3 === 0) return retry(`busy with ${data}`)
          if (data % 3 === 1) throw Object.assign(new Error(`no file ${data}`), { code: 'ENOENT' })
          throw new TypeError(`${data} is no letter`)
        },
      })
    await using stage = await Stage.open('memory', [job])
    const view = await stage.run(job, {})
    assert.deepEqual(view.reasons, {
      'attempts spent': 100,
      'ENOENT, attempts spent': 100,
      'TypeError, attempts spent': 100,
    })
    const messages = new Set((await stage.chunks(view.id, 'each')).map(({ errorMessage }) => errorMessage))
    assert.equal(messages.size, 300, 'each chunk keeps its own')
    assert.ok(messages.has('After 2 of 2 attempts: busy with 0'))
  })
})

describe('timeout of a step', () => {
  test('a run that takes too long is dropped, and counts as an attempt; its signal says so', async () => {
    const ended: string[] = []
    const job = defineJob({ id: 'slow', version: 1, parameters: none })
      .firstStep({ id: 'first', output: z.number(), run: numbers(1) })
      .step({
        id: 'second',
        timeoutMs: 60_000,
        retry: { attemptsMax: 2, backoff: { firstMs: 1_000 } },
        run: async ({ signal }, sink) => {
          await kit.clock.sleep('1h', signal)
          ended.push(`aborted: ${signal.aborted}`)
          await assert.rejects(async () => sink.accept(1 as never))
        },
      })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const id = await stage.start(job, {})
    await kit.drain()
    const view = await stage.view(id)
    assert.equal(view.state, 'failed')
    assert.ok(view.endTime! - view.startTime! < 10 * 60_000, 'its own time, not the machine’s')
    assert.deepEqual(ended, ['aborted: true', 'aborted: true'])
    const [chunk] = await stage.chunks(id, 'second')
    assert.equal(chunk?.errorMessage, 'After 2 of 2 attempts: step took longer than 60000 ms.')
    assert.equal(chunk?.errorCount, 2)
  })

  test('a run that takes too long is an error like a throw: of the chunk, its job and its history', async () => {
    let runs = 0
    const job = defineJob({ id: 'late', version: 1, parameters: none }).firstStep({
      id: 'only',
      timeoutMs: 200,
      retry: { attemptsMax: 3, backoff: { firstMs: 1_000 } },
      run: async ({ signal }) => {
        runs += 1
        if (runs === 1) await kit.clock.sleep('1h', signal)
      },
    })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const id = await stage.start(job, {})
    await kit.advance(400)
    const [chunk] = await stage.chunks(id, 'only')
    assert.deepEqual(
      [chunk?.state, chunk?.errorCount, chunk?.errorMessage],
      ['error', 1, 'step took longer than 200 ms.'],
    )
    assert.equal((await stage.view(id)).state, 'errored')
    await kit.drain()
    assert.equal((await stage.view(id)).state, 'completed')
    const events = await stage.control.history(chunk!.id)
    assert.deepEqual(
      events.map(({ transition, error }) => [transition, error]).filter(([, error]) => error !== null),
      [['try_again', 'step took longer than 200 ms.']],
    )
  })

  for (const kind of storeKinds.filter((kind) => kind !== 'memory')) {
    test(`the same if the step blocks the event loop: the next claim records the error before it runs, ${kind}`, async () => {
      let runs = 0
      const job = defineJob({ id: 'blocking', version: 1, parameters: none }).firstStep({
        id: 'only',
        timeoutMs: 200,
        retry: { attemptsMax: 2, backoff: { firstMs: 1, maxMs: 1 } },
        run: () => {
          runs += 1
          // Long enough for the patrol to tell the renewing thread of this run, and for that thread to end its lease.
          return runs === 1 ? stall(100).then(() => blockFor(2_000)) : undefined
        },
      })
      await using stage = await Stage.open(kind, [job], { engineLimits: { pollMs: 100 } })
      const view = await stage.run(job, {})
      const [chunk] = await stage.chunks(view.id, 'only')
      const events = await stage.control.history(chunk!.id)
      assert.deepEqual(
        events.map(({ transition }) => transition),
        ['create', 'queue', 'start', 'try_again', 'start', 'complete'],
      )
      assert.deepEqual([runs, view.state, chunk?.errorCount], [2, 'completed', 1])
    })
  }

  test('the default is an hour', async () => {
    let runs = 0
    const job = defineJob({ id: 'hour', version: 1, parameters: none }).firstStep({
      id: 'only',
      run: async ({ signal }) => {
        runs += 1
        await kit.clock.sleep(runs === 1 ? '61m' : '50m', signal)
      },
    })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const id = await stage.start(job, {})
    await kit.drain()
    assert.deepEqual([(await stage.view(id)).state, runs], ['completed', 2])
  })

  for (const kind of storeKinds) {
    test(`${kind}: a step that never returns ends its chunk, and nothing else is disturbed`, async () => {
      const hung = gateOf()
      const job = defineJob({ id: 'hung', version: 1, parameters: z.object({ hangs: z.boolean() }) })
        .firstStep({ id: 'first', output: z.number(), run: numbers(3) })
        .step({
          id: 'second',
          timeoutMs: 30,
          retry: { attemptsMax: 2, backoff: { firstMs: 1 } },
          run: ({ parameters, data }) => {
            return parameters.hangs && data === 1 ? hung.passed : undefined
          },
        })
      await using stage = await Stage.open(kind, [job], { engineLimits: { drainMs: 50 } })
      const [bad, good] = await Promise.all([stage.run(job, { hangs: true }), stage.run(job, { hangs: false })])
      assert.deepEqual([bad.state, good.state], ['failed', 'completed'])
      assert.match(bad.errorMessage!, /1 of 3 chunks of step second failed/)
      hung.open()
    })
  }
})

describe('retry policy of a step', () => {
  test('attempts and pauses are those of the step, and one may say its own', async () => {
    const times: number[] = []
    const job = defineJob({ id: 'patient', version: 1, parameters: none }).firstStep({
      id: 'only',
      retry: { attemptsMax: 6, backoff: { firstMs: 10_000, factor: 3, maxMs: 60_000, jitter: 0 } },
      run: ({ now, attempt }) => {
        times.push(now())
        return retry('not yet', attempt === 5 ? 5_000 : undefined)
      },
    })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const id = await stage.start(job, {})
    await kit.drain()
    assert.equal((await stage.view(id)).state, 'failed')
    const pauses = times.slice(1).map((at, index) => Math.round((at - times[index]!) / 1_000))
    assert.deepEqual(pauses, [10, 30, 60, 60, 5])
  })

  test('the default is four attempts', async () => {
    let runs = 0
    const job = defineJob({ id: 'four', version: 1, parameters: none }).firstStep({
      id: 'only',
      run: () => {
        runs += 1
        throw new Error('never')
      },
    })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    await stage.start(job, {})
    await kit.drain()
    assert.equal(runs, 4)
  })

  test('D11, D18: what a dead process held is run again after its lease, and no sooner', async () => {
    const begun: number[] = []
    const job = defineJob({ id: 'dead', version: 1, parameters: none }).firstStep({
      id: 'only',
      run: async ({ now }) => {
        begun.push(now())
        await kit.clock.sleep('2m')
      },
    })
    const { stage, kit } = await Stage.kit([job], { engines: 2 })
    await using _ = stage
    const id = await stage.start(job, {})
    await kit.advance('1m')
    assert.equal(begun.length, 1, 'a run that takes longer than its lease is renewed, not run twice')
    kit.crash()
    await kit.restart()
    await kit.drain()
    assert.equal((await stage.view(id)).state, 'completed')
    assert.equal(begun.length, 2)
    assert.ok(begun[1]! - begun[0]! >= 60_000 && begun[1]! - begun[0]! < 60_000 + 2 * 30_000)
  })

  test('a step with a checkpoint that errs every time uses up its attempts', async () => {
    let runs = 0
    const job = defineJob({ id: 'saving', version: 1, parameters: none })
      .firstStep({
        id: 'first',
        output: z.number(),
        retry: { attemptsMax: 3, backoff: { firstMs: 1_000 } },
        run: async ({ checkpoint }, sink) => {
          runs += 1
          await sink.accept(1)
          await checkpoint({ at: 1 })
          throw new Error('always')
        },
      })
      .step({ id: 'second', run: () => {} })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const id = await stage.start(job, {})
    await kit.drain()
    const view = await stage.view(id)
    assert.deepEqual([view.state, view.chunks.total], ['failed', 1])
    assert.ok(runs <= 6, `${runs} runs`)
  })
})

function stall(delayMs: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, delayMs))
}

/** No timer fires meanwhile. */
function blockFor(durationMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, durationMs)
}
