import type { Lane } from 'sluice'
import { uploadItem } from './item-machine.ts'

/** What the tallies say of a batch's items. total = completed + failed + skipped + pending, always. */
export interface ItemCounts {
  readonly total: number
  readonly completed: number
  readonly failed: number
  readonly skipped: number
  readonly pending: number
  /** Completed items that replaced an older version of themselves. */
  readonly merged: number
  readonly reasons: Readonly<Record<string, number>>
}

/** For items that were given up by hand, without a word. */
export const unknownReason = 'unknown'

/** `expected`: how many the file holds, known before all of them are extracted. */
export function itemCounts(lanes: readonly Lane[], expected: number): ItemCounts {
  const lane = lanes.find((lane) => lane.name === uploadItem.name)
  const { completed = 0, failed = 0, skipped = 0 } = lane?.counts ?? {}
  const total = Math.max(expected, lane?.total ?? 0)
  return {
    total,
    completed,
    failed,
    skipped,
    pending: total - completed - failed - skipped,
    merged: lane?.sums.merged ?? 0,
    reasons: allReasons(lane?.reasons ?? {}, failed),
  }
}

/** They add up to what failed. */
function allReasons(reasons: ItemCounts['reasons'], failed: number): ItemCounts['reasons'] {
  const unknown = failed - Object.values(reasons).reduce((sum, count) => sum + count, 0)
  return unknown > 0 ? { ...reasons, [unknownReason]: (reasons[unknownReason] ?? 0) + unknown } : reasons
}
