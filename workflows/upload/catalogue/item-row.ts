import { SluiceError } from 'sluice/errors'
import { type HNItem, type ItemType, itemTypes } from '../hn-item.ts'
import type { Row, Value } from './database.ts'
import { fieldsOf } from './merging.ts'
import { type Facts, factsOf } from './newness.ts'

/** A version of an item that is compared with what is known. */
export interface Candidate {
  readonly batch: number
  /** Where it lies in the file of its batch. */
  readonly offset: number
  readonly item: HNItem
  /** What earlier elements of the same file hold under the same id. */
  readonly earlier?: Earlier | undefined
}

/** A document and where it lies, as an upload hands it in. */
export interface Entry extends Candidate {
  readonly entity: number
  /** Which stored file, and how many bytes of it. */
  readonly file: number
  readonly length: number
}

/** The newest of the valid elements that come before an element in its file and have the same id. */
export interface Earlier extends Facts {
  /** Its index in the file. */
  readonly index: number
}

/** One row of the table `item`: the strongest version that was put, and the search keys of its document. */
export interface ItemRow extends Facts {
  readonly seq: number
  readonly hnId: number
  readonly type: ItemType
  readonly author: string | null
  readonly time: number | null
  /** Of the document. The facts, `score` among them, are the standing version's own. */
  readonly documentScore: number | null
  readonly parent: number | null
  readonly entity: number
  readonly batch: number
  readonly file: number
  readonly offset: number
  readonly length: number
  /** Its document is in the table `merged`: no file holds it. */
  readonly merged: boolean
  /** Several batches put versions of it: `known_before` says what each of them found. */
  readonly shared: boolean
  /** The fields that the document has. Null: an older program wrote the row, and they are not known. */
  readonly fields: number | null
}

/** In the order in which `valuesOf` gives and `rowOf` takes them. */
export const columns = [
  'seq',
  'id',
  'kind',
  'author',
  'time',
  'score',
  'parent',
  'gone',
  'kids',
  'descendants',
  'entity',
  'batch',
  'file',
  'offset',
  'length',
  'merged',
] as const

/** What the column `merged` is made of. The second bit was used by an older program. */
const mergedFlag = 1
const sharedFlag = 4
/** The standing version has no score: the one in the row comes from another version. */
const scoreBorrowedFlag = 8
/** Says that the fields are known: there are documents without any. */
const fieldsKnown = 16
const fieldsUnit = 32

/** Added to the type's number in `kind` for what has a parent. */
export const parented = 8

/** Stands for an absent time or score in search tables: lower than any real one, and only six bytes long. */
export const absent = -(2 ** 47)

export function kindOf(type: ItemType, hasParent: boolean): number {
  return itemTypes.indexOf(type) + (hasParent ? parented : 0)
}

/** What it answers: a comment's parent, or an option's poll. */
export function parentOf(item: HNItem): number | null {
  return (item.type === 'pollopt' ? (item.poll ?? item.parent) : item.parent) ?? null
}

/** The row of a version that stands. `document`: its own item, or the one that was merged with other versions. */
export function itemRow(
  seq: number,
  { entity, batch, file, offset, length, item }: Entry,
  document: HNItem,
  { merged, shared }: Pick<ItemRow, 'merged' | 'shared'>,
): ItemRow {
  const { gone, kids, descendants, score } = factsOf(item)
  return {
    seq,
    hnId: item.hnId,
    type: document.type,
    author: document.by ?? null,
    time: document.time ?? null,
    score,
    documentScore: document.score ?? null,
    parent: parentOf(document),
    gone,
    kids,
    descendants,
    entity,
    batch,
    file,
    offset,
    length,
    merged,
    shared,
    fields: fieldsOf(document),
  }
}

/** The same version stands, and its document has got fields of another one. */
export function withDocument(row: ItemRow, document: HNItem, merged: boolean): ItemRow {
  return {
    ...row,
    author: document.by ?? null,
    time: document.time ?? null,
    documentScore: document.score ?? null,
    parent: parentOf(document),
    merged,
    fields: fieldsOf(document),
  }
}

/** A comment or an option that does not say what it answers: it cannot be completed. */
export function lacksParent(item: HNItem): boolean {
  return (item.type === 'comment' || item.type === 'pollopt') && parentOf(item) === null
}

export function pushValues(values: Value[], row: ItemRow): void {
  values.push(
    row.seq,
    row.hnId,
    kindOf(row.type, row.parent !== null),
    row.author,
    row.time,
    row.documentScore,
    row.parent,
    row.gone,
    row.kids,
    row.descendants,
    row.entity,
    row.batch,
    row.file,
    row.offset,
    row.length,
    flagsOf(row),
  )
}

function flagsOf({ merged, shared, fields, score, documentScore }: ItemRow): number {
  const isScoreBorrowed = score !== documentScore
  return (
    (merged ? mergedFlag : 0) +
    (shared ? sharedFlag : 0) +
    (isScoreBorrowed ? scoreBorrowedFlag : 0) +
    (fields === null ? 0 : fieldsKnown + fields * fieldsUnit)
  )
}

export function rowOf(values: Row): ItemRow {
  const flags = Number(values[15])
  const documentScore = values[5] as number | null
  return {
    seq: Number(values[0]),
    hnId: Number(values[1]),
    type: itemTypes[Number(values[2]) % parented]!,
    author: values[3] as string | null,
    time: values[4] as number | null,
    score: (flags & scoreBorrowedFlag) === 0 ? documentScore : null,
    documentScore,
    parent: values[6] as number | null,
    gone: Number(values[7]),
    kids: Number(values[8]),
    descendants: values[9] as number | null,
    entity: Number(values[10]),
    batch: Number(values[11]),
    file: Number(values[12]),
    offset: Number(values[13]),
    length: Number(values[14]),
    merged: (flags & mergedFlag) !== 0,
    shared: (flags & sharedFlag) !== 0,
    fields: (flags & fieldsKnown) === 0 ? null : Math.floor(flags / fieldsUnit),
  }
}

/** Numbers that SQLite would keep as something else, or JavaScript would round, never come in. */
export function checkEntry(entry: Entry, position: number): void {
  checkWhole(entry.item.hnId, 'item.hnId', position)
  checkWhole(entry.entity, 'entity', position)
  checkWhole(entry.batch, 'batch', position)
  checkWhole(entry.file, 'file', position)
  checkWhole(entry.offset, 'offset', position)
  checkWhole(entry.length, 'length', position)
}

function checkWhole(value: number, field: string, position: number): void {
  if (Number.isSafeInteger(value) && value >= 0) return
  throw new SluiceError(
    'invalid',
    `Entry ${position} cannot be put into the catalogue: ${field} must be a whole number from 0 to 2^53 - 1; it was ${String(value)}.`,
    { position, field },
  )
}
