import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { z } from 'zod'
import { defineJob } from './define-job.ts'
import { done, fail, retry, retryLater } from './outcome.ts'
import { numbers, Stage } from './test/stage.ts'

const none = z.object({})
const minute = 60_000

describe('polling', () => {
  test('D3: a chunk is looked at again when its time has come, by default after a minute; that is no error', async () => {
    const looks: number[] = []
    const job = defineJob({ id: 'polling', version: 1, parameters: none })
      .firstStep({ id: 'first', output: z.number(), run: numbers(1) })
      .step({
        id: 'look',
        polling: true,
        run: ({ chunk, now, attempt }) => {
          looks.push(now())
          assert.equal(attempt, 1, 'a look is no attempt')
          assert.equal(chunk.errorCount, 0)
          return chunk.pollAttempts < 3 ? retryLater() : done(1)
        },
      })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const id = await stage.start(job, {})
    await kit.advance('1s')
    const [chunk] = await stage.chunks(id, 'look')
    assert.equal(chunk?.state, 'poll_waiting')
    assert.equal(chunk?.pollAttempts, 1)
    assert.equal(chunk?.nextPollTimestamp, looks[0]! + minute)
    const explained = await stage.control.explain(chunk!.id)
    assert.equal(explained.kind, 'scheduled', explained.sentence)
    await kit.advance('58s')
    assert.equal(looks.length, 1, 'A3: not before its time')
    await kit.advance('2s')
    assert.equal(looks.length, 2)
    assert.equal((await stage.chunks(id, 'look'))[0]?.pollAttempts, 2)
    await kit.drain()
    const gaps = looks.slice(1).map((at, index) => at - looks[index]!)
    assert.ok(
      gaps.every((gap) => gap >= minute && gap < minute + 1_000),
      `${gaps}`,
    )
    const view = await stage.view(id)
    assert.deepEqual([view.state, view.errorCount, view.records], ['completed', 0, 1])
    const [ended] = await stage.chunks(id, 'look')
    assert.deepEqual([ended?.nextPollTimestamp, ended?.pollAttempts, ended?.errorCount], [null, 3, 0])
    assert.ok(!(await stage.path(id)).includes('errored'))
  })

  test('nextPollTimestamp is told while a chunk waits for its next look, and not when that is over', async () => {
    const job = defineJob({ id: 'looked', version: 1, parameters: none }).firstStep({
      id: 'look',
      run: async ({ chunk }) => {
        if (chunk.pollAttempts === 0) return retryLater(minute)
        if (chunk.errorCount === 0) return retry('not yet', minute)
        await kit.clock.sleep('1m')
        return done()
      },
    })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const id = await stage.start(job, {})
    const seen = async () => (await stage.chunks(id)).map(({ state, nextPollTimestamp: at }) => [state, at !== null])
    await kit.advance('30s')
    assert.deepEqual(await seen(), [['poll_waiting', true]])
    await kit.advance('60s')
    assert.deepEqual(await seen(), [['error', false]])
    await kit.advance('60s')
    assert.deepEqual(await seen(), [['in_progress', false]])
    await kit.drain()
  })

  test('a chunk of a polling step is born poll_waiting, and looked at when it says', async () => {
    const looks: number[] = []
    const job = defineJob({ id: 'born', version: 1, parameters: none })
      .firstStep({ id: 'first', output: z.number(), run: numbers(2) })
      .step({
        id: 'look',
        polling: { firstAfterMs: 10 * minute, everyMs: 2 * minute },
        run: ({ chunk, now }) => {
          looks.push(now())
          return chunk.pollAttempts < 1 ? retryLater() : done()
        },
      })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const id = await stage.start(job, {})
    await kit.advance('9m')
    const chunks = await stage.chunks(id, 'look')
    assert.deepEqual(
      chunks.map(({ state, pollAttempts }) => [state, pollAttempts]),
      [
        ['poll_waiting', 0],
        ['poll_waiting', 0],
      ],
    )
    assert.equal(looks.length, 0)
    await kit.drain()
    const begin = (await stage.view(id)).startTime!
    assert.deepEqual(
      looks.map((at) => Math.round((at - begin) / minute)),
      [10, 10, 12, 12],
    )
    const [path] = await Promise.all(chunks.map((chunk) => stage.path(chunk.id)))
    const look = ['ready', 'queued', 'in_progress']
    assert.deepEqual(path, ['poll_waiting', ...look, 'poll_waiting', ...look, 'completed'])
  })

  test('a first step may be declared polling, too', async () => {
    const job = defineJob({ id: 'first', version: 1, parameters: none }).firstStep({
      id: 'look',
      polling: true,
      run: ({ chunk }) => (chunk.pollAttempts < 2 ? retryLater(1_000) : done()),
    })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const id = await stage.start(job, {})
    await kit.drain()
    assert.equal((await stage.view(id)).state, 'completed')
    const [chunk] = await stage.chunks(id)
    assert.equal((await stage.path(chunk!.id))[0], 'poll_waiting')
  })

  test('behind a gate a chunk of a polling step waits for the gate, and is then looked at', async () => {
    let looks = 0
    const job = defineJob({ id: 'gated', version: 1, parameters: none })
      .firstStep({ id: 'first', output: z.number(), run: numbers(2) })
      .step({
        id: 'slow',
        output: z.number(),
        run: async ({ data, chunk }, sink) => {
          if (data === 0 && chunk.pollAttempts === 0) return retryLater(5 * minute)
          return sink.accept(data)
        },
      })
      .step({
        id: 'look',
        gated: true,
        polling: { everyMs: 1_000 },
        run: ({ chunk }) => {
          looks += 1
          return chunk.pollAttempts < 2 ? retryLater() : done()
        },
      })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const id = await stage.start(job, {})
    await kit.advance('4m')
    assert.deepEqual(await stage.counts(id, 'look'), { gate_waiting: 1 })
    assert.equal(looks, 0)
    await kit.drain()
    assert.equal((await stage.view(id)).state, 'completed')
    assert.equal(looks, 6)
  })

  test('A3: beyond its deadline a chunk fails, and says so; the last look is at the deadline', async () => {
    const looks: number[] = []
    const job = defineJob({ id: 'deadline', version: 1, parameters: none }).firstStep({
      id: 'look',
      polling: { everyMs: 7 * minute, deadlineMs: 20 * minute },
      run: ({ now }) => {
        looks.push(now())
        return retryLater()
      },
    })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const id = await stage.start(job, {})
    await kit.drain()
    const view = await stage.view(id)
    assert.equal(view.state, 'failed')
    assert.deepEqual(view.reasons, { 'poll deadline passed': 1 })
    assert.match(view.errorMessage!, /1 of 1 chunk of step look failed: poll deadline passed/)
    const [chunk] = await stage.chunks(id)
    assert.match(chunk?.errorMessage ?? '', /has polled 4 times, until its deadline/)
    assert.equal(chunk?.nextPollTimestamp, null)
    assert.deepEqual(
      looks.map((at) => Math.round((at - looks[0]!) / minute)),
      [0, 7, 14, 20],
    )
  })

  test('the default deadline is a day', async () => {
    const job = defineJob({ id: 'day', version: 1, parameters: none }).firstStep({
      id: 'look',
      run: () => retryLater(60 * minute),
    })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const id = await stage.start(job, {})
    await kit.advance('23h')
    assert.equal((await stage.view(id)).state, 'in_progress')
    await kit.advance('2h')
    assert.equal((await stage.view(id)).state, 'failed')
  })

  test('errors between looks count as errors, looks never do', async () => {
    let runs = 0
    const job = defineJob({ id: 'both', version: 1, parameters: none }).firstStep({
      id: 'look',
      retry: { attemptsMax: 3, backoff: { firstMs: 1_000 } },
      run: () => {
        runs += 1
        if (runs === 3) return retry('a hiccup')
        return runs < 12 ? retryLater(1_000) : done()
      },
    })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const id = await stage.start(job, {})
    await kit.drain()
    const view = await stage.view(id)
    assert.deepEqual([view.state, view.errorCount], ['completed', 1])
    const [chunk] = await stage.chunks(id)
    assert.deepEqual([chunk?.pollAttempts, chunk?.errorCount], [10, 1])
  })

  test('A4: errors on both sides of a look add up to the limit', async () => {
    let runs = 0
    const job = defineJob({ id: 'limit', version: 1, parameters: none }).firstStep({
      id: 'look',
      retry: { attemptsMax: 2, backoff: { firstMs: 1_000 } },
      run: () => {
        runs += 1
        return runs % 2 === 1 ? retry(`hiccup ${runs}`) : retryLater(1_000)
      },
    })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const id = await stage.start(job, {})
    await kit.drain()
    const view = await stage.view(id)
    assert.equal(view.state, 'failed')
    assert.equal(view.errorCount, 2)
    assert.equal(runs, 3)
  })

  test('a poll that is thrown from deep in the work is a poll; outputs before it are dropped', async () => {
    const job = defineJob({ id: 'thrown', version: 1, parameters: none })
      .firstStep({
        id: 'look',
        output: z.number(),
        run: async ({ chunk }, sink) => {
          await sink.accept(chunk.pollAttempts)
          if (chunk.pollAttempts < 2) throw retryLater(1_000)
        },
      })
      .step({ id: 'next', run: ({ data }) => (data === 2 ? done() : fail('dropped output')) })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const id = await stage.start(job, {})
    await kit.drain()
    const view = await stage.view(id)
    assert.deepEqual([view.state, view.chunks.total], ['completed', 2])
  })

  test('a poll outlives the process: another looks when the time has come', async () => {
    const job = defineJob({ id: 'crash', version: 1, parameters: none }).firstStep({
      id: 'look',
      run: ({ chunk }) => (chunk.pollAttempts < 2 ? retryLater(10 * minute) : done()),
    })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const id = await stage.start(job, {})
    await kit.advance('1m')
    kit.crash()
    await kit.restart()
    await kit.drain()
    assert.equal((await stage.view(id)).state, 'completed')
    assert.equal((await stage.chunks(id))[0]?.pollAttempts, 2)
  })
})
