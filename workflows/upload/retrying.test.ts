import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Implementation, systemClock } from 'sluice'
import { explore, type TestKit, testKit } from 'sluice/testing'
import type { ItemData } from './item-data.ts'
import { countsOf, Stage } from './test/stage.ts'
import type { UploadOptions } from './upload.ts'

const story = (id: number) => `{"id":${id},"type":"story","title":"Story ${id}"}`
const song = (id: number) => `{"id":${id},"type":"song"}`
const list = (...elements: string[]) => `[${elements.join(',')}]`
const operator = { actor: 'olga', role: 'operator', confirmed: true } as const

async function openKit(options: Partial<UploadOptions> = {}): Promise<{ stage: Stage; kit: TestKit }> {
  let kit!: TestKit
  const clock = { ...systemClock(), now: () => kit.clock.now() }
  const stage = await Stage.with({ clock, ...options }, (upload) => {
    kit = testKit({ implementations: upload.implementations, patienceMs: 20_000 })
    return { control: kit.control, stop: () => kit.stop() }
  })
  return { stage, kit }
}

/** Story 1, marked as failed by hand, may succeed; song 2 has an id and never will; null is no item; stories 3 and 4 are done. */
async function partial(stage: Stage, kit: TestKit): Promise<number> {
  const hold = await stage.control.hold({ machine: 'upload_item' }, { reason: 'a test looks', owner: 'test' })
  const { id } = await stage.send(list(story(1), song(2), 'null', story(3), story(4)))
  await kit.drain({ within: '5m' }).catch(() => {})
  const [first] = await stage.items(id)
  await stage.control.act(first!.id, 'mark_failed', operator)
  await stage.control.release(hold.id)
  await kit.drain()
  const view = await stage.view(id)
  assert.equal(view.state, 'partially_completed')
  assert.deepEqual(countsOf(view), { total: 5, completed: 2, failed: 3, skipped: 0 })
  return id
}

async function retried(stage: Stage, kit: TestKit, id: number) {
  const result = await stage.control.act(id, 'retry_failed_items', operator)
  assert.equal(result.kind, 'requested')
  await kit.drain()
  return stage.view(id)
}

describe('an element whose id comes again in its file', () => {
  test('fails by hand: what repeats it is skipped and found; retried, it takes its place', async () => {
    const { stage, kit } = await openKit()
    await using _ = stage
    const hold = await stage.control.hold({ machine: 'upload_item' }, { reason: 'a test looks', owner: 'test' })
    const newer = '{"id":1,"type":"story","score":5}'
    const { id } = await stage.send(list(story(1), story(1), newer, story(2), story(2)))
    await kit.drain({ within: '5m' }).catch(() => {})
    const [first, , , second] = await stage.items(id)
    await stage.control.act(first!.id, 'mark_failed', operator)
    await stage.control.act(second!.id, 'mark_failed', operator)
    await stage.control.release(hold.id)
    await kit.drain()
    const view = await stage.view(id)
    assert.deepEqual(countsOf(view), { total: 5, completed: 1, failed: 2, skipped: 2 })
    assert.equal(view.resultSummary?.merged, 1)
    const states = (await stage.items(id)).map(({ state }) => state)
    assert.deepEqual(states, ['failed', 'skipped', 'completed', 'failed', 'skipped'])
    const found = async () =>
      (await stage.upload.search({ limit: 10, sortBy: 'score' })).found.map(({ item, entity }) => ({ item, entity }))
    const documents = (await found()).map(({ item }) => item)
    assert.deepEqual(documents, [
      { hnId: 1, type: 'story', score: 5, title: 'Story 1' },
      { hnId: 2, type: 'story', title: 'Story 2' },
    ])
    const again = await retried(stage, kit, id)
    assert.deepEqual(countsOf(again), { total: 5, completed: 3, failed: 0, skipped: 2 })
    assert.equal(again.resultSummary?.merged, 1)
    assert.deepEqual(
      (await found()).map(({ item }) => item),
      documents,
    )
    assert.equal((await found())[1]!.entity, second!.id)
    const [, repeat] = await stage.items(id)
    assert.equal(((await stage.control.get(repeat!.id)).data as ItemData).duplicateOfIndex, 0)
  })

  test('repeats an earlier one also after it failed by hand and was retried', async () => {
    const { stage, kit } = await openKit()
    await using _ = stage
    const hold = await stage.control.hold({ machine: 'upload_item' }, { reason: 'a test looks', owner: 'test' })
    const { id } = await stage.send(list(story(1), story(1)))
    await kit.drain({ within: '5m' }).catch(() => {})
    const [, repeat] = await stage.items(id)
    await stage.control.act(repeat!.id, 'mark_failed', operator)
    await stage.control.release(hold.id)
    await kit.drain()
    assert.deepEqual(countsOf(await stage.view(id)), { total: 2, completed: 1, failed: 1, skipped: 0 })
    assert.deepEqual(countsOf(await retried(stage, kit, id)), { total: 2, completed: 1, failed: 0, skipped: 1 })
    assert.equal(((await stage.control.get(repeat!.id)).data as ItemData).duplicateOfIndex, 0)
  })
})

