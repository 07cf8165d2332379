import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import type { SearchQuery } from './catalogue/catalogue.ts'
import { writeSample } from './sample.ts'
import { Stage } from './test/stage.ts'
import { openUpload } from './upload.ts'

const list = (...elements: object[]) => JSON.stringify(elements)
const ids = (page: { readonly found: readonly { readonly hnId: number }[] }) => page.found.map(({ hnId }) => hnId)

const thread = [
  // The answers come before what they answer.
  { id: 13, type: 'comment', parent: 12, by: 'cleo', time: 1_600_000_300, text: 'deep <i>water</i>' },
  { id: 12, type: 'comment', parent: 11, by: 'bob', time: 1_600_000_200, text: 'I don&#x27;t think so' },
  { id: 11, type: 'story', by: 'ada', time: 1_600_000_100, score: 40, title: 'Locks and sluices' },
  { id: 21, type: 'job', by: 'bob', time: 1_600_000_050, score: 1, title: 'Keeper of a lock wanted' },
  { id: 31, type: 'poll', by: 'ada', time: 1_600_000_400, score: 7, title: 'Which?', parts: [32] },
  { id: 32, type: 'pollopt', poll: 31, by: 'ada', time: 1_600_000_400, score: 3, text: 'This one' },
]

describe('what was uploaded is found', () => {
  test('by type, author, score, time and text', async () => {
    await using stage = await Stage.open('sqlite')
    const { id } = await stage.run(list(...thread))
    const search = async (query: SearchQuery) => ids(await stage.upload.search(query)).sort()
    assert.deepEqual(await search({}), [11, 12, 13, 21, 31, 32])
    assert.deepEqual(await search({ types: ['comment', 'job'] }), [12, 13, 21])
    assert.deepEqual(await search({ author: 'bob' }), [12, 21])
    assert.deepEqual(await search({ minScore: 7 }), [11, 31])
    assert.deepEqual(await search({ fromTime: 1_600_000_100, toTime: 1_600_000_200 }), [11, 12])
    assert.deepEqual(await search({ text: 'lock*' }), [11, 21])
    assert.deepEqual(await search({ text: 'water' }), [13])
    assert.deepEqual(await search({ text: '"think so"' }), [12])
    assert.deepEqual(await search({ text: 'x27' }), [], 'entities are not words')
    assert.deepEqual(await search({ parentId: 11, includeDescendants: true }), [12, 13])
    assert.deepEqual(await search({ rootItemsOnly: true, types: ['story', 'comment'] }), [11])
    const { found } = await stage.upload.search({ author: 'cleo' })
    assert.equal(found[0]?.batch, id)
    assert.deepEqual(found[0]?.item, {
      hnId: 13,
      type: 'comment',
      parent: 12,
      by: 'cleo',
      time: 1_600_000_300,
      text: 'deep <i>water</i>',
    })
    assert.deepEqual(ids(await stage.upload.search({ sortBy: 'score', limit: 2 })), [11, 31])
  })

  test('in pages that miss nothing and repeat nothing', async () => {
    await using stage = await Stage.open('memory')
    const path = stage.path('sample')
    const sample = await writeSample({ path, items: 500, duplicates: 0.1, bad: 0.05, seed: 2 })
    await stage.run(await readFile(path))
    const seen: number[] = []
    for (let after: string | null = null; ; ) {
      const page = await stage.upload.search({ limit: 70, ...(after === null ? {} : { after }) })
      seen.push(...ids(page))
      if (page.next === null) break
      after = page.next
    }
    assert.equal(new Set(seen).size, seen.length)
    assert.equal(seen.length, 500 - sample.bad - sample.duplicatesNewer - sample.duplicatesSame)
  })

  test('up and down its thread, with depths, although the children came first', async () => {
    await using stage = await Stage.open('memory')
    const view = await stage.run(list(...thread))
    assert.equal(view.resultSummary?.unresolvedLinks, 0)
    const up = await stage.upload.ancestors(13)
    assert.deepEqual(
      up.found.map(({ hnId, depth }) => [hnId, depth]),
      [
        [12, 1],
        [11, 2],
      ],
    )
    assert.equal(up.end, 'root')
    assert.equal(up.item.hnId, 13)
    const down = await stage.upload.descendants(11)
    assert.deepEqual(
      down.found.map(({ hnId, depth }) => [hnId, depth]),
      [
        [12, 1],
        [13, 2],
      ],
    )
    assert.deepEqual(ids(await stage.upload.descendants(11, { depthMax: 1 })), [12])
    assert.deepEqual(ids(await stage.upload.ancestors(32)), [31])
    await assert.rejects(stage.upload.ancestors(99), { code: 'not_found', message: /99/ })
  })

  test('a parent that comes in a later batch resolves the link; one that never comes keeps nothing open', async () => {
    await using stage = await Stage.open('sqlite')
    const [answer, middle, root] = thread as [object, object, object]
    const first = await stage.run(list(answer, { id: 99, type: 'comment', parent: 98 }))
    assert.equal(first.state, 'completed')
    assert.equal(first.resultSummary?.unresolvedLinks, 2)
    const link = async () => (await stage.upload.search({ author: 'cleo' })).found[0]?.link
    assert.equal(await link(), 'unresolved')
    const before = await stage.upload.ancestors(13)
    assert.deepEqual(ids(before), [])
    const second = await stage.run(list(root, middle))
    assert.equal(second.resultSummary?.unresolvedLinks, 0)
    assert.equal(await link(), 'resolved')
    assert.deepEqual(ids(await stage.upload.ancestors(13)), [12, 11])
    assert.deepEqual(ids(await stage.upload.descendants(11)), [12, 13])
    const items = await stage.items(first.id)
    assert.deepEqual(
      items.map(({ state }) => state),
      ['completed', 'completed'],
    )
    assert.equal((await stage.upload.ancestors(99)).item.link, 'unresolved')
  })

  test('an item whose parent was uploaded before has a resolved link', async () => {
    await using stage = await Stage.open('memory')
    const [answer, middle, root] = thread as [object, object, object]
    await stage.run(list(root, middle))
    const view = await stage.run(list(answer))
    assert.equal(view.resultSummary?.unresolvedLinks, 0)
    assert.equal((await stage.upload.ancestors(13)).item.link, 'resolved')
  })
})

