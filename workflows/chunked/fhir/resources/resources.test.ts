import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import type { Indexed } from '../indexer.ts'
import { operationMs } from './putting.ts'
import { type Entry, Resources } from './resources.ts'

/** The words of a text are its terms; a text with a ! cannot be indexed. */
function index(json: string): Indexed {
  const { text } = JSON.parse(json) as { readonly text: string }
  if (text.includes('!')) return { fault: 'there is a !' }
  return { terms: [...new Set(text.split(' '))].map((value) => ({ param: 'word', value })) }
}

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-resources-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function open(t: TestContext) {
  const time = { now: 1_000 }
  const resources = new Resources({ file: join(folderOf(t), 'resources.db'), now: () => time.now, index })
  t.after(() => resources.close())
  return { resources, time }
}

function entry(id: string, text: string, { type = 'Patient', line = 0, source = 'file', indexed = false } = {}): Entry {
  const json = JSON.stringify({ text })
  const origin = line > 0 ? { source, line } : null
  return { type, id, json, origin, ...(indexed ? { index: () => index(json) } : {}) }
}

const search = (resources: Resources, value: string, limit = 100, after: string | null = null) =>
  resources.search({ type: 'Patient', param: 'word', kind: 'string', value, limit, after })

test('a resource is created once, grows in version when it changes, and is left alone when it does not', (t) => {
  const { resources, time } = open(t)
  assert.deepEqual(resources.put([entry('a', 'one'), entry('b', 'one'), entry('a', 'one', { type: 'Group' })]), [
    'created',
    'created',
    'created',
  ])
  time.now = 2_000
  assert.deepEqual(resources.put([entry('a', 'two'), entry('b', 'one')]), ['updated', 'unchanged'])
  assert.deepEqual(resources.get('Patient', 'a'), {
    number: 1,
    type: 'Patient',
    id: 'a',
    version: 2,
    updatedAt: 2_000,
    indexedWith: 0,
    json: '{"text":"two"}',
  })
  assert.deepEqual(resources.get('Patient', 'b')?.version, 1)
  assert.equal(resources.get('Patient', 'c'), null)
  assert.equal(resources.get('Song', 'a'), null)
  assert.deepEqual(resources.types(), [
    { type: 'Group', resources: 1, stale: 1 },
    { type: 'Patient', resources: 2, stale: 2 },
  ])
  assert.deepEqual(resources.counts(), { resources: 3, stale: 3 })
})

test('of two lines of one source the later one stands, in whatever order they come', (t) => {
  const { resources } = open(t)
  assert.deepEqual(resources.put([entry('a', 'nine', { line: 9 })]), ['created'])
  assert.deepEqual(resources.put([entry('a', 'one', { line: 1 })]), ['superseded'])
  assert.deepEqual(resources.put([entry('a', 'ten', { line: 10 }), entry('a', 'two', { line: 2 })]), [
    'updated',
    'superseded',
  ])
  assert.equal(resources.get('Patient', 'a')?.json, '{"text":"ten"}')
  assert.deepEqual(resources.put([entry('a', 'other', { line: 1, source: 'another' })]), ['updated'])
})

test('a group that is put again under its key is told the same, and changes nothing whatever came since', (t) => {
  const { resources, time } = open(t)
  const group = [entry('a', 'one'), entry('a', 'two'), entry('b', 'x')]
  const verdicts = resources.put(group, { key: 'k' })
  assert.deepEqual(verdicts, ['created', 'updated', 'created'])
  resources.put([entry('a', 'three')])
  assert.deepEqual(resources.put(group, { key: 'k' }), verdicts)
  assert.equal(resources.get('Patient', 'a')?.json, '{"text":"three"}')
  assert.equal(resources.get('Patient', 'a')?.version, 3)
  assert.deepEqual(
    resources.put([entry('b', 'y')], { key: 'k' }),
    ['updated'],
    'other entries under the same key count',
  )
  // Keys are forgotten in the end, as others come.
  time.now += operationMs + 1
  resources.put([entry('c', 'x')], { key: 'later' })
  assert.deepEqual(resources.put([entry('b', 'y')], { key: 'k' }), ['unchanged'])
})

