import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { oddItems } from './fixtures/odd-items.ts'
import { type SampleContent, writeSample } from './sample.ts'
import { countsOf, Stage, storeKinds } from './test/stage.ts'

const story = (id: number, more = '') => `{"id":${id},"type":"story","title":"Story ${id}"${more}}`
const comment = (id: number, parent: number) => `{"id":${id},"type":"comment","parent":${parent},"text":"To ${parent}"}`
const list = (...elements: string[]) => `[${elements.join(',')}]`

async function runSample(stage: Stage, content: SampleContent & { readonly gzip?: boolean }) {
  const path = stage.path('sample')
  const sample = await writeSample({ path, ...content })
  const view = await stage.run(await readFile(path), { fileName: 'sample.json' })
  return { sample, view }
}

for (const kind of storeKinds) {
  describe(`an upload on the ${kind} store`, () => {
    test('a clean file is completed, every item once, with its digests and times', async () => {
      await using stage = await Stage.open(kind)
      const content = list(story(1), comment(2, 1), comment(3, 2))
      const view = await stage.run(content, { fileName: 'my items.json' })
      assert.equal(view.state, 'completed')
      assert.deepEqual(countsOf(view), { total: 3, completed: 3, failed: 0, skipped: 0 })
      assert.equal(view.percent, 100)
      assert.equal(view.fileName, 'my items.json')
      assert.equal(view.fileSize, content.length)
      assert.equal(view.contentType, 'application/json')
      assert.equal(view.fileMd5Hash, createHash('md5').update(content).digest('hex'))
      assert.equal(view.sha256, createHash('sha256').update(content).digest('hex'))
      assert.equal(view.errorSummary, null)
      assert.equal(view.failure, null)
      assert.ok(
        view.uploadedAt <= view.processingStartedAt! && view.processingStartedAt! <= view.processingCompletedAt!,
      )
      const { seconds: _s, itemsPerSecond: _i, ...result } = view.resultSummary!
      assert.deepEqual(result, { total: 3, completed: 3, failed: 0, skipped: 0, merged: 0, unresolvedLinks: 0 })
      for (const [index, item] of (await stage.items(view.id)).entries()) {
        assert.equal(item.state, 'completed')
        assert.equal(item.sourceType, 'BULK_UPLOAD')
        assert.equal(item.batchId, view.id)
        assert.equal(item.hnId, index + 1)
        assert.equal(
          content.slice(item.offset, item.offset + item.length),
          [story(1), comment(2, 1), comment(3, 2)][index],
        )
      }
      assert.deepEqual(await stage.control.check([view.id, null]), [])
    })

    test('a sample comes to exactly the counts that its maker promised', async () => {
      await using stage = await Stage.open(kind)
      const { sample, view } = await runSample(stage, {
        items: 2_500,
        bad: 0.05,
        duplicates: 0.1,
        orphans: 0.02,
        seed: 7,
      })
      assert.equal(view.state, 'partially_completed')
      assert.deepEqual(countsOf(view), {
        total: 2_500,
        completed: 2_500 - sample.bad - sample.duplicatesSame,
        failed: sample.bad,
        skipped: sample.duplicatesSame,
      })
      assert.deepEqual(view.reasons, sample.byReason)
      assert.equal(view.resultSummary?.merged, sample.duplicatesNewer)
      assert.equal(view.resultSummary?.unresolvedLinks, sample.orphans)
      assert.equal(view.errorSummary?.total, sample.bad)
      assert.deepEqual(
        Object.fromEntries(view.errorSummary!.byReason.map(({ reason, count }) => [reason, count])),
        sample.byReason,
      )
      const items = await stage.items(view.id)
      assert.equal(items.length, 2_500)
      assert.equal(
        new Set(items.filter(({ state }) => state === 'completed').map(({ hnId }) => hnId)).size,
        2_500 - sample.bad - sample.duplicatesSame - sample.duplicatesNewer,
      )
      assert.deepEqual(await stage.control.check([view.id, null]), [])
    })

    test('some failed: partially completed; all failed: failed; nothing new: completed with all skipped', async () => {
      await using stage = await Stage.open(kind)
      const some = await stage.run(list(story(1), 'null', story(2)))
      assert.equal(some.state, 'partially_completed')
      assert.deepEqual(countsOf(some), { total: 3, completed: 2, failed: 1, skipped: 0 })

      const all = await stage.run(list('null', '{"id":5,"type":"song"}', '{"type":"story"}'))
      assert.equal(all.state, 'failed')
      assert.deepEqual(countsOf(all), { total: 3, completed: 0, failed: 3, skipped: 0 })
      assert.equal(all.failure?.reason, 'every item failed')
      assert.deepEqual(all.reasons, { 'null element': 1, 'unknown type': 1, 'missing id': 1 })
      assert.equal(all.errorSummary?.total, 3)

      const content = list(story(11), story(12))
      assert.equal((await stage.run(content)).state, 'completed')
      const again = await stage.run(content, { force: true })
      assert.equal(again.state, 'completed')
      assert.deepEqual(countsOf(again), { total: 2, completed: 0, failed: 0, skipped: 2 })

      const mixed = await stage.run(list(story(11), 'null'))
      assert.equal(mixed.state, 'partially_completed')
      assert.deepEqual(countsOf(mixed), { total: 2, completed: 0, failed: 1, skipped: 1 })
    })

    test('the same file of the same uploader is the same batch, unless it is forced', async () => {
      await using stage = await Stage.open(kind)
      const content = list(story(1), story(2))
      const first = await stage.send(content)
      assert.equal(first.existing, false)
      assert.deepEqual(await stage.send(content, { fileName: 'another name.json' }), { id: first.id, existing: true })
      const other = await stage.send(content, { uploadedBy: 'bob' })
      assert.equal(other.existing, false)
      assert.notEqual(other.id, first.id)
      const forced = await stage.send(content, { force: true })
      const forcedAgain = await stage.send(content, { force: true })
      assert.equal(new Set([first.id, other.id, forced.id, forcedAgain.id]).size, 4)
      const views = [first, other, forced, forcedAgain].map(({ id }) => stage.settled(id))
      for (const view of await Promise.all(views)) assert.equal(view.state, 'completed')
      const completed = (await Promise.all(views)).reduce((sum, view) => sum + view.itemsProcessed, 0)
      assert.equal(completed, 2, 'each item was new once')
      // Ten at once are one batch as well.
      const racers = await Promise.all(Array.from({ length: 10 }, () => stage.send(list(story(9)))))
      assert.equal(new Set(racers.map(({ id }) => id)).size, 1)
      assert.equal(racers.filter(({ existing }) => !existing).length, 1)
    })

    test('batches beside a bad one go on', async () => {
      await using stage = await Stage.open(kind)
      const good = Array.from({ length: 50 }, (_, index) => story(1_000 + index))
      const sent = await Promise.all([
        stage.send(list(...good.slice(0, 25))),
        stage.send('[{"id":1,"type":"story"},{"id":2', { fileName: 'cut.json' }),
        stage.send('id,type\n1,story\n', { fileName: 'table.csv' }),
        stage.send(''),
        stage.send(list(...good.slice(25))),
      ])
      const states = (await Promise.all(sent.map(({ id }) => stage.settled(id)))).map(({ state }) => state)
      assert.deepEqual(states, ['completed', 'failed', 'failed', 'failed', 'completed'])
    })
  })
}

