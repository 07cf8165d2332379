import type { FileCheck } from '../files/file-check.ts'
import type { Cursor } from '../files/file-fault.ts'
import type { Repeat } from './file-repeats.ts'
import type { PlacedItem } from './places.ts'
import type { LoadedGroup, VerdictGroup } from './wire.ts'

/**
 * Where the heavy work of the family is done: reading files, parsing, comparing, indexing. It is asked for many items at
 * once and answers from a thread of its own, so that the engine's thread only moves entities.
 */
export interface Desk {
  /** Counts the items of a stored file and looks at its structure. */
  check(sha256: string, onProgress: (bytes: number) => void, signal: AbortSignal): Promise<FileCheck>
  /** The next elements behind a cursor; null: from the beginning. */
  elements(sha256: string, cursor: Cursor | null, limit: number): Promise<Elements>
  /** The number under which items name a stored file: the same for the same content. */
  numberOf(sha256: string): Promise<number>
  /** Reads and parses items, and says what is known of each under its hnId. */
  load(items: readonly PlacedItem[]): Promise<LoadedGroup>
  /** Whether another entity's version of each item is at least as new. */
  compare(items: readonly PlacedItem[]): Promise<VerdictGroup>
  /** Whether the parent of each item is in the catalogue: 1 or 0. */
  known(items: readonly PlacedItem[]): Promise<Uint8Array>
  /** Writes the items to the catalogue, durably, once for each hnId. */
  index(items: readonly PlacedItem[]): Promise<VerdictGroup>
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
  /** Elements whose id an earlier element of the file has too. */
  readonly repeats: readonly Repeat[]
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
