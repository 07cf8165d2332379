import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { testKit } from 'sluice/testing'
import { z } from 'zod'
import { openChunked } from './chunked.ts'
import { defineJob } from './define-job.ts'
import { retryLater } from './outcome.ts'
import { numbers, range, refused, Stage, storeKinds } from './test/stage.ts'

const none = z.object({})

/** Version 1 has one step, version 2 has two: each gives its number as the report. */
function versions(ran: (version: number) => void, isSlow = () => false) {
  const first = defineJob({ id: 'evolving', version: 1, parameters: none })
    .firstStep({
      id: 'only',
      output: z.number(),
      run: async ({ chunk }, sink) => {
        ran(1)
        if (isSlow() && chunk.pollAttempts < 5) return retryLater(60_000)
        return sink.accept(1)
      },
    })
    .reducer({ id: 'report', initial: () => 0, consume: (_, one) => one })
  const second = defineJob({ id: 'evolving', version: 2, parameters: z.object({ size: z.number().default(2) }) })
    .firstStep({ id: 'only', output: z.number(), run: ({ parameters }, sink) => sink.accept(parameters.size) })
    .step({
      id: 'more',
      gated: true,
      retry: { attemptsMax: 7, backoff: { firstMs: 1_000 } },
      output: z.number(),
      run: async ({ data, attempt }, sink) => {
        ran(2)
        if (attempt < 6) throw new Error('not yet')
        await sink.accept(data)
      },
    })
    .reducer({ id: 'report', initial: () => 0, consume: (_, one) => one })
  return { first, second }
}

for (const kind of storeKinds) {
  describe(`versions, ${kind}`, () => {
    test('live side by side: a start takes the newest, or the one that is asked for', async () => {
      const job = (version: number) =>
        defineJob({ id: 'sided', version, parameters: none })
          .firstStep({ id: 'only', output: z.number(), run: (_, sink) => sink.accept(version) })
          .reducer({ id: 'report', initial: () => 0, consume: (_, one) => one })
      await using stage = await Stage.open(kind, [job(2), job(10), job(1)])
      const run = async (options: { version?: number }) => {
        const { id } = await stage.chunked.start(stage.control, 'sided', {}, options)
        const { version, report } = await stage.settled(id)
        return [version, report]
      }
      assert.deepEqual(await run({}), [10, 10], 'the newest by number, whatever the order')
      assert.deepEqual(await run({ version: 1 }), [1, 1])
      assert.deepEqual(await run({ version: 2 }), [2, 2])
      await assert.rejects(
        stage.chunked.start(stage.control, 'sided', {}, { version: 3 }),
        refused('not_found', /no version 3 of job sided. Known: 1, 2, 10/),
      )
      const { jobs } = await stage.chunked.jobs(stage.control, { definition: 'sided', version: 2 })
      assert.deepEqual(
        jobs.map(({ version }) => version),
        [2],
      )
      // A definition that is handed over is the version that is started.
      assert.equal((await stage.run(job(2), {})).report, 2)
    })
  })
}

