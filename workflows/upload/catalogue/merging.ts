import type { HNItem } from '../hn-item.ts'
import { isStronger, type Version } from './newness.ts'

/** The fields that one version of an item may have and another not, in the order in which documents are written. */
export const fieldNames = [
  'by',
  'time',
  'text',
  'url',
  'score',
  'title',
  'descendants',
  'parent',
  'kids',
  'poll',
  'parts',
  'deleted',
  'dead',
] as const

export type FieldName = (typeof fieldNames)[number]

/** The fields that a document took from other versions than the standing one, with the version that gave each. */
export type Borrowed = { readonly [Name in FieldName]?: Version }

export interface Merged {
  readonly item: HNItem
  readonly borrowed: Borrowed
}

/** Which fields an item has, as bits in the order of `fieldNames`. */
export function fieldsOf(item: HNItem): number {
  let bits = 0
  for (let place = 0; place < fieldNames.length; place += 1) {
    if (item[fieldNames[place]!] !== undefined) bits |= 1 << place
  }
  return bits
}

/**
 * Adds one version to a document. Each field has the value of the strongest version that has the field, so the result is the
 * same in whichever order versions arrive, and however often one of them is repeated.
 */
export function mergeInto(stored: Merged, standing: Version, item: HNItem, version: Version): Merged {
  const stands = isStronger(version, standing) ? item : stored.item
  const document: Record<string, unknown> = { hnId: item.hnId, type: stands.type }
  const borrowed: { [Name in FieldName]?: Version } = {}
  for (const name of fieldNames) {
    const giver = stored.borrowed[name] ?? standing
    const isGiven = item[name] !== undefined && (stored.item[name] === undefined || isStronger(version, giver))
    const value = isGiven ? item[name] : stored.item[name]
    if (value === undefined) continue
    document[name] = value
    const from = isGiven ? version : giver
    if (from !== (stands === item ? version : standing)) borrowed[name] = from
  }
  return { item: document as unknown as HNItem, borrowed }
}
