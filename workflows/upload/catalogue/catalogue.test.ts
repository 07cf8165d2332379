import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { isSluiceError } from 'sluice'
import type { HNItem } from '../hn-item.ts'
import type { Catalogue, Earlier, Entry } from './catalogue.ts'
import { factsOf, isNewer } from './newness.ts'
import { anyItem, Documents, folderOf, Model, withCatalogue } from './sample-items.ts'

/** Groups of what to put, and after which of them the new rows are folded in. */
const anyGroups = fc.array(
  fc.record({
    puts: fc.array(fc.tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 2 }), anyItem), {
      maxLength: 40,
      size: 'max',
    }),
    settle: fc.boolean(),
  }),
  { maxLength: 5, size: 'max' },
)

test('the item with the highest id is known, before and after it is folded in', (context) => {
  const documents = new Documents()
  withCatalogue({ folder: folderOf(context), readDocument: documents.read }, (catalogue) => {
    catalogue.put([
      documents.entry(1, 1, { hnId: 9, type: 'story' }),
      documents.entry(2, 1, { hnId: 4, type: 'story' }),
    ])
    assert.deepEqual(catalogue.known([4, 9, 10]), [true, true, false])
    catalogue.settle()
    assert.deepEqual(catalogue.known([4, 9, 10, 9]), [true, true, false, true])
  })
})

test('put, compare, known, unresolved and counts agree with the model', (context) => {
  let run = 0
  const folder = folderOf(context)
  fc.assert(
    fc.property(anyGroups, fc.array(anyItem, { maxLength: 20, size: 'max' }), (groups, others) => {
      const documents = new Documents()
      const model = new Model()
      run += 1
      const options = { folder, file: `${folder}/${run}.db`, textIndex: run % 2 === 0, readDocument: documents.read }
      withCatalogue(options, (catalogue) => {
        for (const { puts, settle } of groups) {
          const entries = puts.map(([entity, batch, item]) => documents.entry(entity, batch, item))
          assert.deepEqual(
            catalogue.put(entries),
            entries.map((entry) => model.put(entry)),
          )
          // Once more, as after a crash: nothing changes.
          for (const entry of entries) assert.deepEqual(catalogue.put([entry]), [model.put(entry)])
          if (settle) catalogue.settle()
        }
        assertSame(catalogue, model, others)
      })
    }),
    { numRuns: 60 },
  )
})

function assertSame(catalogue: Catalogue, model: Model, others: readonly HNItem[]): void {
  const ids = Array.from({ length: 52 }, (_, id) => id)
  assert.deepEqual(
    catalogue.known(ids),
    ids.map((id) => model.rows.has(id)),
  )
  for (const batch of [1, 2, 3]) assert.equal(catalogue.unresolved(batch), model.unresolved(batch))
  assert.equal(catalogue.counts().documents, model.rows.size)
  const stories = [...model.rows.values()].filter(({ document }) => document.type === 'story')
  assert.equal(catalogue.counts().byType.story, stories.length)
  const { rows } = model
  const found = catalogue.search({ limit: 1_000 }).rows
  assert.deepEqual(
    found.map(({ hnId, entity, batch }) => [hnId, entity, batch]).sort(),
    [...rows.values()].map(({ entry }) => [entry.item.hnId, entry.entity, entry.batch]).sort(),
  )
  for (const { hnId, document, score } of found) {
    const expected = rows.get(hnId)!
    assert.equal(score, expected.document.score ?? null)
    assert.deepEqual(document.kind === 'merged' ? document.item : expected.entry.item, expected.document)
  }
  const candidates = others.map((item, index) => ({ batch: (index % 3) + 1, offset: 1_000 + index, item }))
  catalogue.compare(candidates).forEach((duplicate, index) => {
    const expected = model.verdict(candidates[index]!)
    if (duplicate) assert.deepEqual(duplicate, expected)
  })
}