test('a group is stored as a whole or not at all', (t) => {
  const { resources } = open(t)
  const refused = (bad: Entry, message: RegExp) => {
    assert.throws(() => resources.put([entry('a', 'one', { indexed: true, line: 1 }), bad]), message)
    assert.deepEqual(resources.counts(), { resources: 0, stale: 0 })
  }
  refused(entry('a b', 'x'), /Entry 1 .* id/)
  refused(entry('a', 'x', { type: 'No type' }), /Entry 1 .* type/)
  refused(entry('a', 'x', { line: 1.5 }), /Entry 1 .* line/)
  const failing: Entry = {
    ...entry('b', 'x'),
    index: () => {
      throw new Error('broken')
    },
  }
  refused(failing, /broken/)
  // What was remembered of the writes that were undone does no harm.
  assert.deepEqual(
    resources.put([entry('g', 'x', { type: 'Group', indexed: true }), entry('a', 'x', { indexed: true })]),
    ['created', 'created'],
  )
  assert.deepEqual(
    search(resources, 'x').items.map(({ id }) => id),
    ['a'],
  )
})

test('what is indexed at once is found at once; the rest after a re-index', (t) => {
  const { resources } = open(t)
  resources.put([entry('a', 'red blue', { indexed: true }), entry('b', 'red')])
  const ids = (value: string) => search(resources, value).items.map(({ id }) => id)
  assert.deepEqual(ids('red'), ['a'])
  assert.deepEqual(resources.counts(), { resources: 2, stale: 1 })
  assert.deepEqual(resources.reindex([1, 2, 3]), ['unchanged', 'changed', 'missing'])
  assert.deepEqual(resources.counts(), { resources: 2, stale: 0 })
  assert.deepEqual(ids('red'), ['a', 'b'])
  // Changed without indexing: found as it was until then, and known to be out of date.
  resources.put([entry('a', 'blue green')])
  assert.deepEqual([ids('red'), resources.counts().stale], [['a', 'b'], 1])
  assert.equal(search(resources, 'red').items[0]?.indexedWith, 0)
  assert.deepEqual(resources.reindex([1, 2]), ['changed', 'unchanged'])
  assert.deepEqual([ids('red'), ids('green'), ids('blue')], [['b'], ['a'], ['a']])
  resources.put([entry('c', 'bad!', { indexed: true })])
  assert.deepEqual(resources.reindex([3]), [{ failed: 'there is a !' }])
  assert.deepEqual(resources.counts(), { resources: 3, stale: 1 })
  // The same text once more, now to be indexed: nothing to store, but something to index.
  resources.put([entry('d', 'late')])
  assert.deepEqual(resources.put([entry('d', 'late', { indexed: true })]), ['unchanged'])
  assert.deepEqual(ids('late'), ['d'])
})

test('pages of found resources go on where they ended, each resource once', (t) => {
  const { resources } = open(t)
  const words = ['aa', 'ab', 'ac', 'ad', 'b', 'a\u{1f600}', 'a\uffee']
  const entries = Array.from({ length: 60 }, (_, at) =>
    entry(`p${at}`, [words[at % 7], words[(at * 3) % 7], 'z'].join(' '), { indexed: true }),
  )
  resources.put(entries)
  for (const value of ['a', 'ab', 'z', 'q']) {
    const wanted = entries.filter(({ json }) =>
      (JSON.parse(json) as { text: string }).text.split(' ').some((word) => word.startsWith(value)),
    )
    const found: string[] = []
    let after: string | null = null
    do {
      const page = search(resources, value, 7, after)
      found.push(...page.items.map(({ id }) => id))
      after = page.next
    } while (after !== null)
    assert.deepEqual(found.toSorted(), wanted.map(({ id }) => id).toSorted(), value)
  }
  assert.throws(() => search(resources, 'a', 7, 'nonsense'), /not a place/)
})

