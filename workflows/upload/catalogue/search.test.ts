import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isSluiceError } from 'sluice'
import { type HNItem, itemTypes } from '../hn-item.ts'
import type { Catalogue, FoundRow, SearchQuery } from './catalogue.ts'
import { parentOf } from './item-row.ts'
import { anyItem, Documents, folderOf, Model, withCatalogue, words } from './sample-items.ts'

const anyEntries = fc.array(fc.tuple(fc.integer({ min: 1, max: 20 }), anyItem), { maxLength: 120, size: 'max' })

const small = fc.integer({ min: -3, max: 7 })
const filters = {
  types: fc.uniqueArray(fc.constantFrom(...itemTypes), { minLength: 1, maxLength: 3 }),
  author: fc.constantFrom('ann', 'bob', 'Ünal', "o'brien", 'a\u0000b', 'nobody'),
  minScore: small,
  maxScore: small,
  fromTime: small,
  toTime: small,
  text: fc.constantFrom(...words, 'wa*', 'TIDE*', '"gate sluice"', 'uber'),
  parentId: fc.integer({ min: 1, max: 50 }),
  includeDescendants: fc.constant(true),
  rootItemsOnly: fc.constant(true),
}
const filterNames = Object.keys(filters) as (keyof typeof filters)[]

/** Few filters at a time: with many, hardly anything is found. */
const anyQuery: fc.Arbitrary<SearchQuery> = fc
  .record({
    values: fc.record(filters),
    chosen: fc.subarray(filterNames, { maxLength: 3 }),
    sortBy: fc.constantFrom('time' as const, 'score' as const),
    sortOrder: fc.constantFrom('asc' as const, 'desc' as const),
    limit: fc.integer({ min: 1, max: 9 }),
  })
  .map(({ values, chosen, ...order }) => {
    const has = (name: keyof typeof filters) => chosen.includes(name)
    const isSensible = (name: keyof typeof filters) =>
      name === 'includeDescendants' ? has('parentId') : name !== 'rootItemsOnly' || !has('parentId')
    return { ...order, ...Object.fromEntries(chosen.filter(isSensible).map((name) => [name, values[name]])) }
  })

function allPages(catalogue: Catalogue, query: SearchQuery): FoundRow[] {
  const rows: FoundRow[] = []
  let after: string | null = null
  do {
    const page = catalogue.search(after === null ? query : { ...query, after })
    assert.ok(page.rows.length <= (query.limit ?? 20))
    assert.ok(page.next === null || page.rows.length > 0)
    rows.push(...page.rows)
    after = page.next
  } while (after !== null)
  return rows
}

/** The same by looking at every document. */
function naive(model: Model, query: SearchQuery): number[] {
  const { types, author, minScore, maxScore, fromTime, toTime, text, parentId, includeDescendants, rootItemsOnly } =
    query
  const within = (value: number | undefined, low?: number, high?: number) =>
    (low === undefined && high === undefined) ||
    (value !== undefined && value >= (low ?? value) && value <= (high ?? value))
  const found = [...model.rows.values()]
    .map(({ document }) => document)
    .filter(
      (item) =>
        (types?.includes(item.type) ?? true) &&
        (author === undefined || item.by === author) &&
        within(item.score, minScore, maxScore) &&
        within(item.time, fromTime, toTime) &&
        (text === undefined || [item.title, item.text].some((field) => naiveMatch(field ?? '', text))) &&
        (!rootItemsOnly || parentOf(item) === null) &&
        (parentId === undefined || (includeDescendants ? isBelow(model, item, parentId) : parentOf(item) === parentId)),
    )
  const key = (item: HNItem) => (query.sortBy === 'score' ? item.score : item.time) ?? Number.NEGATIVE_INFINITY
  const sign = query.sortOrder === 'asc' ? 1 : -1
  const compare = (left: HNItem, right: HNItem) =>
    key(left) === key(right) ? left.hnId - right.hnId : key(left) - key(right)
  return found.sort((left, right) => sign * compare(left, right)).map(({ hnId }) => hnId)
}

function isBelow(model: Model, item: HNItem, ancestor: number): boolean {
  const passed = new Set([item.hnId])
  for (let parent = parentOf(item); parent !== null; parent = model.parent(parent)) {
    if (parent === ancestor) return item.hnId !== ancestor
    if (passed.has(parent)) return false
    passed.add(parent)
  }
  return false
}

/** One word, one beginning, or one phrase. */
function naiveMatch(field: string, text: string): boolean {
  const plain = (value: string) => value.toLowerCase().normalize('NFD').replaceAll(/\p{M}/gu, '')
  const tokens = plain(field).split(' ')
  if (text.startsWith('"')) return plain(field).includes(plain(text.slice(1, -1)))
  const wanted = plain(text.replace('*', ''))
  return tokens.some((token) => (text.endsWith('*') ? token.startsWith(wanted) : token === wanted))
}

