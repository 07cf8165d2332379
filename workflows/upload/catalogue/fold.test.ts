import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import fc from 'fast-check'
import type { HNItem } from '../hn-item.ts'
import { Catalogue, type Entry, type PutVerdict } from './catalogue.ts'
import { absent, parentOf } from './item-row.ts'
import { anyItem, Documents, folderOf, Model, withCatalogue } from './sample-items.ts'

const freshMax = 12

type Act =
  | { readonly kind: 'put'; readonly items: readonly HNItem[] }
  | { readonly kind: 'repeat'; readonly nth: number }
  | { readonly kind: 'fold'; readonly steps: number; readonly wanted: 'due' | 'any' }
  | { readonly kind: 'rebuild'; readonly isAlone: boolean }
  | { readonly kind: 'search' | 'crash' | 'other' | 'leftRebuild' }

const anyAct: fc.Arbitrary<Act> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('put'), items: fc.array(anyItem, { maxLength: 9 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('repeat'), nth: fc.nat(200) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('fold'),
      steps: fc.integer({ min: 1, max: 50 }),
      wanted: fc.constantFrom('due', 'any'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('search', 'crash', 'leftRebuild') }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('rebuild'), isAlone: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('other') }) },
) as fc.Arbitrary<Act>

/** Two open connections, as of two processes, one of which acts at a time. Every entity puts one document, as items do. */
class Play {
  readonly #options: ConstructorParameters<typeof Catalogue>[0]
  readonly #documents = new Documents()
  readonly #model = new Model()
  readonly #past: { readonly entry: Entry; readonly verdict: PutVerdict }[] = []
  #one: Catalogue
  #two: Catalogue

  constructor(file: string, textIndex: boolean) {
    this.#options = { file, textIndex, now: () => 1, readDocument: this.#documents.read, freshMax }
    this.#one = new Catalogue(this.#options)
    this.#two = new Catalogue(this.#options)
  }

