import type { HNItem } from '../hn-item.ts'

/**
 * The newer document with the fields that only the older one has: a deleted comment keeps its author and text.
 * Null if the newer one lacks nothing: then it stands as its file holds it.
 */
export function mergeItems(older: HNItem, newer: HNItem): HNItem | null {
  const has = (field: string) => newer[field as keyof HNItem] !== undefined
  const kept = Object.entries(older).filter(([field, value]) => value !== undefined && !has(field))
  if (kept.length === 0) return null
  return { ...newer, ...(Object.fromEntries(kept) as Partial<HNItem>) }
}