test('every filter, order and page size gives what looking at every document gives', (context) => {
  const folder = folderOf(context)
  let run = 0
  fc.assert(
    fc.property(anyEntries, fc.array(anyQuery, { minLength: 20, maxLength: 20 }), (puts, queries) => {
      const documents = new Documents()
      const model = new Model()
      run += 1
      const options = { folder, file: `${folder}/${run}.db`, textIndex: true, readDocument: documents.read }
      withCatalogue(options, (catalogue) => {
        for (const [entity, item] of puts) {
          const entry = documents.entry(entity, 1, item)
          model.put(entry)
          catalogue.put([entry])
          if (entity % 7 === 0) catalogue.settle()
        }
        for (const query of queries) {
          const rows = allPages(catalogue, query)
          assert.deepEqual(
            rows.map(({ hnId }) => hnId),
            naive(model, query),
            JSON.stringify(query),
          )
          for (const row of rows) assertRow(row, model, documents)
        }
      })
    }),
    { numRuns: 40 },
  )
})

function assertRow(row: FoundRow, model: Model, documents: Documents): void {
  const { entry, document } = model.rows.get(row.hnId)!
  const parent = parentOf(document)
  const link = parent === null ? 'none' : model.rows.has(parent) ? 'resolved' : 'unresolved'
  const { hnId, type, by = null, time = null, score = null } = document
  const { document: place, ...rest } = row
  assert.deepEqual(rest, { hnId, type, by, time, score, parent, link, entity: entry.entity, batch: entry.batch })
  const held = place.kind === 'merged' ? place.item : documents.read(place.file, place.offset, place.length)
  assert.deepEqual(held, document)
}

test('with more rows in a range than are fetched at once, another range and the order still hold', (context) => {
  const documents = new Documents()
  const model = new Model()
  withCatalogue({ folder: folderOf(context), readDocument: documents.read }, (catalogue) => {
    for (let from = 0; from < 24_000; from += 8_000) {
      const entries = Array.from({ length: 8_000 }, (_, index) => {
        const hnId = from + index + 1
        const type = hnId % 100 === 0 ? 'job' : 'story'
        return documents.entry(hnId, 1, { hnId, type, time: (hnId * 7_919) % 24_000, score: (hnId * 31) % 1_000 })
      })
      for (const entry of entries) model.put(entry)
      catalogue.put(entries)
    }
    const queries: readonly SearchQuery[] = [
      { minScore: 100, sortBy: 'time', limit: 1_000 },
      { minScore: 990, sortBy: 'time', limit: 100 },
      { fromTime: 12_000, sortBy: 'score', sortOrder: 'asc', limit: 1_000 },
      { fromTime: 500, toTime: 23_000, minScore: 5, maxScore: 900, sortBy: 'score', limit: 1_000 },
      { types: ['job'], maxScore: 950, sortBy: 'time', sortOrder: 'asc', limit: 7 },
    ]
    for (const query of queries) {
      const ids = allPages(catalogue, query).map(({ hnId }) => hnId)
      assert.deepEqual(ids, naive(model, query), JSON.stringify(query))
    }
  })
})

test('a page goes on behind its last row, whatever was put meanwhile', (context) => {
  const documents = new Documents()
  withCatalogue({ folder: folderOf(context), readDocument: documents.read }, (catalogue) => {
    const story = (hnId: number, time: number) => documents.entry(hnId, 1, { hnId, type: 'story', time })
    catalogue.put([story(1, 10), story(2, 20), story(3, 30), story(4, 40)])
    const first = catalogue.search({ limit: 2 })
    assert.deepEqual(
      first.rows.map(({ hnId }) => hnId),
      [4, 3],
    )
    catalogue.put([story(5, 50), story(6, 15)])
    const second = catalogue.search({ limit: 10, after: first.next! })
    assert.deepEqual(
      second.rows.map(({ hnId }) => hnId),
      [2, 6, 1],
    )
    assert.equal(second.next, null)
  })
})

test('the most relevant comes first, the title counts more, and pages go on by relevance', (context) => {
  const documents = new Documents()
  withCatalogue({ folder: folderOf(context), textIndex: true, readDocument: documents.read }, (catalogue) => {
    const put = (hnId: number, title: string, text: string) =>
      catalogue.put([documents.entry(hnId, 1, { hnId, type: 'story', title, text })])
    put(1, 'about gates', 'a sluice among very many other words that say nothing about it at all')
    put(2, 'sluice', 'the thing itself')
    put(3, 'water', 'a sluice')
    put(4, 'nothing', 'of the kind')
    const rows = allPages(catalogue, { text: 'sluice', limit: 1 })
    assert.deepEqual(
      rows.map(({ hnId }) => hnId),
      [2, 3, 1],
    )
  })
})

