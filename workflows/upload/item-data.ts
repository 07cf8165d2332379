import type { Schema } from 'sluice'
import type { Earlier } from './catalogue/catalogue.ts'
import type { ItemType } from './hn-item.ts'

/**
 * Data of an item: where it comes from, where its content lies, and what became of it. The content itself stays in the
 * stored file: it may be bigger than an entity's data, and a million small rows are written twice as fast.
 */
export interface ItemData {
  readonly batchId: number
  readonly sourceType: 'BULK_UPLOAD'
  /** Position in the file, from 0. */
  readonly itemIndex: number
  readonly file: number
  readonly offset: number
  readonly length: number
  readonly hnId?: number
  readonly type?: ItemType
  /** A comment's parent, or a pollopt's poll. */
  readonly parent?: number
  readonly link?: 'none' | 'resolved' | 'unresolved'
  /** The newest of the valid elements before it in the file that have the same hnId. Found while the file is extracted. */
  readonly earlier?: Earlier
  /** The item of another batch that is known under the same hnId and at least as new. */
  readonly duplicateOf?: number
  /** The index of an earlier element of the same file that is at least as new. */
  readonly duplicateOfIndex?: number
  readonly merged?: true
  readonly warnings?: readonly string[]
  readonly ingestedAt?: number
  readonly lastUpdated?: number
  readonly errorType?: 'VALIDATION' | 'DUPLICATE' | 'PROCESSING' | 'UNKNOWN'
  readonly errorMessage?: string
  readonly retryCount?: number
  readonly lastFailureAt?: number
  readonly retryAttemptAt?: number
}

/** Checked by hand: a million items are checked twice each, and only this family writes them. */
export const itemData: Schema<ItemData> = {
  safeParse: (value) => (isItem(value) ? { success: true, data: value } : refused),
}

const expected =
  'expected an item of an upload batch: sourceType BULK_UPLOAD, batchId, itemIndex, file, offset and length'
const refused = { success: false, error: { issues: [{ path: [], message: expected }] } } as const

function isItem(value: unknown): value is ItemData {
  if (typeof value !== 'object' || value === null) return false
  const { batchId, itemIndex, file, offset, length, sourceType } = value as Record<string, unknown>
  return (
    sourceType === 'BULK_UPLOAD' &&
    typeof batchId === 'number' &&
    typeof itemIndex === 'number' &&
    typeof file === 'number' &&
    typeof offset === 'number' &&
    typeof length === 'number'
  )
}
