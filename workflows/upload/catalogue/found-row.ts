import type { HNItem, ItemType } from '../hn-item.ts'
import type { ItemRow } from './item-row.ts'
import type { Shelf } from './shelf.ts'

/** stored: these bytes of that file. merged: no file holds it, so here it is. */
export type DocumentPlace =
  | { readonly kind: 'stored'; readonly file: number; readonly offset: number; readonly length: number }
  | { readonly kind: 'merged'; readonly item: HNItem }

/** resolved: what it answers is in the catalogue now. none: it answers nothing. */
export type Link = 'resolved' | 'unresolved' | 'none'

/** An item as a search or a walk through the hierarchy finds it. */
export interface FoundRow {
  readonly hnId: number
  readonly type: ItemType
  readonly by: string | null
  readonly time: number | null
  readonly score: number | null
  readonly parent: number | null
  readonly link: Link
  readonly entity: number
  readonly batch: number
  readonly document: DocumentPlace
}

export function foundRows(shelf: Shelf, rows: readonly ItemRow[]): FoundRow[] {
  const parents = shelf.locate(rows.flatMap(({ parent }) => (parent === null ? [] : [parent])))
  return rows.map((row) => ({
    hnId: row.hnId,
    type: row.type,
    by: row.author,
    time: row.time,
    score: row.documentScore,
    parent: row.parent,
    link: row.parent === null ? 'none' : parents.has(row.parent) ? 'resolved' : 'unresolved',
    entity: row.entity,
    batch: row.batch,
    document: documentPlace(shelf, row),
  }))
}

function documentPlace(shelf: Shelf, { seq, merged, file, offset, length }: ItemRow): DocumentPlace {
  const item = merged ? shelf.mergedDocument(seq) : null
  return item ? { kind: 'merged', item } : { kind: 'stored', file, offset, length }
}
