import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { explore } from 'sluice/testing'
import { z } from 'zod'
import { openChunked } from './chunked.ts'
import { defineJob } from './define-job.ts'
import type { HandlerContext, JobEnding } from './job-definition.ts'
import { fail, retryLater } from './outcome.ts'
import { numbers, refused, Stage, storeKinds } from './test/stage.ts'

const parameters = z.object({ broken: z.boolean() })

type Told = JobEnding & Pick<HandlerContext, 'key' | 'attempt'>

/** A job that completes or fails as it is told, and keeps what its handlers hear. */
function telling(heard: (told: Told, by: 'completed' | 'failed') => void) {
  const handler =
    (by: 'completed' | 'failed') =>
    (ending: JobEnding, { key, attempt, signal }: HandlerContext) => {
      assert.equal(signal.aborted, false)
      heard({ ...ending, key, attempt }, by)
    }
  return defineJob({
    id: 'telling',
    version: 1,
    parameters,
    onCompleted: handler('completed'),
    onFailed: handler('failed'),
  })
    .firstStep({ id: 'first', output: z.number(), run: numbers(2) })
    .step({
      id: 'second',
      output: z.number(),
      run: ({ data, parameters }, sink) => (parameters.broken ? fail('broken') : sink.accept(data)),
    })
    .reducer({ id: 'report', initial: () => 0, consume: (count) => count + 1 })
}

for (const kind of storeKinds) {
  describe(`handlers, ${kind}`, () => {
    test('hear of the end, with what came of it', async () => {
      const heard: Told[] = []
      const job = telling((told, by) => {
        assert.equal(by, told.state === 'completed' ? 'completed' : 'failed')
        heard.push(told)
      })
      await using stage = await Stage.open(kind, [job])
      const ended = async (broken: boolean) => {
        const id = await stage.start(job, { broken })
        await stage.until(id, 'its handler', ({ data }) => (data as { handler: unknown }).handler !== null)
        return stage.view(id)
      }
      const good = await ended(false)
      const bad = await ended(true)
      assert.deepEqual(
        heard.map(({ id, state, report, parameters, errorMessage, errorCount, attempt }) => ({
          ...{ id, state, report, parameters, errorMessage, attempt },
          errors: errorCount > 0,
        })),
        [
          {
            ...{ id: good.id, state: 'completed', report: 2, parameters: { broken: false } },
            ...{ errorMessage: null, attempt: 1, errors: false },
          },
          {
            ...{ id: bad.id, state: 'failed', report: null, parameters: { broken: true } },
            ...{ errorMessage: bad.errorMessage, attempt: 1, errors: true },
          },
        ],
      )
      assert.deepEqual(good.handler, { key: heard[0]?.key, at: good.handler?.at, error: null })
      assert.equal(heard[0]?.endTime, good.endTime)
      assert.equal(heard[0]?.generation, 0)
      assert.deepEqual(await stage.drift(good.id), [])
    })

    test('a cancelled job is told to the error handler', async () => {
      const heard: Told[] = []
      const job = defineJob({
        id: 'cancelled',
        version: 1,
        parameters: z.object({}),
        onFailed: (ending, { key, attempt }) => {
          heard.push({ ...ending, key, attempt })
        },
      }).firstStep({ id: 'only', run: () => retryLater() })
      await using stage = await Stage.open(kind, [job])
      const id = await stage.start(job, {})
      await stage.until(id, 'its start', ({ state }) => state === 'in_progress')
      await stage.chunked.cancel(stage.control, id, { actor: 'ada' })
      await stage.until(id, 'its handler', ({ data }) => (data as { handler: unknown }).handler !== null)
      assert.deepEqual(
        heard.map(({ state, errorMessage }) => [state, errorMessage]),
        [['cancelled', 'Job instance cancelled by ada while running step only']],
      )
    })

    test('a person may have it told again: the same end, the same key', async () => {
      const heard: Told[] = []
      const job = telling((told) => heard.push(told))
      await using stage = await Stage.open(kind, [job])
      const { id } = await stage.run(job, { broken: false })
      const first = await stage.until(id, 'its handler', ({ data }) => (data as { handler: unknown }).handler !== null)
      await stage.control.act(id, 'notify', { actor: 'ada' })
      await stage.until(id, 'the second telling', ({ seq }) => seq > first.seq)
      assert.equal(heard.length, 2)
      assert.equal(heard[1]?.key, heard[0]?.key)
      const detail = await stage.control.get(id)
      assert.deepEqual([detail.state, detail.generation], ['completed', 0])
    })

    test('without a handler nobody is asked, and nobody can be', async () => {
      const job = defineJob({ id: 'quiet', version: 1, parameters: z.object({}) }).firstStep({
        id: 'only',
        run: () => {},
      })
      await using stage = await Stage.open(kind, [job])
      const { id, handler } = await stage.run(job, {})
      assert.equal(handler, null)
      assert.deepEqual(await stage.history(id), ['create', 'start', 'complete'])
      await assert.rejects(stage.control.act(id, 'notify'), refused('conflict', /./))
    })

    test('a job that is run again tells each of its ends, each with a key of its own', async () => {
      const heard: Told[] = []
      let left = 2
      const job = defineJob({
        id: 'ends',
        version: 1,
        parameters: z.object({}),
        onCompleted: (ending, { key, attempt }) => void heard.push({ ...ending, key, attempt }),
        onFailed: (ending, { key, attempt }) => void heard.push({ ...ending, key, attempt }),
      }).firstStep({
        id: 'only',
        run: () => {
          left -= 1
          return left > 0 ? fail('broken') : undefined
        },
      })
      await using stage = await Stage.open(kind, [job])
      const { id } = await stage.run(job, {})
      await stage.chunked.rerun(stage.control, id)
      await stage.until(
        id,
        'both ends',
        ({ state, data }) => state === 'completed' && (data as { handler: unknown }).handler !== null,
      )
      const byKey = new Map(heard.map((told) => [told.key, told.state]))
      assert.deepEqual([...byKey.values()], ['failed', 'completed'], 'at least once each')
      assert.equal(byKey.size, 2)
    })
  })
}