test('array, lines, concatenated objects, plain or gzip: the same counts from the same items', async () => {
  const results = []
  for (const form of ['array', 'lines', 'concatenated'] as const) {
    for (const gzip of [false, true]) {
      await using stage = await Stage.open('memory')
      const { view } = await runSample(stage, { items: 300, bad: 0.1, duplicates: 0.1, seed: 3, form, gzip })
      const items = await stage.items(view.id)
      results.push({
        form: `${form}${gzip ? ' gzip' : ''}`,
        counts: { ...countsOf(view), reasons: view.reasons, merged: view.resultSummary?.merged },
        items: items.map(({ hnId, state, why }) => ({ hnId, state, why })),
      })
      assert.match(view.contentType, /json/)
    }
  }
  for (const { form, counts, items } of results) {
    assert.deepEqual(counts, results[0]!.counts, form)
    assert.deepEqual(items, results[0]!.items, form)
  }
})

test('a single object is a file of one item', async () => {
  await using stage = await Stage.open('memory')
  for (const [index, content] of [story(1), `${story(2)}\n`, `  ${story(3)}`, gzipSync(story(4))].entries()) {
    const view = await stage.run(content)
    assert.equal(view.state, 'completed')
    assert.deepEqual(countsOf(view), { total: 1, completed: 1, failed: 0, skipped: 0 })
    assert.equal((await stage.items(view.id))[0]?.hnId, index + 1)
  }
})

