import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { explore } from 'sluice/testing'
import { z } from 'zod'
import { openChunked } from './chunked.ts'
import { defineJob } from './define-job.ts'
import { done, retry, retryLater } from './outcome.ts'
import { gateOf, numbers, range, Stage, soon, storeKinds } from './test/stage.ts'

const none = z.object({})

for (const kind of storeKinds) {
  describe(`a job, ${kind}`, () => {
    test('goes through its steps, and ends with the report of all that they gave out', async () => {
      const job = defineJob({ id: 'sum', version: 3, parameters: z.object({ n: z.int().min(1) }) })
        .firstStep({
          id: 'ranges',
          output: z.number(),
          run: ({ parameters }, sink) => numbers(parameters.n)(null, sink),
        })
        .step({
          id: 'ids',
          gated: true,
          output: z.number(),
          run: async ({ data }, sink) => {
            await sink.accept(data)
            await sink.accept(data * 10)
            if (data === 2) sink.warn('two is odd')
          },
        })
        .step({
          id: 'work',
          gated: true,
          chunkSize: 3,
          output: z.object({ sum: z.number() }),
          run: async ({ data }, sink) => {
            await sink.accept({ sum: data.reduce((all, one) => all + one, 0) })
            return done(data.length)
          },
        })
        .reducer({
          id: 'report',
          initial: () => ({ total: 0, outputs: 0 }),
          consume: ({ total, outputs }, { sum }) => ({ total: total + sum, outputs: outputs + 1 }),
        })
      await using stage = await Stage.open(kind, [job])
      const view = await stage.run(job, { n: 5 }, { startedBy: 'ada', priority: 7 })
      assert.equal(view.state, 'completed')
      assert.deepEqual(view.report, { total: 110, outputs: 5 })
      assert.deepEqual(
        view.steps.map(({ id, kind, phase, total, settled, records }) => [id, kind, phase, total, settled, records]),
        [
          ['ranges', 'step', 'complete', 1, 1, 0],
          ['ids', 'step', 'complete', 5, 5, 0],
          ['work', 'step', 'complete', 5, 5, 10],
          ['report', 'reducer', 'complete', 1, 1, 5],
        ],
      )
      const { definition, version, startedBy, parameters, records, errorCount, warningCount, errorMessage } = view
      assert.deepEqual(
        { definition, version, startedBy, parameters, records, errorCount, warningCount, errorMessage },
        {
          definition: 'sum',
          version: 3,
          startedBy: 'ada',
          parameters: { n: 5 },
          records: 10,
          errorCount: 0,
          warningCount: 1,
          errorMessage: null,
        },
      )
      assert.ok(view.createTime <= view.startTime! && view.startTime! <= view.endTime!)
      assert.deepEqual(await stage.history(view.id), ['create', 'start', 'advance', 'advance', 'finalize', 'report'])
      const { entities } = await stage.control.list({ parent: view.id })
      assert.deepEqual(
        entities.map(({ priority }) => priority),
        entities.map(() => 7),
        'chunks have the priority of their job',
      )
      assert.deepEqual(await stage.drift(view.id), [])
    })

    test('chunks pass the states that are drawn, all of them', async () => {
      const job = defineJob({ id: 'drawn', version: 1, parameters: none })
        .firstStep({ id: 'plain', output: z.number(), run: numbers(1) })
        .step({
          id: 'erring',
          retry: soon,
          output: z.number(),
          run: async ({ attempt }, sink) => {
            if (attempt === 1) return retry('not yet')
            return sink.accept(1)
          },
        })
        .step({ id: 'polling', polling: true, output: z.number(), run: numbers(1) })
        .step({
          id: 'gated',
          gated: true,
          run: ({ chunk }) => (chunk.pollAttempts === 0 ? retryLater(10) : done()),
        })
      await using stage = await Stage.open(kind, [job])
      const { id, state } = await stage.run(job, {})
      assert.equal(state, 'completed')
      const paths = await Promise.all(
        (await stage.chunks(id)).map(async (chunk) => (await stage.path(chunk.id)).join(' ')),
      )
      assert.deepEqual(paths, [
        'ready queued in_progress completed',
        'ready queued in_progress error in_progress completed',
        'poll_waiting ready queued in_progress completed',
        'gate_waiting ready queued in_progress poll_waiting ready queued in_progress completed',
      ])
    })

    test('a first step that gives nothing out completes the job', async () => {
      const job = defineJob({ id: 'nothing', version: 1, parameters: none })
        .firstStep({ id: 'first', output: z.number(), run: () => done() })
        .step({ id: 'second', gated: true, output: z.number(), run: () => assert.fail('there is nothing to do') })
        .step({ id: 'third', run: () => assert.fail('there is nothing to do') })
      await using stage = await Stage.open(kind, [job])
      const view = await stage.run(job, {})
      assert.equal(view.state, 'completed')
      assert.equal(view.chunks.total, 1)
      assert.equal(view.report, null)
      assert.deepEqual(await stage.history(view.id), ['create', 'start', 'complete'])
    })

    test('D6: without output the reducer runs on nothing', async () => {
      const job = defineJob({ id: 'nothing', version: 1, parameters: none })
        .firstStep({ id: 'first', output: z.number(), run: () => {} })
        .step({ id: 'second', output: z.number(), run: () => {} })
        .reducer({
          id: 'report',
          initial: () => ({ count: 0 }),
          consume: () => assert.fail('there is nothing to take in'),
          report: (accumulator, { count }) => ({ ...accumulator, seen: count }),
        })
      await using stage = await Stage.open(kind, [job])
      const view = await stage.run(job, {})
      assert.equal(view.state, 'completed')
      assert.deepEqual(view.report, { count: 0, seen: 0 })
      assert.deepEqual(await stage.history(view.id), ['create', 'start', 'finalize', 'report'])
    })

    test('D14: a reducer that reports nothing completes the job with no report', async () => {
      const job = defineJob({ id: 'quiet', version: 1, parameters: none })
        .firstStep({ id: 'first', output: z.number(), run: numbers(2) })
        .reducer({ id: 'report', initial: () => 0, consume: (sum, one) => sum + one, report: () => undefined })
      await using stage = await Stage.open(kind, [job])
      const view = await stage.run(job, {})
      assert.deepEqual([view.state, view.report], ['completed', null])
    })

    test('D4: any number of steps without output is passed in one decision', async () => {
      const empty = () => assert.fail('nobody gave it anything')
      const output = z.number()
      const job = defineJob({ id: 'leap', version: 1, parameters: none })
        .firstStep({ id: 'a', output, run: async (_, sink) => sink.acceptFor('f', 4) })
        .step({ id: 'b', gated: true, output, run: empty })
        .step({ id: 'c', gated: true, output, run: empty })
        .step({ id: 'd', output, run: empty })
        .step({ id: 'e', gated: true, polling: true, output, run: empty })
        .step({ id: 'f', gated: true, run: ({ data }) => done(data) })
      await using stage = await Stage.open(kind, [job])
      const view = await stage.run(job, {})
      assert.equal(view.state, 'completed')
      assert.equal(view.records, 4)
      assert.deepEqual(await stage.history(view.id), ['create', 'start', 'advance', 'complete'])
    })

    test('D13: a step that gives out much and then errs leaves nothing of it', async () => {
      const job = defineJob({ id: 'twice', version: 1, parameters: none })
        .firstStep({
          id: 'first',
          retry: soon,
          output: z.number(),
          run: async ({ attempt, chunk, checkpoint }, sink) => {
            if (attempt === 1) {
              await numbers(2_600)(null, sink)
              throw new Error('late')
            }
            if (chunk.pollAttempts === 0) {
              await numbers(1_200)(null, sink)
              throw retryLater(10)
            }
            await numbers(3)(null, sink)
            await checkpoint('never read')
            await numbers(2)(null, sink)
          },
        })
        .step({ id: 'second', gated: true, run: ({ data }) => done(data) })
      await using stage = await Stage.open(kind, [job])
      const view = await stage.run(job, {})
      assert.equal(view.state, 'completed')
      assert.deepEqual(view.chunks, { total: 6, settled: 6, failed: 0 })
      assert.deepEqual(
        (await stage.chunks(view.id, 'second')).map(({ data }) => data),
        [0, 1, 2, 0, 1],
      )
      assert.deepEqual(await stage.drift(view.id), [])
    })

    test('what nobody awaits is kept all the same, in order', async () => {
      const job = defineJob({ id: 'hasty', version: 1, parameters: none })
        .firstStep({
          id: 'first',
          output: z.number(),
          run: (_, sink) => {
            for (const number of range(3_000)) void sink.accept(number)
          },
        })
        .step({ id: 'second', run: () => {} })
      await using stage = await Stage.open(kind, [job])
      const view = await stage.run(job, {})
      assert.equal(view.state, 'completed')
      const chunks = await stage.chunks(view.id, 'second')
      assert.deepEqual(
        chunks.map(({ data }) => data),
        range(3_000),
      )
      assert.deepEqual(
        chunks.map(({ sequence }) => sequence),
        range(3_000),
      )
    })

    test('chunkSize gathers what one chunk gives out, and long items make smaller lists', async () => {
      const lists: unknown[] = []
      const job = defineJob({ id: 'lists', version: 1, parameters: none })
        .firstStep({ id: 'sources', output: z.number(), run: numbers(2) })
        .step({
          id: 'items',
          output: z.string(),
          run: async ({ data }, sink) => {
            for (const number of range(10)) await sink.accept(`${data}${data === 0 ? 'x' : 'y'.repeat(300)}${number}`)
            await sink.acceptFor('other', 'for another step')
          },
        })
        .step({
          id: 'listed',
          gated: true,
          chunkSize: 4,
          output: z.string(),
          run: ({ data }) => {
            lists.push(data.map((text) => `${text.at(0)}${text.at(-1)}`))
          },
        })
        .step({ id: 'other', chunkSize: 2, run: () => {} })
      await using stage = await Stage.open(kind, [job], { limits: { listBytesMax: 1_000 } })
      const view = await stage.run(job, {})
      assert.equal(view.state, 'completed')
      assert.deepEqual(lists.sort(), [
        ['00', '01', '02', '03'],
        ['04', '05', '06', '07'],
        ['08', '09'],
        ['10', '11', '12'],
        ['13', '14', '15'],
        ['16', '17', '18'],
        ['19'],
      ])
      assert.equal(view.steps[2]?.records, 20, 'a list is as many records as it has items')
      assert.deepEqual(
        (await stage.chunks(view.id, 'other')).map(({ data }) => data),
        [['for another step'], ['for another step']],
      )
    })

    test('acceptFor reaches a later step, which waits at its own gate', async () => {
      const order: string[] = []
      const job = defineJob({ id: 'later', version: 1, parameters: none })
        .firstStep({
          id: 'a',
          output: z.number(),
          run: async (_, sink) => {
            await sink.acceptFor('d', 'direct')
            await sink.accept(1)
          },
        })
        .step({
          id: 'b',
          output: z.number(),
          run: async ({ data }, sink) => {
            order.push('b')
            await sink.accept(data)
          },
        })
        .step({
          id: 'c',
          gated: true,
          output: z.string(),
          run: async ({ data }, sink) => {
            order.push('c')
            await sink.accept(String(data))
          },
        })
        .step({
          id: 'd',
          gated: true,
          run: ({ data }) => {
            order.push(`d ${data}`)
          },
        })
      await using stage = await Stage.open(kind, [job])
      assert.equal((await stage.run(job, {})).state, 'completed')
      assert.deepEqual(order.slice(0, 2), ['b', 'c'])
      assert.deepEqual(order.slice(2).sort(), ['d 1', 'd direct'])
    })

    test('warnings are kept with their chunk, cut, counted beyond the limit, and listed', async () => {
      const job = defineJob({ id: 'odd', version: 1, parameters: none })
        .firstStep({ id: 'first', output: z.number(), run: numbers(40) })
        .step({
          id: 'second',
          run: ({ data }, sink) => {
            if (data === 3) for (const number of range(5)) sink.warn(`${number} ${'w'.repeat(50)}`)
            if (data === 5) sink.recoveredError('got over it')
          },
        })
      await using stage = await Stage.open(kind, [job], { limits: { warningsMax: 2, messageMax: 10 } })
      const view = await stage.run(job, {})
      assert.equal(view.warningCount, 6)
      assert.equal(view.errorCount, 1, 'an error that was got over counts')
      assert.equal(view.state, 'completed')
      const { chunks } = await stage.chunked.warnings(stage.control, view.id)
      assert.deepEqual(
        chunks.map(({ data, warnings, errorCount }) => ({ data, warnings, errorCount })),
        [
          { data: 3, warnings: ['0 wwwwwwww', '1 wwwwwwww'], errorCount: 0 },
          { data: 5, warnings: ['got over i'], errorCount: 1 },
        ],
      )
      const first = await stage.chunked.warnings(stage.control, view.id, { limit: 1 })
      const rest = await stage.chunked.warnings(stage.control, view.id, { limit: 1, after: first.next! })
      assert.deepEqual([...first.chunks, ...rest.chunks], chunks)
    })

    test('what the output schema makes of the data is what the next step gets', async () => {
      const job = defineJob({ id: 'typed', version: 1, parameters: z.object({ size: z.coerce.number().default(2) }) })
        .firstStep({
          id: 'first',
          output: z.object({ name: z.string().trim(), size: z.number().default(9) }),
          run: async ({ parameters }, sink) => {
            assert.equal(parameters.size, 3)
            await sink.accept({ name: ' ada ' } as never)
          },
        })
        .step({
          id: 'second',
          run: ({ data }) => {
            assert.deepEqual(data, { name: 'ada', size: 9 })
          },
        })
      await using stage = await Stage.open(kind, [job])
      assert.equal((await stage.run(job, { size: '3' })).state, 'completed')
    })

    test('two jobs of one definition do not see each other', async () => {
      const job = defineJob({ id: 'two', version: 1, parameters: z.object({ n: z.number() }) })
        .firstStep({
          id: 'first',
          output: z.number(),
          run: ({ parameters }, sink) => numbers(parameters.n)(null, sink),
        })
        .step({ id: 'second', gated: true, output: z.number(), run: ({ data }, sink) => sink.accept(data) })
        .reducer({ id: 'report', initial: () => 0, consume: (count) => count + 1 })
      await using stage = await Stage.open(kind, [job])
      const ids = await Promise.all(range(8).map((n) => stage.start(job, { n })))
      for (const [n, id] of ids.entries()) assert.equal((await stage.settled(id)).report, n)
    })

    test('a step says where it is, and its idempotency key outlives its attempts', async () => {
      const keys: string[] = []
      const looked = gateOf()
      const at = gateOf<number>()
      const job = defineJob({ id: 'told', version: 1, parameters: none }).firstStep({
        id: 'only',
        retry: soon,
        run: async ({ idempotencyKey, attempt, progress, chunk, job }) => {
          keys.push(idempotencyKey)
          if (attempt < 3) return retry('again')
          assert.equal(chunk.errorCount, 2)
          assert.deepEqual(job.parameters, {})
          progress({ half: true })
          at.open(chunk.id)
          await looked.passed
          return done()
        },
      })
      await using stage = await Stage.open(kind, [job])
      const id = await stage.start(job, {})
      const chunk = await at.passed
      await stage.until(id, 'the error', ({ state }) => state === 'errored')
      assert.equal((await stage.control.get(chunk)).state, 'in_progress')
      looked.open()
      assert.equal((await stage.settled(id)).state, 'completed')
      assert.equal(keys.length, 3)
      assert.equal(new Set(keys).size, 1)
    })
  })
}

