import { z } from 'zod'
import { issueCodes } from '../issue.ts'

/** What became of lines. */
export const lineCounts = z.strictObject({
  /** With content. */
  lines: z.int(),
  blank: z.int(),
  created: z.int(),
  updated: z.int(),
  unchanged: z.int(),
  superseded: z.int(),
  refused: z.int(),
})

export type LineCounts = z.infer<typeof lineCounts>

export const typeCounts = z.strictObject({
  created: z.int(),
  updated: z.int(),
  unchanged: z.int(),
  superseded: z.int(),
})

export type TypeCounts = z.infer<typeof typeCounts>

export const badSample = z.strictObject({
  file: z.string(),
  line: z.int(),
  code: z.enum(issueCodes),
  message: z.string(),
  path: z.string(),
})

export type BadSample = z.infer<typeof badSample>

export const noLines: LineCounts = {
  lines: 0,
  blank: 0,
  created: 0,
  updated: 0,
  unchanged: 0,
  superseded: 0,
  refused: 0,
}

/** Adds up whatever has the same names. */
export function sumOf<K extends string>(
  one: Readonly<Partial<Record<K, number>>>,
  other: Readonly<Partial<Record<K, number>>>,
): Record<K, number> {
  const sum = { ...one } as Record<K, number>
  for (const [name, count] of Object.entries(other) as [K, number][]) sum[name] = (sum[name] ?? 0) + count
  return sum
}
