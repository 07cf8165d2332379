import { SluiceError } from 'sluice/errors'
import type { ItemType } from '../hn-item.ts'
import { Database } from './database.ts'
import { FileNumbers } from './file-numbers.ts'
import { foldStep, freshCount, isFoldDue, isFoldOpen } from './fold.ts'
import { type FoundRow, foundRows } from './found-row.ts'
import { FreshKeys } from './fresh-keys.ts'
import {
  type Ancestry,
  type AncestryEnd,
  ancestors,
  type DescendantOptions,
  type DescendantPage,
  depthOf,
  descendants,
} from './hierarchy.ts'
import { type Candidate, type Entry, type ItemRow, lacksParent } from './item-row.ts'
import { changes, type Duplicate, type PutVerdict, putEntries, type ReadDocument, verdictOf } from './putting.ts'
import { abandonRebuild, beginRebuild, finishRebuild, writtenShelves } from './rebuild.ts'
import { prefixes } from './schema.ts'
import { type SearchPage, search } from './search.ts'
import type { SearchQuery } from './search-query.ts'
import { Shelf } from './shelf.ts'
import { assertText, settleText, textForWriting } from './text-setting.ts'

export type { DocumentPlace, FoundRow, Link } from './found-row.ts'
export type { Ancestry, AncestryEnd, DescendantOptions, DescendantPage, HierarchyNode } from './hierarchy.ts'
export type { Candidate, Earlier, Entry } from './item-row.ts'
export type { Duplicate, PutVerdict, ReadDocument } from './putting.ts'
export type { SearchPage } from './search.ts'
export type { SearchQuery, SortKey, SortOrder } from './search-query.ts'

export interface CatalogueOptions {
  readonly file: string
  /** Whether titles and texts can be searched. A catalogue that was filled with the other setting must be rebuilt first. */
  readonly textIndex: boolean
  readonly now: () => number
  /** Reads a document where an entry said that it lies: for merging a newer one with it. */
  readonly readDocument: ReadDocument
  /** So many new rows wait before they are folded in; 65,536 if it is not said. With more, searches wait longer. */
  readonly freshMax?: number
}

/** With twice as many, folds cost a tenth less. */
const freshMaxDefault = 65_536
/** With so many times that number, whoever puts rows has to fold them. */
const freshBound = 4
/** Short steps of a fold until what they wrote is copied from the log to the file, in a step of its own; otherwise some put would have to. */
const stepsPerCopy = 32
/** Entries, candidates and ids of one call. */
const groupMax = 10_000

/**
 * What is known of every item: whether it is there, who brought it, where its document lies, and the keys for searching.
 * Rows never leave it, except that a rebuild replaces all. Everything is synchronous, for a thread of its own.
 */
export class Catalogue {
  readonly #options: CatalogueOptions
  readonly #database: Database
  readonly #shelf: Shelf
  readonly #files: FileNumbers
  readonly #freshMax: number
  readonly #freshKeys: FreshKeys
  /** The file as it was when they were last looked at: what another process has written since may have changed some of them. */
  #version = 0
  /** Short steps of a fold since the log was copied to the file; a long one counts for many. */
  #stepsLogged = 0
  /** The number of the rebuild that was begun here. */
  #rebuild: number | null = null

