import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { z } from 'zod'
import { defineJob } from './define-job.ts'
import { fail, retryLater } from './outcome.ts'
import { numbers, Stage } from './test/stage.ts'

const day = 86_400_000
const retention = { completedMs: day, failedMs: 3 * day, cancelledMs: 2 * day }
const parameters = z.object({ how: z.enum(['complete', 'fail', 'poll']) })

const job = defineJob({ id: 'kept', version: 1, parameters, retention })
  .firstStep({ id: 'first', output: z.number(), run: numbers(3) })
  .step({
    id: 'second',
    output: z.number(),
    run: ({ parameters, data }, sink) => {
      if (parameters.how === 'fail') return fail('broken')
      return parameters.how === 'poll' ? retryLater() : sink.accept(data)
    },
  })
  .reducer({ id: 'report', initial: () => 0, consume: (count) => count + 1 })

const forever = defineJob({ id: 'forever', version: 1, parameters: z.object({}) }).firstStep({
  id: 'only',
  run: () => {},
})

describe('retention', () => {
  test('D17: jobs are kept by their outcome, with all their chunks; what is left is a tombstone', async () => {
    const { stage, kit } = await Stage.kit([job, forever])
    await using _ = stage
    const completed = await stage.start(job, { how: 'complete' }, { key: 'once', startedBy: 'ada' })
    const failed = await stage.start(job, { how: 'fail' })
    const cancelled = await stage.start(job, { how: 'poll' })
    const kept = await stage.start(forever, {})
    await kit.advance('10s')
    await stage.chunked.cancel(stage.control, cancelled)
    await kit.drain()
    const states = async () => {
      const views = await Promise.all([completed, failed, cancelled, kept].map((id) => stage.view(id)))
      return views.map(({ state, purged }) => `${state}${purged ? ' purged' : ''}`)
    }
    assert.deepEqual(await states(), ['completed', 'failed', 'cancelled', 'completed'])
    await kit.advance('23h')
    assert.deepEqual(await states(), ['completed', 'failed', 'cancelled', 'completed'], 'not before their time')
    await kit.advance('2h')
    assert.deepEqual(await states(), ['completed purged', 'failed', 'cancelled', 'completed'])
    await kit.advance('24h')
    assert.deepEqual(await states(), ['completed purged', 'failed', 'cancelled purged', 'completed'])
    await kit.advance('24h')
    assert.deepEqual(await states(), ['completed purged', 'failed purged', 'cancelled purged', 'completed'])
    await kit.advance('400d')
    assert.equal((await states())[3], 'completed', 'without a retention for ever')

    const stone = await stage.view(completed)
    assert.deepEqual([stone.report, stone.definition, stone.percent], [3, 'kept', 100])
    assert.deepEqual(stone.chunks, { total: 5, settled: 5, failed: 0 }, 'its counts stay')
    assert.match(stone.sentence, /removed by retention/)
    assert.deepEqual(await stage.chunks(completed), [], 'its chunks are gone')
    const failure = await stage.view(failed)
    assert.match(failure.errorMessage!, /broken/)
  })

  test('the key of a job that was removed still gives that job', async () => {
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const id = await stage.start(job, { how: 'complete' }, { key: 'once' })
    await kit.drain()
    await kit.advance('3d')
    assert.equal((await stage.view(id)).purged, true)
    const again = await stage.chunked.start(stage.control, job, { how: 'complete' }, { key: 'once' })
    assert.deepEqual(again, { id, existing: true })
  })

  test('a failed job that is run again is kept by its new outcome', async () => {
    let isMended = false
    const mending = defineJob({ id: 'mending', version: 1, parameters: z.object({}), retention }).firstStep({
      id: 'only',
      run: () => (isMended ? undefined : fail('broken')),
    })
    const { stage, kit } = await Stage.kit([mending])
    await using _ = stage
    const id = await stage.start(mending, {})
    await kit.drain()
    await kit.advance('2d')
    isMended = true
    await stage.chunked.rerun(stage.control, id)
    await kit.drain()
    assert.equal((await stage.view(id)).state, 'completed')
    await kit.advance('20h')
    assert.equal((await stage.view(id)).purged, false)
    await kit.advance('5h')
    assert.equal((await stage.view(id)).purged, true)
  })

  test('telling the end again does not lengthen how long a job is kept by more than its telling', async () => {
    const told = defineJob({
      id: 'told',
      version: 1,
      parameters: z.object({}),
      retention,
      onCompleted: () => {},
    }).firstStep({ id: 'only', run: () => {} })
    const { stage, kit } = await Stage.kit([told])
    await using _ = stage
    const id = await stage.start(told, {})
    await kit.drain()
    await kit.advance('25h')
    assert.equal((await stage.view(id)).purged, true)
  })
})