test('ranges cover every number once, with a bounded number of resources in each', (t) => {
  const { resources } = open(t)
  const types = ['Patient', 'Group', 'Patient', 'Patient']
  resources.put(Array.from({ length: 103 }, (_, at) => entry(`r${at}`, 'x', { type: types[at % 4]! })))
  for (const type of [null, 'Patient', 'Group', 'Song']) {
    const ranges = []
    for (let after: number | null = 0; after !== null; ) {
      const page: { items: readonly { type: string | null; from: number; to: number }[]; next: number | null } =
        resources.ranges({ type, sizeMax: 10, after, limit: 3 })
      ranges.push(...page.items)
      after = page.next
    }
    const numbers = ranges.map((range) => {
      const found: number[] = []
      for (let after: number | null = 0; after !== null; ) {
        const page: { items: readonly number[]; next: number | null } = resources.ids(range, { after, limit: 4 })
        found.push(...page.items)
        after = page.next
      }
      return found
    })
    assert.ok(numbers.every((part) => part.length > 0 && part.length <= 10))
    const expected = Array.from({ length: 103 }, (_, at) => at + 1).filter(
      (number) => type === null || types[(number - 1) % 4] === type,
    )
    assert.deepEqual(numbers.flat(), expected)
    assert.deepEqual(
      resources.read(numbers.flat()).map((row) => row?.number),
      expected,
    )
  }
  assert.deepEqual(resources.read([104]), [null])
})

test('pages of a type go by number, since a moment, within a size', (t) => {
  const { resources, time } = open(t)
  resources.put(
    Array.from({ length: 20 }, (_, at) => entry(`p${at}`, 'x'.repeat(100), { type: at % 2 ? 'Patient' : 'Group' })),
  )
  time.now = 5_000
  resources.put([entry('p3', 'new'), entry('p9', 'new')])
  const numbers = (query: Omit<Parameters<Resources['page']>[0], 'type' | 'limit'>, limit = 3) => {
    const pages: number[][] = []
    for (let after: number | null = query.after ?? 0; after !== null; ) {
      const { items, next } = resources.page({ ...query, type: 'Patient', after, limit })
      pages.push(items.map(({ number }) => number))
      after = next
    }
    return pages
  }
  assert.deepEqual(numbers({}), [[2, 4, 6], [8, 10, 12], [14, 16, 18], [20]])
  assert.deepEqual(numbers({ to: 7 }).flat(), [2, 4, 6])
  assert.deepEqual(numbers({ after: 15 }), [[16, 18, 20], []])
  assert.deepEqual(numbers({ since: 5_000 }), [[4, 10]])
  assert.deepEqual(numbers({ since: 5_000 }, 1).flat(), [4, 10])
  assert.deepEqual(numbers({ since: 5_000, to: 9 }).flat(), [4])
  assert.deepEqual(numbers({ since: 5_001 }).flat(), [])
  assert.deepEqual(numbers({ charsMax: 250 })[0], [2, 4, 6])
  assert.deepEqual(numbers({ charsMax: 130 }, 10).slice(0, 2), [[2, 4], [6]])
  assert.deepEqual(numbers({ charsMax: 1 }).flat().length, 10, 'one at least')
})

test('calls have bounds', (t) => {
  const { resources } = open(t)
  assert.throws(() => resources.put(new Array(10_001).fill(entry('a', 'x'))), /10000 are taken at once/)
  assert.throws(() => resources.reindex(new Array(10_001).fill(1)), /10000 are taken at once/)
  assert.throws(() => resources.page({ type: 'Patient', limit: 0 }), /limit/)
  assert.throws(() => resources.ranges({ sizeMax: 0 }), /limit/)
  resources.close()
  assert.throws(() => resources.put([entry('a', 'x')]), /closed/)
})

/** What the store must do, as simply as it can be said. */
class Model {
  readonly rows = new Map<
    string,
    {
      number: number
      text: string
      version: number
      at: number
      line: number
      source: string
      terms: string | null
      stale: boolean
    }
  >()
  readonly answered = new Map<string, { digest: string; verdicts: string[] }>()