  act(act: Act): void {
    switch (act.kind) {
      case 'put':
        this.#put(act.items)
        break
      case 'repeat':
        this.#repeat(act.nth)
        break
      case 'fold':
        for (let step = 0; step < act.steps && this.#one.foldStep(act.wanted); step += 1) this.#assertKnown()
        break
      case 'search':
        this.#assertFound()
        break
      case 'crash':
        this.#one.close()
        this.#one = new Catalogue(this.#options)
        break
      case 'other':
        ;[this.#one, this.#two] = [this.#two, this.#one]
        break
      case 'leftRebuild':
        this.#one.beginRebuild()
        break
      case 'rebuild':
        this.#rebuild(act.isAlone)
        break
      default:
        act satisfies never
    }
  }

  /** What is left is folded, and then every search table holds every row once. */
  end(): void {
    this.#assertKnown()
    this.#assertFound()
    while (this.#one.foldStep('any'));
    this.#one.close()
    this.#two.close()
    const rows = [...this.#model.rows.values()].map(({ document }) => document)
    const file = new DatabaseSync(this.#options.file)
    const count = (table: string) => Object.values(file.prepare(`SELECT count(*) FROM ${table}`).get()!)[0]
    const counts = ['fresh', 'place', 'by_time', 'by_score', 'by_author', 'by_parent'].map(count)
    // None of them stands under keys that it had once.
    const alike = [
      'place AS folded JOIN item USING (seq) WHERE folded.id = item.id',
      `by_time AS folded JOIN item USING (seq, id, kind) WHERE folded.time = coalesce(item.time, ${absent})`,
      `by_score AS folded JOIN item USING (seq, id, kind) WHERE folded.score = coalesce(item.score, ${absent})`,
      `by_author AS folded JOIN item USING (seq, id, author) WHERE folded.time = coalesce(item.time, ${absent})`,
      'by_parent AS folded JOIN item USING (seq, id, parent)',
    ].map(count)
    assert.deepEqual(alike, counts.slice(1))
    file.close()
    const authored = rows.filter(({ by }) => by !== undefined).length
    const answers = rows.filter((item) => parentOf(item) !== null).length
    assert.deepEqual(counts, [0, rows.length, rows.length, rows.length, authored, answers])
  }

  #put(items: readonly HNItem[]): void {
    const entries = items.map((item, index) => this.#documents.entry(this.#past.length + index, 1 + (index % 2), item))
    const verdicts = entries.map((entry) => this.#model.put(entry))
    assert.deepEqual(this.#one.put(entries), verdicts)
    entries.forEach((entry, index) => {
      this.#past.push({ entry, verdict: verdicts[index]! })
    })
    this.#assertKnown()
  }

  /** Whatever came after it, an entity is told what it was told before. */
  #repeat(nth: number): void {
    const past = this.#past[nth % Math.max(1, this.#past.length)]
    if (!past) return
    const [verdict] = this.#one.put([past.entry])
    // Of what has been found meanwhile, a duplicate may name another.
    if (typeof past.verdict === 'object') assert.equal(typeof verdict, 'object')
    else assert.equal(verdict, past.verdict)
  }

  /** With a fold under way in the new set, and one in the old set that ends with it. */
  #rebuild(isAlone: boolean): void {
    const putter = isAlone ? this.#one : this.#two
    this.#one.beginRebuild()
    this.#past.forEach(({ entry }, index) => {
      putter.put([entry])
      if (index % 3 === 0) this.#one.foldStep()
    })
    this.#one.finishRebuild()
    this.#assertKnown()
  }

  #assertKnown(): void {
    const ids = Array.from({ length: 52 }, (_, id) => id)
    const expected = ids.map((id) => this.#model.rows.has(id))
    assert.deepEqual(this.#one.known(ids), expected)
    assert.deepEqual(this.#two.known(ids), expected)
    assert.equal(this.#one.unresolved(1), this.#model.unresolved(1))
    assert.equal(this.#one.counts().documents, this.#model.rows.size)
    const candidates = [...this.#model.rows.values()].map(({ entry }) => ({ batch: 9, offset: 0, item: entry.item }))
    const duplicates = [...this.#model.rows.values()].map(({ entry }) => ({ duplicateOf: entry.entity }))
    assert.deepEqual(this.#two.compare(candidates), duplicates)
  }

  #assertFound(): void {
    const rows = [...this.#model.rows.values()].map(({ document }) => document)
    const found = (query: Parameters<Catalogue['search']>[0], filter: (item: HNItem) => boolean) => {
      const ids = this.#one.search({ ...query, limit: 100 }).rows.map(({ hnId }) => hnId)
      const expected = rows.filter(filter).map(({ hnId }) => hnId)
      assert.deepEqual(ids.sort(ascending), expected.sort(ascending))
    }
    found({ sortBy: 'time' }, () => true)
    found({ sortBy: 'score' }, () => true)
    for (const author of ['ann', 'a\u0000b']) found({ author }, ({ by }) => by === author)
    found({ parentId: 7 }, (item) => parentOf(item) === 7)
  }
}

const ascending = (left: number, right: number) => left - right

test('puts, merges, repeats, steps, searches, rebuilds and crashes in any order agree with the model', (context) => {
  const folder = folderOf(context)
  let run = 0
  fc.assert(
    fc.property(fc.array(anyAct, { maxLength: 40, size: 'max' }), (acts) => {
      run += 1
      const play = new Play(join(folder, `${run}.db`), run % 4 === 0)
      for (const act of acts) play.act(act)
      play.end()
    }),
    { numRuns: 50 },
  )
})

const story = (hnId: number): HNItem => ({ hnId, type: 'story', by: `ann${hnId % 5}`, time: hnId, parent: hnId + 1 })

test('a step brings over a part; a fold that was left goes on where it was, for whoever comes', (context) => {
  const documents = new Documents()
  const options = { folder: folderOf(context), readDocument: documents.read, freshMax: 30 }
  const put = (catalogue: Catalogue, from: number, count: number) =>
    catalogue.put(Array.from({ length: count }, (_, index) => documents.entry(from + index, 1, story(from + index))))
  withCatalogue(options, (catalogue) => {
    put(catalogue, 1, 29)
    assert.equal(catalogue.foldStep(), false, 'too few wait')
    put(catalogue, 30, 1)
    // A row at a time, as their keys are in hand; the second table is begun.
    for (let step = 0; step < 35; step += 1) assert.equal(catalogue.foldStep(), true)
    put(catalogue, 31, 5)
  })
  withCatalogue(options, (catalogue) => {
    let steps = 1
    while (catalogue.foldStep()) steps += 1
    // Each table once, by_score in two parts, by_author in three, and the end, but the first is done: eight, and the log is copied between them.
    assert.equal(steps, 15)
    assert.equal(catalogue.foldStep(), false, 'what came during a fold waits for the next')
    assert.equal(catalogue.foldStep('any'), true)
    assert.equal(catalogue.search({ limit: 100 }).rows.length, 35)
    assert.equal(catalogue.foldStep('any'), false, 'the search has finished it')
  })
})

test('a row that another process has changed meanwhile is folded as it is now', (context) => {
  const folder = folderOf(context)
  const documents = new Documents()
  const options = { folder, readDocument: documents.read, freshMax: 4 }
  withCatalogue(options, (one) => {
    one.put([1, 2, 3, 4].map((id) => documents.entry(id, 1, { ...story(id), by: 'ann' })))
    withCatalogue(options, (two) => {
      const newer = { ...story(2), by: 'bob', score: 50, descendants: 9 }
      assert.deepEqual(two.put([documents.entry(5, 2, newer)]), ['merged'])
    })
    while (one.foldStep());
    const file = new DatabaseSync(join(folder, 'catalogue.db'))
    const rows = file.prepare('SELECT author, id FROM by_author ORDER BY id').all()
    file.close()
    assert.deepEqual(
      rows.map(({ author, id }) => [author, id]),
      [
        ['ann', 1],
        ['bob', 2],
        ['ann', 3],
        ['ann', 4],
      ],
    )
  })
})

test('when nobody folds, the rows that wait have a bound', (context) => {
  const folder = folderOf(context)
  const documents = new Documents()
  const waiting = (file: DatabaseSync) => Number(Object.values(file.prepare('SELECT count(*) FROM fresh').get()!)[0])
  withCatalogue({ folder, readDocument: documents.read, freshMax: 10 }, (catalogue) => {
    const file = new DatabaseSync(join(folder, 'catalogue.db'))
    const seen = Array.from({ length: 30 }, (_, group) => {
      catalogue.put(Array.from({ length: 3 }, (_, index) => documents.entry(group, 1, story(group * 3 + index))))
      return waiting(file)
    })
    file.close()
    assert.equal(Math.max(...seen), 39)
    assert.deepEqual(seen.slice(12, 15), [39, 0, 3])
  })
})