describe('retry_failed_items', () => {
  test('touches only failed items, counts those that may not be retried, and closes the batch anew', async () => {
    const { stage, kit } = await openKit()
    await using _ = stage
    const id = await partial(stage, kit)
    const before = await Promise.all((await stage.items(id)).map((item) => stage.history(item.id)))
    const view = await retried(stage, kit, id)
    assert.equal(view.state, 'partially_completed')
    assert.deepEqual(countsOf(view), { total: 5, completed: 3, failed: 2, skipped: 0 })
    assert.deepEqual(view.reasons, { 'unknown type': 1, 'null element': 1 })
    const { at: _at, ...itemRetry } = view.itemRetry!
    assert.deepEqual(itemRetry, {
      retried: 2,
      refused: 1,
      sentence: '2 failed items are retried; 1 may not be retried any more.',
    })
    const items = await stage.items(id)
    const after = await Promise.all(items.map((item) => stage.history(item.id)))
    assert.deepEqual([after[2], after[3], after[4]], [before[2], before[3], before[4]], 'the others were not touched')
    assert.deepEqual(
      items.map(({ state, retryCount }) => [state, retryCount]),
      [
        ['completed', 1],
        ['failed', 2],
        ['failed', 1],
        ['completed', undefined],
        ['completed', undefined],
      ],
    )
    assert.equal(items[0]?.errorMessage, undefined)
    assert.deepEqual((await stage.history(id)).slice(-3), [
      'partial_completion',
      'retry_failed_items',
      'partial_completion',
    ])
    assert.equal(view.errorSummary?.total, 2)
    assert.equal(view.resultSummary?.completed, 3)
    assert.equal((await stage.upload.search({ limit: 10 })).found.length, 3)
    assert.deepEqual(await stage.control.check([id, null]), [])
  })

  test('if all succeed, the batch is completed', async () => {
    const { stage, kit } = await openKit()
    await using _ = stage
    const hold = await stage.control.hold({ machine: 'upload_item' }, { reason: 'a test looks', owner: 'test' })
    const { id } = await stage.send(list(story(1), story(2)))
    await kit.drain({ within: '5m' }).catch(() => {})
    await stage.control.act((await stage.items(id))[0]!.id, 'mark_failed', operator)
    await stage.control.release(hold.id)
    await kit.drain()
    const view = await retried(stage, kit, id)
    assert.equal(view.state, 'completed')
    assert.equal(view.errorSummary, null)
    assert.deepEqual(countsOf(view), { total: 2, completed: 2, failed: 0, skipped: 0 })
  })

  test('with none left the batch stays partially completed and says so', async () => {
    const { stage, kit } = await openKit()
    await using _ = stage
    const id = await partial(stage, kit)
    await retried(stage, kit, id)
    const third = await retried(stage, kit, id)
    assert.deepEqual([third.itemRetry?.retried, third.itemRetry?.refused], [1, 1])
    const done = await retried(stage, kit, id)
    assert.equal(done.state, 'partially_completed')
    assert.deepEqual([done.itemRetry?.retried, done.itemRetry?.refused], [0, 2])
    assert.match(done.itemRetry!.sentence, /None of the 2 failed items may be retried any more/)
    assert.match(done.sentence, /no failed item may be retried|None of the 2/)
    assert.deepEqual(countsOf(done), { total: 5, completed: 3, failed: 2, skipped: 0 })
    assert.equal((await stage.history(id)).at(-1), 'retry_refused')
    assert.equal(done.errorSummary?.total, 2, 'what was known of the errors is still known')
    assert.equal(done.resultSummary?.completed, 3)
    assert.deepEqual(
      (await stage.items(id)).map(({ retryCount }) => retryCount),
      [1, 3, 1, undefined, undefined],
    )
  })

  test('an item that failed more than a day ago is refused, by name', async () => {
    const { stage, kit } = await openKit()
    await using _ = stage
    const id = await partial(stage, kit)
    await kit.advance('25h')
    const view = await retried(stage, kit, id)
    assert.equal(view.state, 'partially_completed')
    assert.deepEqual([view.itemRetry?.retried, view.itemRetry?.refused], [0, 3])
    const [first, second, third] = await stage.items(id)
    const refusal = async (item: number) =>
      (await stage.control.get(item)).actions.find(({ action }) => action === 'retry_processing')?.refusal ?? ''
    assert.match(await refusal(first!.id), /it failed 25 h ago; it may be retried within 24 h/)
    assert.match(await refusal(second!.id), /it failed 25\.1 h ago/)
    assert.match(await refusal(third!.id), /its hnId is not known/)
  })

  test('asked for twice at the same moment, it runs once', async () => {
    const { stage, kit } = await openKit()
    await using _ = stage
    const id = await partial(stage, kit)
    const asked = await Promise.allSettled([
      stage.control.act(id, 'retry_failed_items', operator),
      stage.control.act(id, 'retry_failed_items', operator),
    ])
    assert.ok(asked.some(({ status }) => status === 'fulfilled'))
    await kit.drain()
    assert.equal((await stage.history(id)).filter((name) => name === 'retry_failed_items').length, 1)
    assert.equal((await stage.items(id))[1]?.retryCount, 2)
  })

  test('a process that dies before or after it touched the items does no harm', async () => {
    for (const when of ['before', 'after'] as const) {
      const { stage, kit } = await openKit()
      await using _ = stage
      const id = await partial(stage, kit)
      kit.crashAt(when, 'UploadBatchRetryFailedItemsProcessor')
      await stage.control.act(id, 'retry_failed_items', operator)
      await kit.drain()
      await kit.restart()
      await kit.drain()
      const view = await stage.view(id)
      assert.deepEqual(countsOf(view), { total: 5, completed: 3, failed: 2, skipped: 0 }, when)
      assert.equal(view.state, 'partially_completed', when)
      // Whoever does not know that it asked asks again: that may cost the item another of its tries, never more than it has.
      const tries = (await stage.items(id))[1]?.retryCount ?? 0
      assert.ok(tries === 2 || (when === 'after' && tries === 3), `${when}: ${tries}`)
      assert.equal(view.itemRetry?.refused, 1, when)
    }
  })
})