  put(entries: readonly ModelEntry[], key: string | null, now: number): string[] {
    const digest = JSON.stringify(entries.map(({ indexed: _, ...rest }) => rest))
    const earlier = key === null ? undefined : this.answered.get(key)
    if (earlier?.digest === digest) return earlier.verdicts
    const toIndex = new Set<number>()
    const verdicts = entries.map((each) => this.#putOne(each, now, toIndex))
    for (const number of toIndex) this.reindex(number)
    if (key !== null) this.answered.set(key, { digest, verdicts })
    return verdicts
  }

  #putOne({ id, text, source, line, indexed }: ModelEntry, now: number, toIndex: Set<number>): string {
    const row = this.rows.get(id)
    if (!row) {
      const fresh = { number: this.rows.size + 1, text, version: 1, at: now, line, source, terms: null, stale: true }
      this.rows.set(id, fresh)
      if (indexed) toIndex.add(fresh.number)
      return 'created'
    }
    if (row.text === text) {
      if (indexed) toIndex.add(row.number)
      return 'unchanged'
    }
    if (line > 0 && row.line > 0 && source === row.source && line < row.line) return 'superseded'
    Object.assign(row, { text, version: row.version + 1, at: now, line, source, stale: true })
    if (indexed) toIndex.add(row.number)
    else toIndex.delete(row.number)
    return 'updated'
  }

  reindex(number: number): string {
    const row = [...this.rows.values()].find((each) => each.number === number)
    if (!row) return 'missing'
    if (row.text.includes('!')) return 'failed'
    const before = row.terms
    row.terms = row.text
    row.stale = false
    return before === row.text ? 'unchanged' : 'changed'
  }
}

interface ModelEntry {
  readonly id: string
  readonly text: string
  readonly source: string
  /** 0: it has no origin. */
  readonly line: number
  readonly indexed: boolean
}

const modelEntry = fc.record({
  id: fc.constantFrom('a', 'b', 'c', 'd'),
  text: fc.constantFrom('one', 'two', 'bad!', 'three'),
  source: fc.constantFrom('s', 't'),
  line: fc.integer({ min: 0, max: 4 }),
  indexed: fc.boolean(),
})
const act = fc.oneof(
  fc.record({ put: fc.array(modelEntry, { maxLength: 4 }), key: fc.constantFrom(null, 'k1', 'k2') }),
  fc.record({ reindex: fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 3 }) }),
  fc.constant({ reopen: true }),
)

test('any course of puts and re-indexes does what a plain map would do', (t) => {
  const folder = folderOf(t)
  let run = 0
  fc.assert(
    fc.property(fc.array(act, { maxLength: 12 }), (acts) => {
      run += 1
      const time = { now: 1 }
      const again = () => new Resources({ file: join(folder, `${run}.db`), now: () => time.now, index })
      let resources = again()
      const model = new Model()
      try {
        for (const each of acts) {
          time.now += 1
          if ('put' in each) {
            const entries = each.put.map(({ id, text, ...rest }) => entry(id, text, rest))
            const verdicts = resources.put(entries, each.key === null ? {} : { key: each.key })
            assert.deepEqual(verdicts, model.put(each.put, each.key, time.now))
          } else if ('reindex' in each) {
            const numbers = [...new Set(each.reindex)]
            const verdicts = resources
              .reindex(numbers)
              .map((verdict) => (typeof verdict === 'string' ? verdict : 'failed'))
            assert.deepEqual(
              verdicts,
              numbers.map((number) => model.reindex(number)),
            )
          } else {
            resources.close()
            resources = again()
          }
        }
        for (const [id, row] of model.rows) {
          const found = resources.get('Patient', id)!
          assert.deepEqual(
            [found.number, found.version, found.updatedAt, found.json, found.indexedWith === 0],
            [row.number, row.version, row.at, JSON.stringify({ text: row.text }), row.stale],
          )
        }
        const all = [...model.rows.values()]
        assert.deepEqual(resources.counts(), { resources: all.length, stale: all.filter(({ stale }) => stale).length })
        for (const word of ['one', 'two', 'three']) {
          const wanted = [...model.rows].filter(([, { terms }]) => terms === word)
          assert.deepEqual(
            search(resources, word).items.map(({ number }) => number),
            wanted.map(([, { number }]) => number),
          )
        }
      } finally {
        resources.close()
      }
    }),
    { numRuns: 60 },
  )
})
