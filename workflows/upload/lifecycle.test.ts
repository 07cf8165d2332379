import assert from 'node:assert/strict'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { type Implementation, type Processor, systemClock } from 'sluice'
import { type KitTools, type TestKit, testKit } from 'sluice/testing'
import { writeSample } from './sample.ts'
import { around, countsOf, Stage } from './test/stage.ts'
import type { UploadOptions } from './upload.ts'

const story = (id: number) => `{"id":${id},"type":"story","title":"Story ${id}"}`
const list = (...elements: string[]) => `[${elements.join(',')}]`
const good = list(...Array.from({ length: 20 }, (_, index) => story(1 + index)))
const operator = { actor: 'olga', role: 'operator', confirmed: true } as const

type Kit = TestKit & { readonly busy: { until: number } }

/** The real engine in virtual time, the real desk behind it. Extractions that begin while `busy.until` is ahead end then. */
async function openKit(options: Partial<UploadOptions> = {}): Promise<{ stage: Stage; kit: Kit }> {
  let kit!: Kit
  const busy = { until: 0 }
  const clock = { ...systemClock(), now: () => kit.control && kit.clock.now() }
  const stage = await Stage.with({ clock, ...options }, (upload) => {
    const implementations = ({ clock }: KitTools) =>
      around(upload.implementations, 'UploadBatchExtractionProcessor', (extract) => async (context) => {
        if (busy.until > 0) await clock.sleep(busy.until - clock.now(), context.signal)
        return extract(context)
      })
    kit = Object.assign(testKit({ implementations, patienceMs: 20_000 }), { busy })
    return { control: kit.control, stop: () => kit.stop() }
  })
  return { stage, kit }
}

async function drained(stage: Stage, kit: Kit, id: number) {
  await kit.drain()
  return stage.view(id)
}

/** Whoever waits at a gate that never opens is told so. */
const patience = { timeout: 60_000 }

/** Items wait behind their indexing: `all` is kept once so many of them do, and `gate` lets them go. */
function gateBehindIndexing(count: number) {
  const gate = Promise.withResolvers<void>()
  const all = Promise.withResolvers<void>()
  let indexed = 0
  const waits = (inner: Processor): Processor => {
    return async (context) => {
      const outcome = await inner(context)
      indexed += 1
      if (indexed === count) all.resolve()
      await gate.promise
      return outcome
    }
  }
  const wrap = (bound: readonly Implementation[]) => around(bound, 'HNItemIndexingProcessor', waits)
  return { wrap, all, gate }
}

const untilSettled = ['create', 'auto_upload', 'validate_file', 'start_extraction', 'start_processing']

describe('the life of a batch', () => {
  test('has the names of the requirement, in their order', async () => {
    const { stage, kit } = await openKit()
    await using _ = stage
    const clean = await stage.send(good)
    const mixed = await stage.send(list(story(101), 'null'))
    const none = await stage.send(list('null', 'null'))
    await kit.drain()
    assert.deepEqual(await stage.history(clean.id), [...untilSettled, 'complete_batch'])
    assert.deepEqual(await stage.history(mixed.id), [...untilSettled, 'partial_completion'])
    assert.deepEqual(await stage.history(none.id), [...untilSettled, 'all_items_failed'])
    const [item] = await stage.items(clean.id)
    assert.deepEqual(await stage.history(item!.id), [
      'create',
      'auto_ingest',
      'validate_item',
      'check_duplicates',
      'resolve_hierarchy',
      'index_item',
      'complete_processing',
    ])
  })

  test('a completed batch can neither be failed nor retried', async () => {
    const { stage, kit } = await openKit()
    await using _ = stage
    const { id } = await stage.send(good)
    await kit.drain()
    for (const action of ['mark_failed', 'retry_batch', 'retry_failed_items']) {
      await assert.rejects(stage.control.act(id, action, operator), { code: 'conflict' }, action)
    }
    const { actions } = await stage.control.get(id)
    assert.deepEqual(
      actions.map(({ action, refusal }) => [action, refusal]),
      [['notify', 'no receiver of notifications is configured']],
    )
  })
})