test('texts are searched as a reader sees them, and a merged document by all it has', (context) => {
  const documents = new Documents()
  withCatalogue({ folder: folderOf(context), textIndex: true, readDocument: documents.read }, (catalogue) => {
    const found = (text: string) => catalogue.search({ text }).rows.map(({ hnId }) => hnId)
    const html =
      'It&#x27;s <i>caf&#233;</i> time<p>href=&quot;x&quot; &lt;b&gt; <a href="https://hidden.example">link</a>'
    catalogue.put([documents.entry(1, 1, { hnId: 1, type: 'comment', text: html })])
    assert.deepEqual(found('cafe'), [1])
    assert.deepEqual(found('"it\'s café time href"'), [1])
    assert.deepEqual(found('hidden'), [])
    catalogue.put([documents.entry(2, 1, { hnId: 1, type: 'comment', deleted: true, title: 'Gone' })])
    assert.deepEqual(found('cafe gone'), [1])
    catalogue.put([
      documents.entry(2, 1, { hnId: 1, type: 'comment', deleted: true, title: 'Back', text: 'none', kids: [5] }),
    ])
    assert.deepEqual(found('cafe'), [])
    assert.deepEqual(found('back none'), [1])
  })
})

test('nothing that is typed is a syntax error, or reaches further than the text', (context) => {
  const documents = new Documents()
  withCatalogue({ folder: folderOf(context), textIndex: true, readDocument: documents.read }, (catalogue) => {
    catalogue.put([documents.entry(1, 1, { hnId: 1, type: 'story', title: 'alpha', text: 'beta NOT gamma' })])
    const found = (text: string) => catalogue.search({ text }).rows.length
    for (const harmless of [
      'title:alpha',
      'alpha OR nothing',
      'alpha AND nothing',
      'NEAR(alpha beta)',
      '{title text}:alpha',
      '-alpha gamma"',
      "'; DROP TABLE item; --",
      'alpha) OR (beta',
      '^beta',
      'alpha + beta"*',
      '"alpha" ""beta""',
      'a\u0000b',
      '\ud800 x',
      '*alpha',
    ]) {
      assert.ok(found(harmless) <= 1, harmless)
    }
    assert.equal(found('title:alpha'), 0)
    assert.equal(found('alpha OR beta'), 0)
    assert.equal(found('not gamma'), 1)
    assert.equal(found('alp* !!! "beta not'), 1)
    for (const empty of ['', ' ', '***', '"" !!', '🙂']) {
      assert.throws(() => found(empty), /text has no word or number/)
    }
    const anything = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }),
      fc.string({ unit: fc.constantFrom(...'ab"*^:(){}+-\'\\ \0ANDOR') }),
    )
    fc.assert(
      fc.property(anything, (text) => {
        try {
          found(text)
        } catch (error) {
          assert.match(String(error), /text has no word or number/)
        }
        assert.equal(catalogue.counts().documents, 1)
      }),
      { numRuns: 500 },
    )
    assert.deepEqual(catalogue.search({ author: "x' OR 1=1 --" }).rows, [])
  })
})

test('a value that makes no sense is refused by its field', (context) => {
  withCatalogue({ folder: folderOf(context), textIndex: true }, (catalogue) => {
    const bad: readonly (readonly [string, unknown])[] = [
      ['types', { types: ['song'] }],
      ['types', { types: [] }],
      ['types', { types: 'story' }],
      ['author', { author: '' }],
      ['author', { author: 7 }],
      ['minScore', { minScore: '12' }],
      ['maxScore', { maxScore: Number.NaN }],
      ['fromTime', { fromTime: 1.5 }],
      ['toTime', { toTime: null }],
      ['text', { text: 5 }],
      ['text', { text: 'x'.repeat(1_001) }],
      ['text', { text: 'x '.repeat(33) }],
      ['parentId', { parentId: -1 }],
      ['includeDescendants', { includeDescendants: true }],
      ['maxDepth', { parentId: 1, includeDescendants: true, maxDepth: 0 }],
      ['maxDepth', { parentId: 1, maxDepth: 2 }],
      ['rootItemsOnly', { rootItemsOnly: true, parentId: 1 }],
      ['sortBy', { sortBy: 'title' }],
      ['sortBy', { sortBy: 'relevance' }],
      ['sortOrder', { sortOrder: 'up' }],
      ['limit', { limit: 0 }],
      ['limit', { limit: 1_001 }],
      ['after', { after: 'elsewhere' }],
      ['after', { after: Buffer.from('["x",1,2]').toString('base64url') }],
      ['offset', { offset: 5 }],
      ['__proto__', JSON.parse('{"__proto__":1}')],
    ]
    for (const [field, query] of bad) {
      assert.throws(
        () => catalogue.search(query as SearchQuery),
        (error) => isSluiceError(error, 'invalid') && error.detail.field === field && error.message.includes(field),
        JSON.stringify(query),
      )
    }
  })
})

test('the `next` of one query is refused by another', (context) => {
  const documents = new Documents()
  withCatalogue({ folder: folderOf(context) }, (catalogue) => {
    catalogue.put([1, 2, 3].map((hnId) => documents.entry(hnId, 1, { hnId, type: 'job', score: hnId })))
    const { next } = catalogue.search({ limit: 1, minScore: 1 })
    assert.throws(() => catalogue.search({ limit: 1, minScore: 2, after: next! }), /after belongs to another query/)
    assert.equal(catalogue.search({ limit: 5, minScore: 1, after: next! }).rows.length, 2)
  })
})
