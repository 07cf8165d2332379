import { SluiceError } from 'sluice/errors'
import { type FoundRow, foundRows } from './found-row.ts'
import type { ItemRow } from './item-row.ts'
import { depthDefault, depthMaximum, limitDefault, limitMax } from './search-query.ts'
import type { Shelf } from './shelf.ts'

/** An item above or below another one, and how many steps away. */
export interface HierarchyNode extends FoundRow {
  readonly depth: number
}

/**
 * Why a way up ended. root: at what answers nothing. unresolved: the next one is not in the catalogue. cycle: it came back
 * to an item it had passed, which real data should not do. depth: the limit was reached.
 */
export type AncestryEnd = 'root' | 'unresolved' | 'cycle' | 'depth'

export interface Ancestry {
  /** The nearest first. */
  readonly nodes: readonly HierarchyNode[]
  readonly end: AncestryEnd
}

export interface DescendantPage {
  /** Level by level; within a level by id. */
  readonly nodes: readonly HierarchyNode[]
  /** For the next page; null: this was the last one. */
  readonly next: string | null
}

export interface DescendantOptions {
  readonly depthMax?: number
  readonly limit?: number
  readonly after?: string
}

/** One place below an item. */
interface Below {
  readonly hnId: number
  readonly seq: number
  readonly depth: number
}

/** A walk keeps the ids it has passed, so it must end somewhere. The biggest discussions have some ten thousand items. */
const passedMax = 100_000

export function ancestors(shelf: Shelf, hnId: number, depthMax = depthDefault): Ancestry {
  checkWhole('depthMax', depthMax, 1, depthMaximum)
  const { rows, end } = wayUp(shelf, rowOrThrow(shelf, hnId), depthMax)
  return { nodes: foundRows(shelf, rows).map((row, index) => ({ ...row, depth: index + 1 })), end }
}

/** How many items are above it, as far as they are known. */
export function depthOf(shelf: Shelf, hnId: number): { readonly depth: number; readonly end: AncestryEnd } {
  const { rows, end } = wayUp(shelf, rowOrThrow(shelf, hnId), depthMaximum)
  return { depth: rows.length, end }
}

export function descendants(shelf: Shelf, hnId: number, options: DescendantOptions = {}): DescendantPage {
  const { depthMax = depthDefault, limit = limitDefault } = options
  checkWhole('depthMax', depthMax, 1, depthMaximum)
  checkWhole('limit', limit, 1, limitMax)
  const after = placeOf(options.after)
  rowOrThrow(shelf, hnId)
  const page: Below[] = []
  for (const below of wayDown(shelf, hnId, depthMax)) {
    if (after && (below.depth < after.depth || (below.depth === after.depth && below.hnId <= after.hnId))) continue
    page.push(below)
    if (page.length > limit) break
  }
  const isMore = page.length > limit
  if (isMore) page.pop()
  const last = page.at(-1)
  const rows = new Map(shelf.rows(page.map(({ seq }) => seq)).map((row) => [row.seq, row]))
  const found = foundRows(
    shelf,
    page.map(({ seq }) => rows.get(seq)!),
  )
  return {
    nodes: found.map((row, index) => ({ ...row, depth: page[index]!.depth })),
    next: isMore && last ? `${last.depth}.${last.hnId}` : null,
  }
}

/**
 * Everything below an item, level by level, each once, at the least depth at which it is found. The item itself is not
 * below itself, not even in a cycle.
 */
export function* wayDown(shelf: Shelf, hnId: number, depthMax: number): Generator<Below> {
  const passed = new Set([hnId])
  let level = [hnId]
  for (let depth = 1; depth <= depthMax && level.length > 0; depth += 1) {
    const next = shelf
      .children(level)
      .map(([id, seq]): Below => ({ hnId: id as number, seq: seq as number, depth }))
      .filter((below) => !passed.has(below.hnId))
      .sort((left, right) => left.hnId - right.hnId)
    for (const below of next) passed.add(below.hnId)
    if (passed.size > passedMax) {
      throw new SluiceError(
        'invalid',
        `More than ${passedMax} items are below ${hnId} within ${depth} steps. Ask for less depth, or begin further down.`,
        { hnId, depth, limit: passedMax },
      )
    }
    yield* next
    level = next.map((below) => below.hnId)
  }
}

function wayUp(shelf: Shelf, from: ItemRow, depthMax: number): { readonly rows: ItemRow[]; readonly end: AncestryEnd } {
  const rows: ItemRow[] = []
  const passed = new Set([from.hnId])
  for (let { parent } = from; parent !== null; ) {
    if (passed.has(parent)) return { rows, end: 'cycle' }
    const row = shelf.row(parent)
    if (row === null) return { rows, end: 'unresolved' }
    if (rows.length === depthMax) return { rows, end: 'depth' }
    rows.push(row)
    passed.add(row.hnId)
    parent = row.parent
  }
  return { rows, end: 'root' }
}

function rowOrThrow(shelf: Shelf, hnId: number): ItemRow {
  const row = Number.isSafeInteger(hnId) ? shelf.row(hnId) : null
  if (row) return row
  throw new SluiceError('not_found', `Item ${hnId} is not in the catalogue.`, { hnId })
}

function placeOf(after: string | undefined): { readonly depth: number; readonly hnId: number } | null {
  if (after === undefined) return null
  const [, depth, hnId] = /^(\d{1,4})\.(\d{1,16})$/.exec(String(after)) ?? []
  if (depth !== undefined) return { depth: Number(depth), hnId: Number(hnId) }
  throw new SluiceError('invalid', 'The walk cannot go on: after is not the `next` of a page.', { field: 'after' })
}

function checkWhole(field: string, value: number, low: number, high: number): void {
  if (Number.isSafeInteger(value) && value >= low && value <= high) return
  throw new SluiceError('invalid', `${field} must be a whole number from ${low} to ${high}; it was ${String(value)}.`, {
    field,
  })
}
