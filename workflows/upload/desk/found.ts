import type { AncestryEnd, FoundRow } from '../catalogue/catalogue.ts'
import type { HNItem } from '../hn-item.ts'

/** An item that was found, with its document as it was uploaded. */
export interface Found extends Omit<FoundRow, 'document'> {
  readonly item: HNItem
}

export interface FoundPage {
  readonly found: readonly Found[]
  /** To be handed over as `after` for the next page; null: this was the last. */
  readonly next: string | null
}

/** An item, and what is above or below it. */
export interface Hierarchy {
  readonly item: Found
  /** With the number of steps between it and the item. Ancestors: the nearest first. Descendants: level by level. */
  readonly found: readonly (Found & { readonly depth: number })[]
  readonly next: string | null
  /** Of ancestors: why there are no more. */
  readonly end: AncestryEnd | null
}

export interface HierarchyOptions {
  readonly depthMax?: number
  readonly limit?: number
  readonly after?: string
}

export interface HierarchyQuery extends HierarchyOptions {
  readonly direction: 'ancestors' | 'descendants'
  readonly hnId: number
}