describe('crashes', () => {
  test('D12, D13, at every point, also by a process that comes back too late: everything is given out once, and there is one report', async () => {
    const job = defineJob({ id: 'crashing', version: 1, parameters: none })
      .firstStep({
        id: 'first',
        output: z.number(),
        run: async ({ cursor, checkpoint }, sink) => {
          const from = typeof cursor === 'number' ? cursor : 0
          for (const number of range(4).slice(from)) {
            await sink.accept(number)
            await checkpoint(number + 1)
          }
        },
      })
      .step({
        id: 'second',
        gated: true,
        output: z.number(),
        run: async ({ data, cursor, checkpoint }, sink) => {
          if (cursor === null) {
            await sink.accept(data * 10)
            await checkpoint('half')
          }
          await sink.accept(data * 10 + 1)
        },
      })
      .reducer({ id: 'report', initial: () => [] as number[], consume: (all, one) => [...all, one] })
    const limits = { reduceEvery: 1 }
    const family = openChunked({ definitions: [job], limits })
    const { points } = await explore({
      implementations: () => openChunked({ definitions: [job], limits }).implementations,
      start: (control) => family.start(control, job, {}, { key: 'one' }),
      check: async (control) => {
        const { jobs } = await family.jobs(control)
        const view = await family.job(control, jobs[0]!.id)
        assert.equal(view.state, 'completed')
        assert.deepEqual(view.report, [0, 1, 10, 11, 20, 21, 30, 31])
        assert.deepEqual(view.chunks, { total: 6, settled: 6, failed: 0 })
        assert.deepEqual(await control.check([view.id, null]), [])
      },
      zombies: true,
      pairs: 20,
    })
    assert.ok(points > 20, `${points} points`)
  })
})