describe('mark_failed', () => {
  /** How a batch is brought to a state and kept there. */
  const states: Readonly<Record<string, (stage: Stage, kit: Kit) => Promise<() => Promise<unknown>>>> = {
    initial_state: held('upload_batch', 'initial_state'),
    uploaded: held('upload_batch', 'uploaded'),
    async validated(stage, kit) {
      // Extraction has four places in a process: while others have them all, a batch waits here.
      kit.busy.until = kit.clock.now() + 600_000
      for (const number of [1, 2, 3, 4]) await stage.send(list(story(1_000 + number)))
      await kit.advance('1s')
      kit.busy.until = 0
      return () => kit.advance('20m')
    },
    async extracting(_, kit) {
      kit.crashAt('before', 'UploadBatchExtractionProcessor')
      return () => kit.restart()
    },
    processing: held('upload_item'),
  }

  function held(machine: string, state?: string) {
    return async (stage: Stage) => {
      const scope = state === undefined ? { machine } : { machine, state }
      const { id } = await stage.control.hold(scope, { reason: 'a test looks', owner: 'test' })
      return () => stage.control.release(id)
    }
  }

  for (const [state, keepThere] of Object.entries(states)) {
    test(`works from ${state}, and retry_batch finishes what was begun`, async () => {
      const { stage, kit } = await openKit()
      await using _ = stage
      const goOn = await keepThere(stage, kit)
      const { id } = await stage.send(good)
      await kit.drain({ within: '5m' }).catch(() => {})
      assert.equal((await stage.view(id)).state, state)

      const input = { reason: 'the wrong file' }
      await stage.control.act(id, 'mark_failed', { ...operator, input })
      const failed = await stage.view(id)
      assert.equal(failed.state, 'failed')
      assert.equal(failed.retryCount, 1)
      const { report, failedAt, ...failure } = failed.failure!
      assert.deepEqual(failure, {
        reason: 'the wrong file',
        error: null,
        processor: null,
        attempt: 0,
        state,
        actor: 'olga',
      })
      assert.equal(failedAt, kit.clock.now())
      assert.equal(failed.lastRetryAt, failedAt)
      assert.match(
        report,
        new RegExp(`Upload batch ${id}, file items.json .* failed in ${state}.\nReason: the wrong file.`),
      )
      assert.match(report, /Asked for by olga/)

      const before = (await stage.items(id)).map(({ state }) => state)
      await goOn()
      await kit.advance('2h')
      const after = (await stage.items(id)).map(({ state }) => state)
      assert.deepEqual(after, before, 'no item moves while its batch is failed')
      assert.equal((await stage.view(id)).state, 'failed')

      await stage.control.act(id, 'retry_batch', operator)
      const retried = await stage.view(id)
      assert.equal(retried.failure, null)
      assert.equal(retried.errorSummary, null)
      assert.equal(retried.processingCompletedAt, null)
      const done = await drained(stage, kit, id)
      assert.equal(done.state, 'completed')
      assert.deepEqual(countsOf(done), { total: 20, completed: 20, failed: 0, skipped: 0 })
      assert.equal((await stage.items(id)).length, 20)
      assert.equal(done.retryCount, 1)
      assert.deepEqual((await stage.history(id)).slice(-5), [
        'retry_batch',
        'validate_file',
        'start_extraction',
        'start_processing',
        'complete_batch',
      ])
      assert.deepEqual(await stage.control.check([id, null]), [])
      const { found } = await stage.upload.search({ limit: 100 })
      assert.equal(found.filter(({ batch }) => batch === id).length, 20)
    })
  }

  test('ends an extraction that runs: none of its items ever appears', async () => {
    const { stage, kit } = await openKit()
    await using _ = stage
    kit.busy.until = kit.clock.now() + 600_000
    const { id } = await stage.send(good)
    await kit.advance('1s')
    assert.equal((await stage.view(id)).state, 'extracting')
    await stage.control.act(id, 'mark_failed', operator)
    kit.busy.until = 0
    await kit.advance('1h')
    const view = await stage.view(id)
    assert.equal(view.state, 'failed')
    assert.equal(view.failure?.reason, 'marked as failed by olga')
    assert.deepEqual(await stage.items(id), [])
  })

  test('stops items in the middle of their work, and retry_batch does the rest, each once', patience, async () => {
    // All items are in the catalogue when the batch fails, and none of them is saved.
    const { wrap, all, gate } = gateBehindIndexing(360)
    await using stage = await Stage.open('sqlite', { wrap })
    const path = stage.path('sample')
    const sample = await writeSample({ path, items: 400, bad: 0.1, seed: 5 })
    const { id } = await stage.send(await readFile(path))
    await all.promise
    await stage.control.act(id, 'mark_failed', operator)
    const stopped = await stage.view(id)
    assert.equal(stopped.state, 'failed')
    assert.ok(stopped.itemsPending > 300)
    assert.match(stopped.failure!.report, new RegExp(`${stopped.itemsPending} not settled`))
    gate.resolve()
    // Whatever the engine had in hand has come to its end when later batches have.
    await stage.run(list(story(1)))
    await stage.run(list(story(2)))
    assert.deepEqual(countsOf(await stage.view(id)), countsOf(stopped))
    await stage.control.act(id, 'retry_batch', operator)
    const view = await stage.settled(id)
    assert.equal(view.state, 'partially_completed')
    assert.deepEqual(countsOf(view), { total: 400, completed: 400 - sample.bad, failed: sample.bad, skipped: 0 })
    assert.equal(view.resultSummary?.merged, 0)
    assert.equal((await stage.items(id)).length, 400)
    assert.deepEqual(await stage.control.check([id, null]), [])
  })

  test('versions of an item that were merged before the batch failed count as they would have', async () => {
    const { wrap, all, gate } = gateBehindIndexing(4)
    await using stage = await Stage.open('memory', { wrap })
    const version = (score: number, more = '') => `{"id":1,"type":"story","score":${score}${more}}`
    const { id } = await stage.send(list(version(1, ',"url":"kept"'), version(2), version(2), version(3)))
    await all.promise
    await stage.control.act(id, 'mark_failed', operator)
    gate.resolve()
    await stage.run(list(story(2)))
    await stage.control.act(id, 'retry_batch', operator)
    const view = await stage.settled(id)
    assert.deepEqual(
      (await stage.items(id)).map(({ state }) => state),
      ['completed', 'completed', 'skipped', 'completed'],
    )
    assert.equal(view.resultSummary?.merged, 2)
    const read = async () => (await stage.upload.search({})).found.find(({ hnId }) => hnId === 1)
    const found = await read()
    assert.equal(found?.item.url, 'kept')
    await stage.upload.rebuild(stage.control)
    assert.deepEqual(await read(), found)
  })

  test('needs to be confirmed, since it stops items', async () => {
    const { stage, kit } = await openKit()
    await using _ = stage
    await stage.control.hold({ machine: 'upload_item' }, { reason: 'a test looks', owner: 'test' })
    const { id } = await stage.send(good)
    await kit.drain({ within: '5m' }).catch(() => {})
    await assert.rejects(stage.control.act(id, 'mark_failed', { ...operator, confirmed: false }), /stopped/)
    assert.equal((await stage.view(id)).state, 'processing')
  })
})