describe('a rebuild', () => {
  test('gives the same results as what it replaces, merged documents included', async () => {
    await using stage = await Stage.open('sqlite')
    const path = stage.path('sample')
    await writeSample({ path, items: 1_500, duplicates: 0.1, bad: 0.05, orphans: 0.02, seed: 11 })
    const view = await stage.run(await readFile(path))
    await stage.run(list({ id: 11, type: 'story', score: 1, url: 'kept' }))
    await stage.run(list({ id: 11, type: 'story', score: 2, title: 'newer lock' }))
    const results = async () => ({
      all: (await stage.upload.search({ limit: 1_000 })).found,
      lowest: (await stage.upload.search({ sortBy: 'score', sortOrder: 'asc', limit: 1_000 })).found,
      text: ids(await stage.upload.search({ text: 'lock' })).sort(),
      comments: ids(await stage.upload.search({ types: ['comment'], limit: 1_000 })),
    })
    const before = await results()
    assert.ok(before.all.length === 1_000 && before.text.includes(11))
    const progress: number[] = []
    const { documents } = await stage.upload.rebuild(stage.control, (done, total) => {
      assert.ok(done <= total)
      progress.push(done)
    })
    assert.equal(documents, view.itemsProcessed - view.resultSummary!.merged + 1)
    assert.deepEqual(await results(), before)
    assert.equal(progress.at(-1), view.itemsProcessed + view.itemsSkipped + 2)
    const again = await stage.run(list({ id: 11, type: 'story', score: 2 }))
    assert.equal(again.itemsSkipped, 1, 'what was rebuilt knows its duplicates')
  })

  test('brings the text index to a family that was filled without it', async () => {
    await using stage = await Stage.open('memory', { textIndex: false })
    await stage.run(list(...thread))
    assert.deepEqual(ids(await stage.upload.search({ author: 'cleo' })), [13])
    await assert.rejects(stage.upload.search({ text: 'lock' }), {
      code: 'conflict',
      message: /cannot be searched by text.*Turn the text index on/,
    })
    const withText = await openUpload({ folder: stage.folder, textIndex: true })
    try {
      await assert.rejects(withText.search({ text: 'lock' }), { code: 'conflict', message: /Rebuild the catalogue/ })
      assert.deepEqual(await withText.rebuild(stage.control), { documents: thread.length })
      assert.deepEqual(ids(await withText.search({ text: 'lock' })), [21])
    } finally {
      await withText.stop()
    }
  })
})

describe('errors of a batch', () => {
  test('come in pages, in the order of the file, with all that is known of them', async () => {
    await using stage = await Stage.open('sqlite')
    const elements = Array.from({ length: 25 }, (_, index) =>
      index % 2 === 0 ? { id: 1 + index, type: 'song' } : { id: 1 + index, type: 'story' },
    )
    const content = list(...elements)
    const view = await stage.run(content)
    const errors = []
    let pages = 0
    for (let after: number | undefined; ; ) {
      const page = await stage.upload.errors(stage.control, view.id, { limit: 5, ...(after ? { after } : {}) })
      errors.push(...page.errors)
      pages += 1
      assert.ok(page.errors.length <= 5)
      if (page.next === null) break
      after = page.next
    }
    assert.ok(pages >= 3)
    assert.deepEqual(
      errors.map(({ itemIndex }) => itemIndex),
      Array.from({ length: 13 }, (_, index) => index * 2),
    )
    for (const { hnId, itemIndex, offset, errorType, reason, errorMessage, occurredAt, retryCount } of errors) {
      assert.equal(hnId, itemIndex + 1)
      assert.ok(content.slice(offset).startsWith(`{"id":${hnId},"type":"song"}`))
      assert.equal(errorType, 'VALIDATION')
      assert.equal(reason, 'unknown type')
      assert.match(errorMessage, /"type" is "song"/)
      assert.ok(occurredAt >= view.uploadedAt && occurredAt <= view.processingCompletedAt!)
      assert.equal(retryCount, 1)
    }
  })

  test('are summed up by reason, the most frequent first, with a few samples', async () => {
    await using stage = await Stage.open('memory', { samplesMax: 2 })
    const bad = [null, { id: 1, type: 'song' }, { id: 2, type: 'song' }, { id: 3, type: 'song' }, { type: 'job' }]
    const view = await stage.run(JSON.stringify([...bad, { id: 4, type: 'story' }]))
    assert.equal(view.errorSummary?.total, 5)
    const [first, ...rest] = view.errorSummary!.byReason
    assert.equal(first?.reason, 'unknown type')
    assert.equal(first?.count, 3)
    assert.deepEqual(
      first?.samples.map(({ itemIndex, hnId }) => [itemIndex, hnId]),
      [
        [1, 1],
        [2, 2],
      ],
    )
    assert.deepEqual(
      rest.map(({ reason, count, samples }) => [reason, count, samples.length]),
      [
        ['null element', 1, 1],
        ['missing id', 1, 1],
      ],
    )
    const none = await stage.run('[null,null]')
    assert.equal(none.errorSummary?.byReason[0]?.count, 2)
  })
})
