import { z } from 'zod'
import type { TypeCount } from '../resources/resources.ts'

/** Names of resource types as a parameter; whether there are such resources is seen when the job runs. */
export const typeName = z
  .string()
  .regex(/^[A-Z][A-Za-z]{1,63}$/, 'expected the name of a resource type, such as Patient')
export const typeNames = z
  .array(typeName)
  .min(1, 'expected at least one type; leave it out for all')
  .max(500, 'expected at most 500 types')
  .transform((names) => [...new Set(names)].sort())

export interface Chosen {
  readonly types: readonly TypeCount[]
  /** Asked for, and there is none of them. */
  readonly missing: readonly string[]
}

export function chosenTypes(stored: readonly TypeCount[], wanted: readonly string[] | undefined): Chosen {
  if (wanted === undefined) return { types: stored, missing: [] }
  const types = stored.filter(({ type }) => wanted.includes(type))
  return { types, missing: wanted.filter((name) => !types.some(({ type }) => type === name)) }
}