describe('retry_batch', () => {
  test('mends a batch whose stored file had gone, as soon as it is back', async () => {
    const { stage, kit } = await openKit()
    await using _ = stage
    const hold = await stage.control.hold({ machine: 'upload_batch' }, { reason: 'a test looks', owner: 'test' })
    const { id } = await stage.send(good)
    const path = stage.path(`files/${(await stage.view(id)).sha256}`)
    await rm(path)
    await stage.control.release(hold.id)
    const failed = await drained(stage, kit, id)
    assert.equal(failed.state, 'failed')
    assert.equal(failed.failure?.reason, 'stored file is missing or changed')
    await writeFile(path, good)
    await stage.control.act(id, 'retry_batch', operator)
    const done = await drained(stage, kit, id)
    assert.equal(done.state, 'completed')
    assert.equal(done.itemsProcessed, 20)
    assert.ok(done.fileMd5Hash)
  })

  test('the third failure is the last: its refusal is named by the actions and by the act', async () => {
    const { stage, kit } = await openKit()
    await using _ = stage
    const { id } = await stage.send('not JSON at all', { contentType: 'application/json' })
    for (const failures of [1, 2, 3]) {
      const view = await drained(stage, kit, id)
      assert.equal(view.state, 'failed')
      assert.equal(view.retryCount, failures)
      if (failures < 3) await stage.control.act(id, 'retry_batch', operator)
    }
    await assertRefused(stage, id, /has failed 3 times; at most 3 failures may be retried/)
  })

  test('a failure of more than a day ago is not retried any more; one of less is', async () => {
    const { stage, kit } = await openKit()
    await using _ = stage
    const { id } = await stage.send('[')
    await kit.drain()
    await kit.advance('23h59m')
    await stage.control.act(id, 'retry_batch', operator)
    await kit.drain()
    await kit.advance('24h')
    await assertRefused(stage, id, /it failed 24 h ago; it may be retried within 24 h/)
  })

  test('count and window are settings', async () => {
    const { stage, kit } = await openKit({ retriesMax: 1, retryWindowMs: 60_000 })
    await using _ = stage
    const { id } = await stage.send('[')
    await kit.drain()
    await assertRefused(stage, id, /has failed 1 times; at most 1/)
  })

  async function assertRefused(stage: Stage, id: number, why: RegExp): Promise<void> {
    const { actions } = await stage.control.get(id)
    const offered = actions.find(({ action }) => action === 'retry_batch')
    assert.match(offered?.refusal ?? '', why)
    const { retryCount } = await stage.view(id)
    await assert.rejects(stage.control.act(id, 'retry_batch', operator), { code: 'conflict', message: why })
    assert.equal((await stage.view(id)).state, 'failed')
    assert.equal((await stage.view(id)).retryCount, retryCount)
  }

  test('items that were done are not done again, those that failed get their try', async () => {
    const { stage, kit } = await openKit()
    await using _ = stage
    const { id } = await stage.send(list('{"id":1,"type":"song"}', 'null'))
    const first = await drained(stage, kit, id)
    assert.equal(first.state, 'failed')
    assert.deepEqual(countsOf(first), { total: 2, completed: 0, failed: 2, skipped: 0 })
    await stage.control.act(id, 'retry_batch', operator)
    const second = await drained(stage, kit, id)
    assert.equal(second.state, 'failed')
    assert.deepEqual(countsOf(second), { total: 2, completed: 0, failed: 2, skipped: 0 })
    assert.equal((await stage.items(id)).length, 2)
    assert.equal(second.retryCount, 2)
  })
})

