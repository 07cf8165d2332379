import type { FileCheck } from '../files/file-check.ts'
import type { Cursor } from '../files/file-fault.ts'
import type { ItemType } from '../hn-item.ts'
import type { ItemData } from '../item-data.ts'

/**
 * Where the heavy work of the family is done: reading files, parsing, comparing, indexing. It is asked for one item at a time and
 * answers in groups, from a thread of its own, so that the engine's thread only moves entities.
 */
export interface Desk {
  /** Counts the items of a stored file and looks at its structure. */
  check(sha256: string, onProgress: (bytes: number) => void, signal: AbortSignal): Promise<FileCheck>
  /** The next elements behind a cursor; null: from the beginning. */
  elements(sha256: string, cursor: Cursor | null, limit: number): Promise<Elements>
  /** The number under which items name a stored file: the same for the same content. */
  numberOf(sha256: string): Promise<number>
  load(entity: number, item: ItemData): Promise<Loaded>
  /** The entity whose version of the item is at least as new; null: this one is new, newer, or its own. */
  compare(entity: number, item: ItemData): Promise<number | null>
  /** Whether the item's parent is in the catalogue. */
  isKnown(entity: number, item: ItemData): Promise<boolean>
  index(entity: number, item: ItemData): Promise<Indexed>
  /** Items of this batch whose parent has not been seen. */
  unresolved(batch: number): Promise<number>
  stop(): Promise<void>
}

export interface Elements {
  readonly first: number
  readonly offsets: Float64Array
  readonly lengths: Uint32Array
  /** NaN where it could not be read. */
  readonly hnIds: Float64Array
  readonly faults: readonly ElementFault[]
  readonly next: Cursor | null
  /** Why the file cannot be read any further. */
  readonly fault: string | null
}

export interface ElementFault {
  /** Within the group. */
  readonly position: number
  readonly reason: string
  readonly message: string
}

export interface Loaded {
  readonly fault: { readonly reason: string; readonly message: string } | null
  readonly hnId: number | null
  readonly type: ItemType
  readonly parent: number | null
  readonly warnings: readonly string[] | null
  /** See `compare` and `isKnown`: the answers of the moment when it was loaded. */
  readonly duplicateOf: number | null
  readonly isParentKnown: boolean
}

export type Indexed =
  | { readonly kind: 'added' }
  | { readonly kind: 'merged' }
  | { readonly kind: 'duplicate'; readonly of: number }