describe('versions, over processes', () => {
  test('a running job stays on its version when a newer one comes', async () => {
    const ran: number[] = []
    const { first, second } = versions(
      (version) => ran.push(version),
      () => true,
    )
    const old = openChunked({ definitions: [first] })
    const both = openChunked({ definitions: [first, second] })
    let current = old
    await using kit = testKit({ implementations: () => current.implementations })
    const { id } = await old.start(kit.control, 'evolving', {})
    await kit.advance('90s')
    kit.crash()
    current = both
    await kit.restart()
    const newer = await both.start(kit.control, 'evolving', {})
    await kit.drain()
    const [one, other] = [await both.job(kit.control, id), await both.job(kit.control, newer.id)]
    assert.deepEqual([one.version, one.state, one.report], [1, 'completed', 1])
    assert.deepEqual([other.version, other.state, other.report], [2, 'completed', 2])
  })

  test('a chunk of a definition that nobody knows waits, says for what it waits, and runs when somebody comes who knows it', async () => {
    const ran: number[] = []
    const { first, second } = versions((version) => ran.push(version))
    const both = openChunked({ definitions: [first, second] })
    let known = openChunked({ definitions: [first] })
    await using kit = testKit({ implementations: () => known.implementations })
    const { id } = await both.start(kit.control, second, { size: 5 })
    await kit.advance('10m')
    const waiting = await both.job(kit.control, id)
    assert.equal(waiting.state, 'in_progress')
    const { chunks } = await both.chunks(kit.control, id)
    const { kind, sentence } = await kit.control.explain(chunks[0]!.id)
    assert.equal(kind, 'no_worker', sentence)
    assert.match(sentence, /no worker serves job definition evolving@2/)
    assert.ok((await kit.control.history(chunks[0]!.id)).length < 10, 'a process meets it once, and leaves it alone')
    assert.deepEqual([chunks[0]?.errorCount, chunks[0]?.pollAttempts], [0, 0], 'that is no error, and no look')
    assert.deepEqual(ran, [])
    // Jobs that are known go on beside it.
    const other = await known.start(kit.control, 'evolving', {})
    await kit.advance('1m')
    assert.equal((await both.job(kit.control, other.id)).report, 1)

    kit.crash()
    known = both
    await kit.restart()
    await kit.drain()
    const view = await both.job(kit.control, id)
    assert.deepEqual([view.state, view.report], ['completed', 5])
  })

  test('two processes, one of which knows less: everything is done by the one that knows it, with all its attempts', async () => {
    const ran: number[] = []
    const { first, second } = versions((version) => ran.push(version))
    const both = openChunked({ definitions: [first, second] })
    let count = 0
    await using kit = testKit({
      engines: 2,
      implementations: () => {
        count += 1
        return openChunked({ definitions: count % 2 === 1 ? [first] : [first, second] }).implementations
      },
    })
    const started = await Promise.all(range(4).map((size) => both.start(kit.control, second, { size })))
    await kit.drain()
    for (const [size, { id }] of started.entries()) {
      const view = await both.job(kit.control, id)
      assert.deepEqual([view.state, view.report, view.errorCount], ['completed', size, 5])
    }
  })

  test('a process that does not know a job never says that attempts of its chunks are spent', async () => {
    const { second } = versions(() => {})
    const knowing = openChunked({ definitions: [second] })
    let current = knowing
    await using kit = testKit({ implementations: () => current.implementations })
    const { id } = await knowing.start(kit.control, second, { size: 5 })
    const chunk = async () => (await knowing.chunks(kit.control, id, { step: 'more' })).chunks[0]
    // More than most steps have.
    while (((await chunk())?.errorCount ?? 0) < 5) await kit.advance('1s')
    kit.crash()
    current = openChunked({ definitions: [] })
    await kit.restart()
    await kit.advance('10m')
    assert.equal((await knowing.job(kit.control, id)).state, 'errored', 'it waits to be tried again')
    kit.crash()
    current = knowing
    await kit.restart()
    await kit.drain()
    const { state, report, errorCount } = await knowing.job(kit.control, id)
    assert.deepEqual([state, report, errorCount], ['completed', 5, 5])
  })

  test('a process that does not know a job meets a few of its chunks, and no more', async () => {
    const count = 300
    const job = defineJob({ id: 'long', version: 1, parameters: none })
      .firstStep({ id: 'list', output: z.number(), run: numbers(count) })
      .step({ id: 'each', run: () => {} })
    const knowing = openChunked({ definitions: [job] })
    const ignorant = openChunked({ definitions: [] })
    let engines = 0
    await using kit = testKit({
      engines: 2,
      limits: { claimMax: 10 },
      implementations: () => {
        engines += 1
        return (engines === 1 ? ignorant : knowing).implementations
      },
    })
    const { id } = await knowing.start(kit.control, 'long', {})
    await kit.drain()
    assert.equal((await knowing.job(kit.control, id)).state, 'completed')
    const { chunks } = await knowing.chunks(kit.control, id, { step: 'each', limit: 1_000 })
    assert.equal(chunks.length, count)
    let passedOn = 0
    for (const chunk of chunks) {
      const history = await kit.control.history(chunk.id)
      passedOn += history.filter(({ transition }) => transition === 'poll_later').length
    }
    assert.ok(passedOn <= 20, `${passedOn} chunks were given back`)
  })

  test('a definition that was changed under its version: the chunk fails, and says what it suspects', async () => {
    const before = defineJob({ id: 'changed', version: 1, parameters: none })
      .firstStep({ id: 'first', output: z.number(), run: numbers(1) })
      .step({ id: 'old', run: () => retryLater(1_000) })
    const after = defineJob({ id: 'changed', version: 1, parameters: none })
      .firstStep({ id: 'first', output: z.number(), run: numbers(1) })
      .step({ id: 'renamed', run: () => {} })
    let known = openChunked({ definitions: [before] })
    await using kit = testKit({ implementations: () => known.implementations })
    const { id } = await known.start(kit.control, 'changed', {})
    await kit.advance('500ms')
    kit.crash()
    known = openChunked({ definitions: [after] })
    await kit.restart()
    await kit.drain()
    const view = await known.job(kit.control, id)
    assert.deepEqual([view.state, view.reasons], ['failed', { 'unknown step': 1 }])
    const { chunks } = await known.chunks(kit.control, id, { step: 'old' })
    assert.match(chunks[0]?.errorMessage ?? '', /Was the definition changed under its version/)
  })
})
