import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { isSluiceError } from 'sluice'
import type { Catalogue, Entry } from './catalogue.ts'
import { Documents, folderOf, withCatalogue } from './sample-items.ts'

const found = (catalogue: Catalogue, text: string) => catalogue.search({ text }).rows.map(({ hnId }) => hnId)

function tides(documents: Documents, from: number, count: number): Entry[] {
  return Array.from({ length: count }, (_, index) => {
    const hnId = from + index
    return documents.entry(hnId, 1, { hnId, type: 'story', title: `tide ${hnId}` })
  })
}

test('a catalogue that was filled without texts says so when one is searched, until it is rebuilt', (context) => {
  const folder = folderOf(context)
  const documents = new Documents()
  const entries = tides(documents, 1, 3)
  withCatalogue({ folder }, (catalogue) => {
    catalogue.put(entries)
    assert.throws(
      () => found(catalogue, 'tide'),
      (error) => isSluiceError(error, 'conflict') && /Turn the text index on.*and rebuild/.test(error.message),
    )
  })
  withCatalogue({ folder, textIndex: true }, (catalogue) => {
    assert.throws(() => found(catalogue, 'tide'), /were put without their texts\. Rebuild the catalogue/)
    catalogue.put(tides(documents, 4, 1))
    catalogue.beginRebuild()
    assert.deepEqual(catalogue.put(entries), ['added', 'added', 'added'])
    assert.throws(() => found(catalogue, 'tide'), /Rebuild/)
    assert.equal(catalogue.search({}).rows.length, 4)
    catalogue.finishRebuild()
    assert.deepEqual(found(catalogue, 'tide').sort(), [1, 2, 3])
    assert.equal(catalogue.counts().documents, 3)
  })
})

test('rows that were put while the text index was off make it partial, and text searches say so', (context) => {
  const folder = folderOf(context)
  const documents = new Documents()
  withCatalogue({ folder, textIndex: true }, (catalogue) => {
    catalogue.put(tides(documents, 1, 2))
    assert.deepEqual(found(catalogue, 'tide 2'), [2])
  })
  withCatalogue({ folder }, (catalogue) => {
    assert.deepEqual(found(catalogue, 'tide 2'), [2], 'every row still has its text')
    catalogue.put(tides(documents, 3, 1))
  })
  withCatalogue({ folder, textIndex: true }, (catalogue) => {
    assert.throws(() => found(catalogue, 'tide'), /some of its rows were put without their texts/)
    catalogue.put(tides(documents, 4, 1))
    catalogue.beginRebuild()
    catalogue.put(tides(documents, 1, 4))
    catalogue.finishRebuild()
    assert.equal(found(catalogue, 'tide').length, 4)
  })
})

test('an empty catalogue takes either setting', (context) => {
  const folder = folderOf(context)
  const documents = new Documents()
  withCatalogue({ folder, textIndex: true }, () => {})
  withCatalogue({ folder, textIndex: false }, (catalogue) => assert.throws(() => found(catalogue, 'x'), /rebuild/))
  withCatalogue({ folder, textIndex: true }, (catalogue) => {
    catalogue.put(tides(documents, 1, 1))
    assert.deepEqual(found(catalogue, 'tide'), [1])
  })
})

test('what another process puts during a rebuild is in both; merges come out the same', (context) => {
  const folder = folderOf(context)
  const documents = new Documents()
  const options = { folder, textIndex: true, readDocument: documents.read }
  const older = documents.entry(1, 1, { hnId: 1, type: 'comment', by: 'ann', text: 'ebb', parent: 5 })
  const newer = documents.entry(2, 1, { hnId: 1, type: 'comment', deleted: true, parent: 5 })
  withCatalogue(options, (catalogue) =>
    withCatalogue(options, (other) => {
      catalogue.put([older, newer])
      const before = catalogue.search({})
      catalogue.beginRebuild()
      catalogue.put([older])
      other.put(tides(documents, 10, 2))
      catalogue.put([newer])
      catalogue.finishRebuild()
      assert.equal(other.search({}).rows.length, 3)
      assert.deepEqual(other.search({ author: 'ann' }), before)
      assert.deepEqual(found(other, 'ebb'), [1])
      assert.equal(other.unresolved(1), 1)
      // And again, as names that are left over would be in the way of a second one.
      other.beginRebuild()
      other.put([older, newer])
      other.finishRebuild()
      assert.deepEqual(catalogue.search({}), before)
    }),
  )
})

test('a rebuild that was left, replaced or abandoned leaves the current rows as they were', (context) => {
  const folder = folderOf(context)
  const documents = new Documents()
  const options = { folder, readDocument: documents.read }
  const entries = tides(documents, 1, 3)
  withCatalogue(options, (catalogue) => {
    catalogue.put(entries)
    catalogue.beginRebuild()
    catalogue.put(entries.slice(0, 1))
  })
  withCatalogue(options, (first) =>
    withCatalogue(options, (second) => {
      assert.throws(() => first.finishRebuild(), /No rebuild of the catalogue was begun here/)
      assert.equal(first.counts().documents, 3)
      first.beginRebuild()
      second.beginRebuild()
      assert.throws(
        () => first.finishRebuild(),
        (error) => isSluiceError(error, 'conflict') && error.message.includes('another one began after it'),
      )
      first.abandonRebuild()
      second.put(entries.slice(0, 2))
      second.finishRebuild()
      assert.equal(first.counts().documents, 2)
      first.beginRebuild()
      first.abandonRebuild()
      assert.deepEqual(first.put(entries), ['added', 'added', 'added'])
    }),
  )
  const file = new DatabaseSync(join(folder, 'catalogue.db'))
  const left = file.prepare("SELECT name FROM sqlite_schema WHERE name LIKE 'next%'").all()
  file.close()
  assert.deepEqual(left, [])
})

test('files keep their numbers, also through a rebuild', (context) => {
  const folder = folderOf(context)
  const [one, two] = ['a'.repeat(64), 'b'.repeat(64)] as const
  withCatalogue({ folder }, (catalogue) => {
    const first = catalogue.fileNumber(one)
    const second = catalogue.fileNumber(two)
    assert.notEqual(first, second)
    catalogue.beginRebuild()
    catalogue.finishRebuild()
    assert.equal(catalogue.fileNumber(one), first)
    assert.equal(catalogue.fileOf(second), two)
    assert.throws(
      () => catalogue.fileOf(99),
      (error) => isSluiceError(error, 'not_found'),
    )
    assert.throws(
      () => catalogue.fileNumber('../etc'),
      (error) => isSluiceError(error, 'invalid'),
    )
  })
})