describe('handlers, in time', () => {
  test('one that fails is tried again with the same key; the job is what it is meanwhile', async () => {
    const heard: Told[] = []
    const job = telling((told) => {
      heard.push(told)
      if (heard.length < 4) throw new Error('the receiver is down')
    })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const id = await stage.start(job, { broken: false })
    await kit.advance('500ms')
    assert.equal((await stage.view(id)).state, 'completed')
    await kit.drain()
    assert.deepEqual(
      heard.map(({ attempt }) => attempt),
      [1, 2, 3, 4],
    )
    assert.equal(new Set(heard.map(({ key }) => key)).size, 1)
    const view = await stage.view(id)
    assert.deepEqual([view.state, view.generation, view.handler?.error], ['completed', 0, null])
  })

  test('when all attempts are spent that is noted with the job, which stays what it is; a person may ask again', async () => {
    let isDown = true
    const keys = new Set<string>()
    const job = telling(({ key }) => {
      keys.add(key)
      if (isDown) throw new Error('the receiver is down')
    })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const id = await stage.start(job, { broken: true })
    await kit.drain()
    const view = await stage.view(id)
    assert.equal(view.state, 'failed')
    assert.match(view.handler?.error ?? '', /the receiver is down/)
    assert.ok(keys.has(view.handler!.key), 'the key that is shown is the one that was handed over')
    assert.match(view.errorMessage ?? '', /broken/, 'why the job failed is not forgotten')
    isDown = false
    await stage.control.act(id, 'notify', { actor: 'ada' })
    await kit.drain()
    const after = await stage.view(id)
    assert.deepEqual([after.state, after.handler?.error, keys.size], ['failed', null, 1])
  })

  for (const broken of [false, true]) {
    test(`a crash at any point: a ${broken ? 'failed' : 'completed'} job is told at least once, always with the same key`, async () => {
      const keys: string[] = []
      const job = telling(() => {})
      const family = openChunked({ definitions: [job] })
      const { points } = await explore({
        implementations: ({ effects }) => {
          const told = telling(({ key, id, state }) => {
            keys.push(key)
            void effects.perform('told', { key: `${id} ${state} ${key}` })
          })
          return openChunked({ definitions: [told] }).implementations
        },
        start: (control) => family.start(control, job, { broken }),
        check: async (control, effects) => {
          const [line] = (await family.jobs(control)).jobs
          const view = await family.job(control, line!.id)
          assert.equal(view.state, broken ? 'failed' : 'completed')
          assert.equal(effects.count('told'), 1, 'one end, one key')
          assert.deepEqual([view.handler?.error, view.handler?.key], [null, keys.at(-1)])
        },
        maxPoints: 40,
      })
      assert.ok(points > 10)
      assert.equal(new Set(keys).size, 1, 'the same in every telling of the story')
    })
  }

  test('a rerun that is asked for while the error handler is still tried: that end is told all the same', async () => {
    const heard: Told[] = []
    let isDown = true
    let isBroken = true
    const job = defineJob({
      id: 'overtaken',
      version: 1,
      parameters: z.object({}),
      onCompleted: (ending, { key, attempt }) => void heard.push({ ...ending, key, attempt }),
      onFailed: (ending, { key, attempt }) => {
        if (isDown) throw new Error('the receiver is down')
        heard.push({ ...ending, key, attempt })
      },
    }).firstStep({ id: 'only', run: () => (isBroken ? fail('broken') : undefined) })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const id = await stage.start(job, {})
    await kit.advance('30s')
    assert.deepEqual([(await stage.view(id)).state, heard.length], ['failed', 0])
    isDown = false
    isBroken = false
    await stage.chunked.rerun(stage.control, id)
    await kit.drain()
    assert.equal((await stage.view(id)).state, 'completed')
    assert.deepEqual(
      [...new Set(heard.map(({ state, generation }) => `${state} ${generation}`))],
      ['failed 0', 'completed 1'],
    )
  })
})
