import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { z } from 'zod'
import { defineJob } from './define-job.ts'
import { done, fail } from './outcome.ts'
import { range, refused, Stage, storeKinds } from './test/stage.ts'

const parameters = z.object({
  from: z.int().min(0),
  to: z.int(),
  mode: z.enum(['fast', 'safe']).default('safe'),
  names: z.array(z.string()).optional(),
})

const job = defineJob({ id: 'ranged', version: 1, parameters })
  .firstStep({ id: 'only', output: z.string(), run: ({ parameters }, sink) => sink.accept(parameters.mode) })
  .reducer({ id: 'report', initial: () => '', consume: (_, mode) => mode })

for (const kind of storeKinds) {
  describe(`start, ${kind}`, () => {
    test('checks the parameters, and tells all that is wrong at once; nothing is created', async () => {
      await using stage = await Stage.open(kind, [job])
      await assert.rejects(
        stage.start(job, { from: -1, to: 'x', mode: 'slow', names: [1] } as never),
        (error: Error & { code?: string; details?: { faults?: readonly string[] } }) => {
          assert.equal(error.code, 'invalid')
          assert.match(error.message, /^The parameters of job ranged@1 do not fit: /)
          for (const field of ['from: ', 'to: ', 'mode: ', 'names.0: ']) assert.ok(error.message.includes(field), field)
          return true
        },
      )
      await assert.rejects(stage.start(job, null as never), refused('invalid', /parameters: /))
      assert.deepEqual((await stage.chunked.jobs(stage.control)).jobs, [])
    })

    test('defaults of the schema are what the steps see, and what is stored', async () => {
      await using stage = await Stage.open(kind, [job])
      const view = await stage.run(job, { from: 1, to: 2 })
      assert.deepEqual(view.parameters, { from: 1, to: 2, mode: 'safe' })
      assert.equal(view.report, 'safe')
    })

    test('an unknown job is refused, with those that are known', async () => {
      await using stage = await Stage.open(kind, [job])
      await assert.rejects(
        stage.chunked.start(stage.control, 'nobody', {}),
        refused('not_found', /There is no job nobody. Known: ranged./),
      )
    })

    test('D15: the same key is the same job, also in a race; with other parameters it is refused', async () => {
      await using stage = await Stage.open(kind, [job])
      const given = { from: 1, to: 2 }
      const started = await Promise.all(
        range(20).map(() => stage.chunked.start(stage.control, job, given, { key: 'monday' })),
      )
      assert.equal(new Set(started.map(({ id }) => id)).size, 1)
      assert.equal(started.filter(({ existing }) => !existing).length, 1)
      const { id } = started[0]!
      await stage.settled(id)
      // Also when it has ended, and when a default is written out.
      const again = await stage.chunked.start(stage.control, job, { to: 2, from: 1, mode: 'safe' }, { key: 'monday' })
      assert.deepEqual(again, { id, existing: true })
      await assert.rejects(
        stage.start(job, { from: 1, to: 3 }, { key: 'monday' }),
        refused('conflict', new RegExp(`monday was used for job ${id}, with other parameters`)),
      )
      assert.equal((await stage.chunked.jobs(stage.control)).jobs.length, 1)
      const other = await stage.chunked.start(stage.control, job, given, { key: 'tuesday' })
      assert.notEqual(other.id, id)
    })

    test('keys of different definitions do not meet', async () => {
      const other = defineJob({ id: 'other', version: 1, parameters }).firstStep({ id: 'only', run: () => {} })
      await using stage = await Stage.open(kind, [job, other])
      const one = await stage.start(job, { from: 1, to: 2 }, { key: 'same' })
      const two = await stage.start(other, { from: 1, to: 2 }, { key: 'same' })
      assert.notEqual(one, two)
    })

    test('a hold over its collection keeps a job from being taken up', async () => {
      await using stage = await Stage.open(kind, [job])
      const scope = { machine: 'chunked_job', label: { name: 'collection', value: 'maps' } }
      const hold = await stage.control.hold(scope, { reason: 'disk', owner: 'ada' })
      const held = await stage.start(job, { from: 1, to: 2 }, { collection: 'maps' })
      assert.equal((await stage.run(job, { from: 1, to: 2 }, { collection: 'books' })).state, 'completed')
      const explained = await stage.control.explain(held)
      assert.deepEqual([explained.state, explained.kind], ['queued', 'held'], explained.sentence)
      await stage.control.release(hold.id)
      assert.equal((await stage.settled(held)).state, 'completed')
    })

    test('a key stays with its job; again starts another one if that has failed or was cancelled', async () => {
      let isBroken = true
      const job = defineJob({ id: 'again', version: 1, parameters: z.object({}) }).firstStep({
        id: 'only',
        run: () => (isBroken ? fail('broken') : done()),
      })
      await using stage = await Stage.open(kind, [job])
      const failed = await stage.run(job, {}, { key: 'k' })
      assert.equal(failed.state, 'failed')
      assert.equal(await stage.start(job, {}, { key: 'k' }), failed.id, 'a plain repeat gives the old one')
      isBroken = false
      const ids = await Promise.all(range(3).map(() => stage.start(job, {}, { key: 'k', again: true })))
      assert.equal(new Set(ids).size, 1, 'also in a race there is one')
      assert.notEqual(ids[0], failed.id)
      assert.equal((await stage.settled(ids[0]!)).state, 'completed')
      assert.equal(await stage.start(job, {}, { key: 'k', again: true }), ids[0], 'it has done what was asked for')
      await assert.rejects(stage.start(job, {}, { key: '' }), refused('invalid', /key of a job must not be empty/))
    })

    test('parameters that are no data, or too big, are refused and not kept', async () => {
      const anything = defineJob({ id: 'anything', version: 1, parameters: z.any() }).firstStep({
        id: 'only',
        run: () => {},
      })
      await using stage = await Stage.open(kind, [anything])
      const circle: Record<string, unknown> = {}
      circle.itself = circle
      for (const given of [circle, { big: 1n }, 'x'.repeat(300_000)]) {
        await assert.rejects(stage.start(anything, given), refused('invalid', /./))
      }
      await assert.rejects(stage.start(anything, {}, { key: 'k'.repeat(1_000) }), refused('invalid', /./))
      assert.deepEqual((await stage.chunked.jobs(stage.control)).jobs, [])
      assert.equal((await stage.run(anything, undefined)).state, 'completed')
    })
  })

  describe(`the list of jobs, ${kind}`, () => {
    test('newest first, by definition, version, state and time, in pages', async () => {
      const failing = defineJob({ id: 'failing', version: 2, parameters: z.object({}) }).firstStep({
        id: 'only',
        run: () => ({ kind: 'fail', reason: 'broken' }),
      })
      await using stage = await Stage.open(kind, [job, failing])
      const ids: number[] = []
      for (const number of range(5)) {
        ids.push((await stage.run(job, { from: number, to: 9 }, { startedBy: 'ada' })).id)
        ids.push((await stage.run(failing, {})).id)
      }
      const newest = [...ids].reverse()
      const list = async (filter: Parameters<typeof stage.chunked.jobs>[1]) => {
        const { jobs, next } = await stage.chunked.jobs(stage.control, filter)
        return { ids: jobs.map(({ id }) => id), next }
      }
      assert.deepEqual(await list({}), { ids: newest, next: null })
      const even = newest.filter((_, index) => index % 2 === 1)
      const odd = newest.filter((_, index) => index % 2 === 0)
      assert.deepEqual((await list({ definition: 'ranged' })).ids, even)
      assert.deepEqual((await list({ states: ['failed'] })).ids, odd)
      assert.deepEqual((await list({ version: 2 })).ids, odd)
      assert.deepEqual((await list({ definition: 'failing', states: ['completed'] })).ids, [])
      const pages: number[] = []
      for (let after: number | undefined; ; ) {
        const page = await list({ definition: 'ranged', limit: 2, ...(after === undefined ? {} : { after }) })
        pages.push(...page.ids)
        assert.ok(page.ids.length <= 2)
        if (page.next === null) break
        after = page.next
      }
      assert.deepEqual(pages, even)
      const { jobs } = await stage.chunked.jobs(stage.control)
      const times = jobs.map(({ createTime }) => createTime)
      const middle = times[4]!
      assert.deepEqual(
        (await list({ from: middle })).ids,
        newest.filter((_, index) => times[index]! >= middle),
      )
      assert.deepEqual(
        (await list({ to: middle })).ids,
        newest.filter((_, index) => times[index]! <= middle),
      )
      const [line] = jobs
      assert.deepEqual(
        [line?.definition, line?.version, line?.state, line?.errorMessage],
        ['failing', 2, 'failed', '1 of 1 chunk of step only failed: broken'],
      )
      assert.equal(jobs[1]?.startedBy, 'ada')
    })
  })
}