test('items that look odd and are not wrong are completed, save comments without a parent', async () => {
  await using stage = await Stage.open('memory')
  for (const [index, { name, json, item }] of oddItems.entries()) {
    // Many of them are item 1: each gets an id of its own, so that none is a duplicate.
    const hnId = item.hnId === 1 ? 1_000 + index : item.hnId
    const view = await stage.run(list(json.replaceAll(/d":1(?=[,}])/g, `d":${hnId}`)))
    const [only] = await stage.items(view.id)
    if (item.type === 'comment' && item.parent === undefined) {
      assert.equal(view.state, 'failed', name)
      assert.deepEqual(view.reasons, { 'comment without parent': 1 }, name)
    } else {
      assert.equal(view.state, 'completed', name)
      const found = (await stage.upload.ancestors(hnId)).item
      assert.equal(found.type, item.type, name)
      assert.equal(found.parent, (item.type === 'pollopt' ? item.poll : item.parent) ?? null, name)
    }
    assert.equal(only?.hnId, hnId, name)
  }
})

test('an item with odd values carries its warnings', async () => {
  await using stage = await Stage.open('memory')
  const view = await stage.run(list(story(1, ',"time":99999999999'), story(2, ',"time":1600000000')))
  const [odd, plain] = await stage.items(view.id)
  assert.match(odd?.warnings?.join() ?? '', /future/)
  assert.equal(plain?.warnings, undefined)
})

test('a newer version is merged, an older or equal one skipped, within a file and across batches', async () => {
  await using stage = await Stage.open('memory')
  const first = await stage.run(list(story(1, ',"score":5'), story(1, ',"score":9'), story(1, ',"score":9')))
  assert.deepEqual(countsOf(first), { total: 3, completed: 2, failed: 0, skipped: 1 })
  assert.equal(first.resultSummary?.merged, 1)
  const [, , skipped] = await stage.items(first.id)
  assert.equal(skipped?.state, 'skipped')
  const second = await stage.run(list(story(1, ',"score":4'), story(1, ',"score":12')))
  assert.deepEqual(countsOf(second), { total: 2, completed: 1, failed: 0, skipped: 1 })
  assert.equal(second.resultSummary?.merged, 1)
  const { found } = await stage.upload.search({})
  assert.deepEqual(
    found.map(({ hnId, score, batch }) => ({ hnId, score, batch })),
    [{ hnId: 1, score: 12, batch: second.id }],
  )
})

test('every processor logs what it did, with the batch it did it for', async () => {
  await using stage = await Stage.open('memory')
  const { id } = await stage.run(list(story(1), 'null'))
  const said = stage.lines
    .filter(({ entity, processor }) => entity === id && processor)
    .map((line) => `${line.processor}: ${line.msg}`)
    // The engine's own lines are not the family's.
    .filter((line) => !/: (a run starts|settled as )/.test(line))
  assert.deepEqual(said, [
    'UploadBatchInitProcessor: batch initialised',
    'UploadBatchValidationProcessor: file validated',
    'UploadBatchExtractionProcessor: items extracted',
    'UploadBatchProcessingProcessor: batch processing',
    'UploadBatchPartialCompletionProcessor: batch partially completed',
  ])
})

test('an uploader needs a name', async () => {
  await using stage = await Stage.open('memory')
  for (const uploadedBy of ['', 'x'.repeat(81), 7 as unknown as string]) {
    await assert.rejects(stage.send(list(story(1)), { uploadedBy }), { code: 'invalid', message: /uploadedBy must be/ })
  }
})
