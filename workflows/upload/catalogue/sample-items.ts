import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import fc from 'fast-check'
import { type HNItem, itemTypes } from '../hn-item.ts'
import { type Candidate, Catalogue, type CatalogueOptions, type Entry } from './catalogue.ts'
import { parentOf } from './item-row.ts'
import { factsOf, isNewer, isStronger, type Version } from './newness.ts'
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

/** What the catalogue does, as simply as it can be said: it keeps every version, and looks at all of them each time. */
export class Model {
  readonly #versions = new Map<number, { readonly all: Entry[]; readonly before: Map<number, Entry | null> }>()

  /** The strongest version of each id, and the document: each field from the strongest version that has it. */
  readonly rows = new Map<number, { readonly entry: Entry; readonly document: HNItem }>()

  put(entry: Entry): PutVerdict {
    const { hnId } = entry.item
    const strongest = this.rows.get(hnId)?.entry ?? null
    const known = this.#versions.get(hnId) ?? { all: [], before: new Map([[entry.batch, null]]) }
    this.#versions.set(hnId, known)
    const verdict = this.verdict(entry)
    if (!strongest || isStronger(versionFor(entry), versionFor(strongest)))
      if (!known.before.has(entry.batch)) known.before.set(entry.batch, strongest)
    if (!known.all.includes(entry)) known.all.push(entry)
    const strongestFirst = known.all.toSorted((one, two) => (isStronger(versionFor(one), versionFor(two)) ? -1 : 1))
    const weakestFirst = strongestFirst.toReversed().map(({ item }) => item)
    const stands = strongestFirst[0]!
    const document = { ...(Object.assign({}, ...weakestFirst) as HNItem), type: stands.item.type }
    this.rows.set(hnId, { entry: stands, document })
    return verdict
  }

  verdict({ item, batch, earlier }: Candidate): PutVerdict {
    const known = this.#versions.get(item.hnId)
    const found = known?.before.get(batch)
    const before = found === undefined ? (this.rows.get(item.hnId)?.entry ?? null) : found
    if (earlier && !isNewer(factsOf(item), earlier)) return { duplicateOfIndex: earlier.index }
    if (before && !isNewer(factsOf(item), factsOf(before.item))) return { duplicateOf: before.entity }
    return earlier || before ? 'merged' : 'added'
  }

  parent(hnId: number): number | null {
    const row = this.rows.get(hnId)
    return row === undefined ? null : parentOf(row.document)
  }

  unresolved(batch: number): number {
    const { rows } = this
    const isOpen = (parent: number | null) => parent !== null && !rows.has(parent)
    return [...rows.values()].filter((row) => row.entry.batch === batch && isOpen(parentOf(row.document))).length
  }
}

function versionFor({ item, batch, offset }: Entry): Version {
  return { ...factsOf(item), batch, offset }
}
