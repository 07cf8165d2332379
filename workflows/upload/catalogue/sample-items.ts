import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import fc from 'fast-check'
import { type HNItem, itemTypes } from '../hn-item.ts'
import { Catalogue, type CatalogueOptions, type Entry } from './catalogue.ts'
import { parentOf } from './item-row.ts'
import { mergeItems } from './merging.ts'
import { factsOf, isNewer } from './newness.ts'
import type { PutVerdict } from './putting.ts'

/** What the tests of this folder share: small items that meet often, documents kept in memory, and the plain model. */

export const words = ['gate', 'sluice', 'water', 'Wasser', 'naïve', 'über', '水門', 'tide', 'tides'] as const

const phrase = fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 5 }).map((list) => list.join(' '))

/** Few ids, authors, times and scores, so that filters, ties, duplicates and cycles of parents all happen. */
export const anyItem: fc.Arbitrary<HNItem> = fc
  .record(
    {
      hnId: fc.integer({ min: 1, max: 40 }),
      type: fc.constantFrom(...itemTypes),
      by: fc.constantFrom('ann', 'bob', 'Ünal', "o'brien", 'a\u0000b'),
      time: fc.integer({ min: -2, max: 6 }),
      text: phrase,
      score: fc.integer({ min: -2, max: 4 }),
      title: phrase,
      descendants: fc.integer({ min: 0, max: 2 }),
      parent: fc.integer({ min: 1, max: 50 }),
      kids: fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 2 }),
      poll: fc.integer({ min: 1, max: 50 }),
      deleted: fc.constant(true),
      dead: fc.constant(true),
    },
    { requiredKeys: ['hnId', 'type'] },
  )
  .map((item) => ({ ...item }) as HNItem)

/** Entries as an upload makes them: the place of a document in its file is its place in `documents`. */
export class Documents {
  readonly #documents: HNItem[] = []

  entry(entity: number, batch: number, item: HNItem): Entry {
    const offset = this.#documents.push(item) - 1
    return { entity, batch, file: 7, offset, length: 1, item }
  }

  readonly read = (file: number, offset: number, length: number): HNItem => {
    const document = this.#documents[offset]
    if (file !== 7 || length !== 1 || document === undefined) throw new Error(`Nothing lies at ${offset} of ${file}.`)
    return document
  }
}

/** A folder of the test's own, removed when it ends. */
export function folderOf(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-catalogue-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export function withCatalogue<Result>(
  options: Partial<CatalogueOptions> & { folder: string },
  work: (catalogue: Catalogue) => Result,
): Result {
  const { folder, ...rest } = options
  const file = join(folder, 'catalogue.db')
  const catalogue = new Catalogue({ file, textIndex: false, now: () => 1, readDocument: new Documents().read, ...rest })
  try {
    return work(catalogue)
  } finally {
    catalogue.close()
  }
}

/** What the catalogue does, as simply as it can be said. */
export class Model {
  readonly rows = new Map<number, { entry: Entry; document: HNItem; merged: boolean; versions: readonly number[] }>()

  put(entry: Entry): PutVerdict {
    const { item } = entry
    const row = this.rows.get(item.hnId)
    if (row === undefined) {
      this.rows.set(item.hnId, { entry, document: item, merged: false, versions: [] })
      return 'added'
    }
    const { versions } = row
    if (row.entry.entity === entry.entity) {
      const document = row.merged ? mergeItems(row.document, item) : null
      this.rows.set(item.hnId, { entry, document: document ?? item, merged: document !== null, versions })
      return versions.length === 0 ? 'own' : 'merged'
    }
    if (!isNewer(factsOf(item), factsOf(row.document))) {
      const place = versions.indexOf(entry.entity)
      if (place >= 0) return place === 0 ? 'own' : 'merged'
      return { duplicateOf: row.entry.entity }
    }
    const document = mergeItems(row.document, item)
    const merged = document !== null
    this.rows.set(item.hnId, {
      entry,
      document: document ?? item,
      merged,
      versions: [...versions, row.entry.entity],
    })
    return 'merged'
  }

  parent(hnId: number): number | null {
    const row = this.rows.get(hnId)
    return row === undefined ? null : parentOf(row.document)
  }

  unresolved(batch: number): number {
    const isOpen = (parent: number | null) => parent !== null && !this.rows.has(parent)
    return [...this.rows.values()].filter((row) => row.entry.batch === batch && isOpen(parentOf(row.document))).length
  }
}