test('verdicts and documents do not depend on the order in which the items of a file are put, nor on how often', (context) => {
  const folder = folderOf(context)
  const few = anyItem.map((item) => ({ ...item, hnId: (item.hnId % 6) + 1 }))
  const anyFile = fc.array(few, { minLength: 1, maxLength: 30, size: 'max' })
  const anyOrder = fc.array(fc.tuple(fc.nat(1_000), fc.boolean()), { maxLength: 60, size: 'max' })
  let run = 0
  fc.assert(
    fc.property(fc.array(few, { maxLength: 6 }), anyFile, anyOrder, (known, file, order) => {
      const documents = new Documents()
      const before = known.map((item, index) => documents.entry(index + 1, 1, item))
      const entries = withEarlier(file.map((item, index) => documents.entry(100 + index, 2, item)))
      run += 1
      const play = (name: string, groups: readonly (readonly Entry[])[]) =>
        withCatalogue(
          { folder, file: join(folder, `${run}-${name}.db`), readDocument: documents.read },
          (catalogue) => {
            for (const entry of before) catalogue.put([entry])
            const verdicts = new Map<number, unknown>()
            for (const group of groups) {
              catalogue.put(group).forEach((verdict, index) => {
                const { entity } = group[index]!
                if (verdicts.has(entity))
                  assert.deepEqual(verdict, verdicts.get(entity), 'another verdict when repeated')
                verdicts.set(entity, verdict)
                // What is skipped by the comparison alone would have been skipped by the put.
                const [duplicate] = catalogue.compare([group[index]!])
                if (duplicate) assert.deepEqual(duplicate, verdict)
              })
            }
            return {
              verdicts: entries.map(({ entity }) => verdicts.get(entity)),
              found: catalogue.search({ limit: 1_000 }).rows,
            }
          },
        )
      const shuffled = order.map(([place]) => entries[place % entries.length]!)
      const groups: Entry[][] = [[]]
      ;[...shuffled, ...entries].forEach((entry, index) => {
        if (order[index]?.[1]) groups.push([])
        groups.at(-1)!.push(entry)
      })
      const inOrder = play(
        'in-order',
        entries.map((entry) => [entry]),
      )
      assert.deepEqual(play('shuffled', groups), inOrder)
    }),
    { numRuns: 60 },
  )
})

test('of two files that are put at once, one is first for each id, and the documents are those of one after the other', (context) => {
  const folder = folderOf(context)
  const few = anyItem.map((item) => ({ ...item, hnId: (item.hnId % 5) + 1 }))
  const anyFile = fc.array(few, { minLength: 1, maxLength: 15, size: 'max' })
  let run = 0
  fc.assert(
    fc.property(anyFile, anyFile, fc.array(fc.nat(1_000), { minLength: 30, maxLength: 30 }), (one, two, keys) => {
      const documents = new Documents()
      const entriesOf = (items: readonly HNItem[], batch: number) =>
        withEarlier(items.map((item, index) => documents.entry(batch * 100 + index, batch, item)))
      const entries = [...entriesOf(one, 1), ...entriesOf(two, 2)]
      const mixed = entries.map((entry, index) => ({ entry, key: keys[index]! })).sort((a, b) => a.key - b.key)
      run += 1
      const play = (name: string, order: readonly Entry[]) =>
        withCatalogue(
          { folder, file: join(folder, `${run}-${name}.db`), readDocument: documents.read },
          (catalogue) => {
            const added = order.filter((entry) => catalogue.put([entry])[0] === 'added').map(({ item }) => item.hnId)
            assert.deepEqual(added.sort(), [...new Set(entries.map(({ item }) => item.hnId))].sort())
            return catalogue.search({ limit: 1_000 }).rows
          },
        )
      const inOrder = play('in-order', entries)
      const atOnce = play(
        'at-once',
        mixed.map(({ entry }) => entry),
      )
      assert.deepEqual(atOnce, inOrder)
    }),
    { numRuns: 30 },
  )
})

/** As the extraction of a file finds it. */
function withEarlier(entries: readonly Entry[]): Entry[] {
  const newest = new Map<number, Earlier>()
  return entries.map((entry, index) => {
    const earlier = newest.get(entry.item.hnId)
    const facts = factsOf(entry.item)
    if (!earlier || isNewer(facts, earlier)) newest.set(entry.item.hnId, { index, ...facts })
    return earlier ? { ...entry, earlier } : entry
  })
}

