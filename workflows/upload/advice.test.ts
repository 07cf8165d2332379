import assert from 'node:assert/strict'
import { truncate, writeFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { systemClock } from 'sluice'
import { type TestKit, testKit } from 'sluice/testing'
import { badItems } from './fixtures/bad-items.ts'
import { isOfContent } from './item-reasons.ts'
import { Stage } from './test/stage.ts'

const story = (id: number) => `{"id":${id},"type":"story"}`
const operator = { actor: 'olga', role: 'operator', confirmed: true } as const

async function openKit(): Promise<{ stage: Stage; kit: TestKit }> {
  let kit!: TestKit
  const clock = { ...systemClock(), now: () => kit.clock.now() }
  const stage = await Stage.with({ clock }, (upload) => {
    kit = testKit({ implementations: upload.implementations, patienceMs: 20_000 })
    return { control: kit.control, stop: () => kit.stop() }
  })
  return { stage, kit }
}

test('every reason of a bad element is known to be one of its content', () => {
  for (const { reason } of badItems) assert.ok(isOfContent(reason), reason)
  for (const reason of ['stored file is truncated', 'disk is full', 'unknown']) assert.ok(!isOfContent(reason), reason)
})

describe('a retry is advised where it can help', () => {
  const cases: readonly (readonly [what: string, content: string, type: string, instead: string, why: RegExp])[] = [
    ['an empty file', '', 'application/json', 'mended_file', /must be mended/],
    ['a truncated file', `[${story(1)},{"id":2`, 'application/json', 'mended_file', /must be mended/],
    ['a file without items', '[]', 'application/json', 'mended_file', /must be mended/],
    ['a wrong content type', `[${story(1)}]`, 'text/csv', 'json_content_type', /content type/],
    ['nothing but broken items', '[null,{}]', 'application/json', 'mended_file', /every item is broken/],
    ['some broken items', `[${story(1)},null]`, 'application/json', 'mended_file', /every failed item is broken/],
  ]
  for (const [what, content, contentType, instead, why] of cases) {
    test(`${what}: ${instead}`, async () => {
      await using stage = await Stage.open('memory')
      const { retry, notification: _ } = await stage.run(content, { contentType })
      assert.equal(retry?.instead, instead)
      assert.match(retry?.refusal ?? '', why)
    })
  }

  test('a batch that has failed three times is sent again as a new one', async () => {
    const { stage, kit } = await openKit()
    await using _ = stage
    const hold = await stage.control.hold({ machine: 'upload_item' }, { reason: 'a test looks', owner: 'test' })
    const { id } = await stage.send(`[${story(1)}]`)
    for (const failures of [1, 2, 3]) {
      await kit.drain({ within: '1m' }).catch(() => {})
      await stage.control.act(id, 'mark_failed', operator)
      const { retry } = await stage.view(id)
      assert.equal(retry?.instead, failures < 3 ? null : 'new_batch')
      if (failures < 3) await stage.control.act(id, 'retry_batch', operator)
    }
    assert.match((await stage.view(id)).retry?.refusal ?? '', /has failed 3 times/)
    await stage.control.release(hold.id)
  })

  test('a stored file that is cut off fails its items by one phrase; mended, they succeed; cut for ever, it ends', async () => {
    const { stage, kit } = await openKit()
    await using _ = stage
    const hold = await stage.control.hold({ machine: 'upload_item' }, { reason: 'a test looks', owner: 'test' })
    const content = `[${story(1)},${story(2)},${story(3)},${story(4)},null]`
    const { id } = await stage.send(content)
    await kit.drain({ within: '1m' }).catch(() => {})
    const path = stage.path(`files/${(await stage.view(id)).sha256}`)
    await truncate(path, content.indexOf(story(3)))
    await stage.control.release(hold.id)
    await kit.drain()
    const cut = await stage.view(id)
    assert.deepEqual(cut.reasons, { 'stored file is truncated': 2, 'null element': 1 })
    const { errors } = await stage.upload.errors(stage.control, id)
    const [first] = errors.filter(({ reason }) => reason === 'stored file is truncated')
    assert.equal(first?.errorType, 'PROCESSING')
    assert.match(first?.errorMessage ?? '', /ends before byte \d+.*It was tried 4 times\.$/)
    assert.deepEqual(cut.retry, { action: 'retry_failed_items', refusal: null, instead: null })

    for (const _more of [2, 3]) {
      await stage.control.act(id, 'retry_failed_items', operator)
      await kit.drain()
    }
    const spent = await stage.view(id)
    assert.equal(spent.retry?.instead, 'new_batch')
    await writeFile(path, content)
    const forced = await stage.send(content, { force: true })
    await kit.drain()
    assert.equal((await stage.view(forced.id)).itemsProcessed + (await stage.view(forced.id)).itemsSkipped, 4)
  })
})

test('a file that was sent with a wrong content type is not stuck: with the right one it is another batch', async () => {
  await using stage = await Stage.open('memory')
  const wrong = await stage.run(`[${story(1)}]`, { contentType: 'text/csv' })
  assert.equal(wrong.state, 'failed')
  const again = await stage.send(`[${story(1)}]`, { contentType: 'text/csv' })
  assert.deepEqual(again, { id: wrong.id, existing: true })
  const right = await stage.run(`[${story(1)}]`)
  assert.notEqual(right.id, wrong.id)
  assert.equal(right.state, 'completed')
  assert.deepEqual(await stage.send(`[${story(1)}]`, { contentType: 'application/json' }), {
    id: right.id,
    existing: true,
  })
})

test('the error summary has the failed items of this moment, as their list has', async () => {
  const { stage, kit } = await openKit()
  await using _ = stage
  const { id } = await stage.send('[null,{}]')
  await kit.drain()
  const agree = async (total: number) => {
    const { errorSummary, itemsErrored } = await stage.view(id)
    const { errors } = await stage.upload.errors(stage.control, id)
    const listed = Object.entries(Object.groupBy(errors, ({ reason }) => reason))
    assert.deepEqual(
      Object.fromEntries((errorSummary?.byReason ?? []).map(({ reason, count }) => [reason, count])),
      Object.fromEntries(listed.map(([reason, items]) => [reason, items?.length])),
    )
    assert.deepEqual([errorSummary?.total ?? 0, itemsErrored], [total, total])
  }
  await agree(2)
  await stage.control.hold({ machine: 'upload_batch' }, { reason: 'a test looks', owner: 'test' })
  await stage.control.act(id, 'retry_batch', operator)
  assert.equal((await stage.view(id)).state, 'uploaded')
  await agree(2)
})

test('a report ends its sentences once', async () => {
  await using stage = await Stage.open('memory')
  const { failure } = await stage.run('[{"id":1')
  assert.match(failure!.report, /Reason: .*truncated/)
  assert.doesNotMatch(failure!.report, /\.\./)
})
