import { SluiceError } from 'sluice/errors'
import type { Row } from './database.ts'

/** Where a resource came from: which line of what. Of two lines of one source the later one counts, in whatever order they come. */
export interface Origin {
  readonly source: string
  /** From 1. */
  readonly line: number
}

/** A resource as it stands in the store. */
export interface StoredResource {
  readonly number: number
  readonly type: string
  readonly id: string
  readonly version: number
  /** Milliseconds since 1970. */
  readonly updatedAt: number
  /** The version of the index that knows it as it stands; 0: none does. */
  readonly indexedWith: number
  readonly json: string
}

export const rowColumns =
  'resource.number, type.name, resource.id, resource.version, resource.updated, resource.indexed, resource.json'
export const rowTables = 'resource JOIN type ON type.number = resource.type'

export function storedOf(row: Row): StoredResource {
  const [number, type, id, version, updatedAt, indexedWith, json] = row
  return { number, type, id, version, updatedAt, indexedWith, json } as StoredResource
}

/** Calls take so many entries or numbers at once. */
export const groupMax = 10_000
/** Rows of one page. */
export const pageMax = 10_000

export function checkGroup(group: readonly unknown[]): void {
  if (group.length <= groupMax) return
  throw new SluiceError(
    'invalid',
    `Up to ${groupMax} are taken at once; there were ${group.length}. Hand over smaller groups.`,
    {
      count: group.length,
      limit: groupMax,
    },
  )
}

export function checkLimit(limit: number, max: number = pageMax): void {
  if (Number.isInteger(limit) && limit >= 1 && limit <= max) return
  throw new SluiceError('invalid', `The limit must be a whole number from 1 to ${max}; it was ${limit}.`, {
    limit,
    max,
  })
}