  constructor(options: CatalogueOptions) {
    this.#options = options
    this.#database = new Database(options.file)
    this.#shelf = new Shelf(this.#database, prefixes.current)
    this.#files = new FileNumbers(this.#database)
    this.#freshMax = options.freshMax ?? freshMaxDefault
    // Those of a fold under way, and those that arrive meanwhile.
    this.#freshKeys = new FreshKeys(2 * this.#freshMax)
    try {
      settleText(this.#shelf, options.textIndex)
    } catch (error) {
      this.#database.close()
      throw error
    }
  }

  close(): void {
    this.#database.close()
  }

  /**
   * The duplicates among them that bring nothing new: what they hold is here already, or they could not be completed. Null: to be
   * put, which decides. Nothing is written.
   */
  compare(candidates: readonly Candidate[]): (Duplicate | null)[] {
    checkGroup(candidates)
    return this.#database.read(() => this.#compareAll(candidates))
  }

  #compareAll(candidates: readonly Candidate[]): (Duplicate | null)[] {
    const hnIds: number[] = []
    for (const { item } of candidates) hnIds.push(item.hnId)
    const seqs = this.#shelf.locate(hnIds)
    const rows = new Map(this.#shelf.rows([...seqs.values()]).map((row) => [row.hnId, row]))
    const duplicates: (Duplicate | null)[] = []
    for (const candidate of candidates) duplicates.push(this.#compareOne(candidate, rows.get(candidate.item.hnId)))
    return duplicates
  }

  #compareOne(candidate: Candidate, row: ItemRow | undefined): Duplicate | null {
    if (row === undefined && candidate.earlier === undefined) return null
    const verdict = verdictOf(candidate, row ? this.#shelf.knownBefore(row, candidate.batch) : null)
    if (typeof verdict !== 'object') return null
    if (lacksParent(candidate.item)) return verdict
    return row && !changes(row, candidate, () => this.#shelf.borrowed(row.seq)) ? verdict : null
  }

  /** Which of these ids are in the catalogue. */
  known(hnIds: readonly number[]): boolean[] {
    checkGroup(hnIds)
    const found = this.#database.read(() => this.#shelf.locate(hnIds))
    const known: boolean[] = []
    for (const hnId of hnIds) known.push(found.has(hnId))
    return known
  }

  /** Who put the rows that came first and last; none if there are no rows. */
  ends(): { readonly hnId: number; readonly entity: number; readonly batch: number }[] {
    return this.#database.read(() => this.#shelf.ends().map(({ hnId, entity, batch }) => ({ hnId, entity, batch })))
  }

  /** All or nothing, durable when it returns, and harmless to repeat. Entries count one after another. */
  put(entries: readonly Entry[]): PutVerdict[] {
    checkGroup(entries)
    const { readDocument, textIndex } = this.#options
    const isTooMuch = (shelf: Shelf) => freshCount(shelf) >= freshBound * this.#freshMax
    const [put, mustFold] = this.#database.write(() => {
      this.#lookAtKeys()
      const written = writtenShelves(this.#database, this.#shelf)
      const given = written.map((shelf) =>
        putEntries({ shelf, withText: textForWriting(shelf, textIndex), readDocument }, entries),
      )
      return [given[0]!, written.some(isTooMuch)] as const
    })
    // Only now: what was not written is not to be folded.
    this.#freshKeys.changed(put.changed)
    this.#freshKeys.append(put.added)
    while (mustFold && this.#fold(isTooMuch));
    return put.verdicts
  }

  /** How many rows of this batch answer something that is not in the catalogue, as it stands now. */
  unresolved(batch: number): number {
    return this.#database.read(() => this.#shelf.unresolved(batch))
  }

  counts(): { readonly documents: number; readonly byType: Readonly<Record<ItemType, number>> } {
    const byType = this.#database.read(() => this.#shelf.counts())
    return { documents: Object.values(byType).reduce((sum, count) => sum + count, 0), byType }
  }

  /** Makes what was put lately searchable. Searches do it themselves; after a batch it spares the first of them the wait. */
  settle(): void {
    const last = this.#database.read(() => this.#shelf.lastSeq())
    // Not what arrives from now on: another process might never end.
    while (this.#fold((shelf) => shelf.prefix === prefixes.current && isFoldOpen(shelf, last)));
  }

  /**
   * Does a part of the work of bringing rows over to the tables that are searched: due when enough of them wait; any: also
   * if there are only a few. True: there is more to do. It may be called at any time, or never: then `put` does it when too
   * many wait, and searches do.
   */
  foldStep(wanted: 'due' | 'any' = 'due'): boolean {
    return this.#fold((shelf) => isFoldDue(shelf, wanted === 'any' ? 1 : this.#freshMax))
  }

  /** One step in the first set that is due, or a copy of what the last one has left in the log. True: there is more to do. */
  #fold(isDue: (shelf: Shelf) => boolean): boolean {
    const due = () => writtenShelves(this.#database, this.#shelf).find(isDue)
    // Most of the time nothing is due, and nobody has to wait for a write.
    if (this.#database.read(due) === undefined) return false
    if (this.#stepsLogged >= stepsPerCopy) {
      this.#stepsLogged = 0
      this.#database.checkpoint()
      return true
    }
    try {
      return this.#database.writeLazily(() => {
        this.#lookAtKeys()
        // Another process may have been first.
        const shelf = due()
        if (!shelf) return false
        const keys = shelf.prefix === prefixes.current ? this.#freshKeys : null
        this.#stepsLogged += foldStep(shelf, this.#freshMax, keys) === 'much' ? stepsPerCopy : 1
        return due() !== undefined
      })
    } catch (error) {
      // Those of the step count as folded.
      this.#freshKeys.clear()
      throw error
    }
  }

  /** Within a write. */
  #lookAtKeys(): void {
    const version = this.#database.version()
    if (version !== this.#version) this.#freshKeys.clear()
    this.#version = version
  }

  /**
   * Pages by time and score are stable: what is put meanwhile moves no other row to another page. Relevance depends on all
   * texts there are, so there a row near the edge of a page can move if something is put in between.
   */
  search(query: SearchQuery): SearchPage {
    return this.#searched(() => {
      if (query.text !== undefined) assertText(this.#shelf, this.#options.textIndex)
      return search(this.#shelf, query)
    })
  }

  /** One item by its id; null: it is not known. */
  item(hnId: number): FoundRow | null {
    return this.#database.read(() => {
      const row = this.#shelf.row(hnId)
      return row && (foundRows(this.#shelf, [row])[0] ?? null)
    })
  }

  /** What this item answers, what that answers, and so on up to the root. */
  ancestors(hnId: number, { depthMax }: { readonly depthMax?: number } = {}): Ancestry {
    return this.#database.read(() => ancestors(this.#shelf, hnId, depthMax))
  }

  /** What answers this item, and what answers that, level by level. */
  descendants(hnId: number, options: DescendantOptions = {}): DescendantPage {
    return this.#searched(() => descendants(this.#shelf, hnId, options))
  }

  /** How many items stand above this one, and why the count ended there. */
  depth(hnId: number): { readonly depth: number; readonly end: AncestryEnd } {
    return this.#database.read(() => depthOf(this.#shelf, hnId))
  }

  /** The number by which entries name a stored file: given once, the same ever after. */
  fileNumber(sha256: string): number {
    return this.#files.number(sha256)
  }

  /** What that number means, told again to a catalogue that may be a new one. */
  registerFile(number: number, sha256: string): void {
    this.#files.register(number, sha256)
  }

  /** The stored file of that number. */
  fileOf(number: number): string {
    return this.#files.sha256(number)
  }

  /**
   * From now on all that is put goes into a new set of tables as well, with the text index as this catalogue was opened.
   * Put every item again, in groups and in any order of batches; then finish. What stood here is searched until then.
   */
  beginRebuild(): void {
    this.#rebuild = beginRebuild(this.#database, this.#options.textIndex)
  }

  /** The new set takes the place of the old one, in one transaction. */
  finishRebuild(): void {
    if (this.#rebuild === null)
      throw new SluiceError('conflict', 'No rebuild of the catalogue was begun here. Begin one first.')
    finishRebuild(this.#database, this.#rebuild)
    this.#freshKeys.clear()
    this.#rebuild = null
  }

  /** The old set stays as it is. */
  abandonRebuild(): void {
    if (this.#rebuild !== null) abandonRebuild(this.#database, this.#rebuild)
    this.#rebuild = null
  }

  #searched<Result>(work: () => Result): Result {
    this.settle()
    return this.#database.read(work)
  }
}

function checkGroup(group: readonly unknown[]): void {
  if (group.length <= groupMax) return
  throw new SluiceError(
    'invalid',
    `The catalogue takes up to ${groupMax} at once; there were ${group.length}. Hand them over in smaller groups.`,
    { count: group.length, limit: groupMax },
  )
}