describe('failures that nobody reports', () => {
  test('an error in a processor is tried again, then fails the batch with its stack, for operators only', async () => {
    const { stage, kit } = await openKit()
    await using _ = stage
    const hold = await stage.control.hold(
      { machine: 'upload_batch', state: 'uploaded' },
      { reason: 'x', owner: 'test' },
    )
    const { id } = await stage.send(good)
    await kit.drain({ within: '5m' }).catch(() => {})
    const path = stage.path(`files/${(await stage.view(id)).sha256}`)
    await rename(path, `${path}.away`)
    await stage.control.release(hold.id)
    const view = await drained(stage, kit, id)
    assert.equal(view.state, 'failed')
    assert.equal(view.failure?.processor, 'UploadBatchValidationProcessor')
    assert.equal(view.failure?.attempt, 4)
    assert.ok(view.failure?.error)
    assert.equal(view.failure?.state, 'uploaded')
    assert.match(view.failure!.report, /Processor UploadBatchValidationProcessor, attempt 4/)
    assert.ok(!JSON.stringify(view).includes('desk'), 'no stack for others')
    assert.equal(view.stackTrace, null)
    const seen = await stage.view(id, { isOperator: true })
    assert.match(seen.stackTrace ?? '', /\n\s+at /)
    await rename(`${path}.away`, path)
    await stage.control.act(id, 'retry_batch', operator)
    assert.equal((await drained(stage, kit, id)).state, 'completed')
    assert.equal((await stage.view(id, { isOperator: true })).stackTrace, null)
  })
})