test('retry_processing of a single item wakes no closed batch, and its counts follow', async () => {
  const { stage, kit } = await openKit()
  await using _ = stage
  const id = await partial(stage, kit)
  const [first] = await stage.items(id)
  await stage.control.act(first!.id, 'retry_processing', operator)
  await kit.drain()
  const view = await stage.view(id)
  assert.deepEqual(countsOf(view), { total: 5, completed: 3, failed: 2, skipped: 0 })
})

test('an upload survives a crash at every point of its life, and a process that wakes after its lease', async () => {
  // Each telling has ids of its own, since the catalogue outlives them all.
  let telling = 0
  let stage!: Stage
  let implementations!: readonly Implementation[]
  let control!: TestKit['control']
  stage = await Stage.with({ groupMax: 3 }, (upload) => {
    implementations = upload.implementations
    const kit = testKit({ implementations })
    control = kit.control
    return { control, stop: () => kit.stop() }
  })
  await using _ = stage
  const { runs } = await explore({
    implementations,
    patienceMs: 20_000,
    zombies: true,
    maxPoints: 60,
    start: async (control) => {
      telling += 1
      const id = (number: number) => telling * 100 + number
      const comment = `{"id":${id(6)},"type":"comment","parent":${id(1)},"text":"x"}`
      const elements = [comment, story(id(1)), song(id(2)), 'null', story(id(3)), story(id(4)), story(id(3))]
      await stage.upload.receive(control, [Buffer.from(list(...elements))] as never, {
        fileName: 'a.json',
        uploadedBy: 'ada',
      })
    },
    check: async (control) => {
      const { entities } = await control.list({ machine: 'upload_batch' })
      assert.equal(entities.length, 1)
      const view = await stage.upload.batch(control, entities[0]!.id)
      assert.equal(view.state, 'partially_completed')
      assert.deepEqual(countsOf(view), { total: 7, completed: 4, failed: 2, skipped: 1 })
      assert.deepEqual(view.reasons, { 'unknown type': 1, 'null element': 1 })
      assert.equal(view.resultSummary?.unresolvedLinks, 0)
      const items = await control.list({ parent: view.id, limit: 100 })
      assert.deepEqual(
        items.entities.map(({ data }) => (data as { itemIndex: number }).itemIndex).sort(),
        [0, 1, 2, 3, 4, 5, 6],
      )
      assert.deepEqual(await control.check([view.id, null]), [])
    },
  })
  assert.ok(runs > 60, `${runs} tellings`)
  const { found } = await stage.upload.search({ limit: 1_000 })
  assert.equal(found.length, telling * 4, 'each item once in the catalogue, whatever died')
})
