import { SluiceError } from 'sluice/errors'
import { type HNItem, type ItemType, itemTypes } from '../hn-item.ts'
import type { Row, Value } from './database.ts'
import { type Facts, factsOf } from './newness.ts'

/** A document and where it lies, as an upload hands it in. */
export interface Entry {
  readonly entity: number
  readonly batch: number
  /** Which stored file, and which bytes of it. */
  readonly file: number
  readonly offset: number
  readonly length: number
  readonly item: HNItem
}

/** One row of the table `item`. */
export interface ItemRow extends Facts {
  readonly seq: number
  readonly hnId: number
  readonly type: ItemType
  readonly author: string | null
  readonly time: number | null
  readonly parent: number | null
  readonly entity: number
  readonly batch: number
  readonly file: number
  readonly offset: number
  readonly length: number
  /** Its document is in the table `merged`: no file holds it. */
  readonly merged: boolean
  /** It took the place of a version that another entity had put. */
  readonly replaced: boolean
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

/** What the column `merged` is made of. */
const mergedFlag = 1
const replacedFlag = 2

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

/** `item` is the document to be found: the entry's own, or the merged one. */
export function itemRow(
  seq: number,
  { entity, batch, file, offset, length }: Entry,
  item: HNItem,
  { merged, replaced }: Pick<ItemRow, 'merged' | 'replaced'>,
): ItemRow {
  const { gone, kids, descendants, score } = factsOf(item)
  return {
    seq,
    hnId: item.hnId,
    type: item.type,
    author: item.by ?? null,
    time: item.time ?? null,
    score,
    parent: parentOf(item),
    gone,
    kids,
    descendants,
    entity,
    batch,
    file,
    offset,
    length,
    merged,
    replaced,
  }
}

export function pushValues(values: Value[], row: ItemRow): void {
  values.push(
    row.seq,
    row.hnId,
    kindOf(row.type, row.parent !== null),
    row.author,
    row.time,
    row.score,
    row.parent,
    row.gone,
    row.kids,
    row.descendants,
    row.entity,
    row.batch,
    row.file,
    row.offset,
    row.length,
    (row.merged ? mergedFlag : 0) + (row.replaced ? replacedFlag : 0),
  )
}

export function rowOf(values: Row): ItemRow {
  return {
    seq: Number(values[0]),
    hnId: Number(values[1]),
    type: itemTypes[Number(values[2]) % parented]!,
    author: values[3] as string | null,
    time: values[4] as number | null,
    score: values[5] as number | null,
    parent: values[6] as number | null,
    gone: Number(values[7]),
    kids: Number(values[8]),
    descendants: values[9] as number | null,
    entity: Number(values[10]),
    batch: Number(values[11]),
    file: Number(values[12]),
    offset: Number(values[13]),
    length: Number(values[14]),
    merged: (Number(values[15]) & mergedFlag) !== 0,
    replaced: (Number(values[15]) & replacedFlag) !== 0,
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