test('a child before its parent is unresolved until the parent comes, in whatever batch', (context) => {
  const documents = new Documents()
  withCatalogue({ folder: folderOf(context), readDocument: documents.read }, (catalogue) => {
    catalogue.put([documents.entry(1, 1, { hnId: 5, type: 'comment', parent: 4 })])
    catalogue.put([documents.entry(2, 1, { hnId: 6, type: 'pollopt', poll: 99 })])
    assert.equal(catalogue.unresolved(1), 2)
    catalogue.put([documents.entry(3, 2, { hnId: 4, type: 'story' })])
    assert.equal(catalogue.unresolved(1), 1)
    assert.equal(catalogue.unresolved(2), 0)
  })
})

test('what comes in a thousand at a time and in any order is folded in and stays known', (context) => {
  const documents = new Documents()
  const count = 70_000
  const folder = folderOf(context)
  withCatalogue({ folder, readDocument: documents.read }, (catalogue) => {
    for (let from = 0; from < count; from += 10_000) {
      const group = Array.from({ length: 10_000 }, (_, index): Entry => {
        // 7,919 and the count have no common divisor: every id once, none after its neighbour.
        const hnId = (((from + index) * 7_919) % count) + 1
        return documents.entry(hnId, 1, { hnId, type: 'comment', parent: (hnId % count) + 1, time: hnId })
      })
      assert.ok(catalogue.put(group).every((verdict) => verdict === 'added'))
      while (catalogue.foldStep());
    }
    assert.ok(statSync(join(folder, 'catalogue.db-wal')).size < 32 * 1024 * 1024, 'the log grows without an end')
    assert.equal(catalogue.counts().documents, count)
    assert.equal(catalogue.unresolved(1), 0)
    assert.deepEqual(catalogue.known([0, 1, 35_000, count, count + 1]), [false, true, true, true, false])
  })
})

test('numbers that cannot be kept as they are, and groups beyond the limit, are refused', (context) => {
  const documents = new Documents()
  withCatalogue({ folder: folderOf(context) }, (catalogue) => {
    const good = documents.entry(1, 1, { hnId: 5, type: 'story' })
    for (const [field, bad] of [
      ['entity', { ...good, entity: 1.5 }],
      ['offset', { ...good, offset: -1 }],
      ['item.hnId', { ...good, item: { hnId: 2 ** 53, type: 'story' } }],
    ] as const) {
      assert.throws(
        () => catalogue.put([good, bad]),
        (error) => isSluiceError(error, 'invalid') && error.message.includes(`Entry 1`) && error.detail.field === field,
      )
    }
    assert.deepEqual(catalogue.known([5]), [false])
    assert.throws(
      () => catalogue.known(new Array<number>(10_001).fill(1)),
      (error) => isSluiceError(error, 'invalid') && error.message.includes('10001'),
    )
  })
})

test('when an older document cannot be read, nothing of the call is written', (context) => {
  const documents = new Documents()
  const readDocument = () => {
    throw new Error('The file is gone.')
  }
  withCatalogue({ folder: folderOf(context), readDocument }, (catalogue) => {
    catalogue.put([documents.entry(1, 1, { hnId: 5, type: 'story', score: 1, by: 'ann' })])
    const group = [
      documents.entry(2, 1, { hnId: 6, type: 'story' }),
      documents.entry(3, 1, { hnId: 5, type: 'story', score: 2 }),
    ]
    assert.throws(() => catalogue.put(group), /The file is gone/)
    assert.deepEqual(catalogue.known([5, 6]), [true, false])
  })
})

test('after it was closed it says so', (context) => {
  const catalogue = withCatalogue({ folder: folderOf(context) }, (open) => open)
  assert.throws(
    () => catalogue.known([1]),
    (error) => isSluiceError(error, 'conflict') && error.message.includes('closed'),
  )
})
