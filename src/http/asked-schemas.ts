import { z } from 'zod'
import { priorityMax } from '../limits.ts'
import type { HttpLimits } from './http-limits.ts'
import { asSent } from './json-schema.ts'

/** Words and numbers of requests. In a query everything is text: numbers and flags are read from it strictly. */
export const idNumber = z.int().min(0).max(Number.MAX_SAFE_INTEGER)

export const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^-?[0-9]{1,16}$/, `must be a whole number of ${min} to ${max}`)
    .transform(Number)
    .pipe(z.int().min(min).max(max))

export const idText = wholeNumber(0, Number.MAX_SAFE_INTEGER)

export const flagText = z
  .enum(['true', 'false'])
  .transform((text) => text === 'true')
  .pipe(z.boolean())

/** Once or several times. */
export const repeated = <T>(item: z.ZodType<T, string>, max: number) =>
  z
    .union([z.array(z.string()), z.string()])
    .transform((given) => (Array.isArray(given) ? given : [given]))
    .pipe(z.array(item).max(max))

export const nameText = z.string().min(1).max(200)
export const reasonText = z.string().min(1).max(2_000)
/** Lower numbers come first. */
export const priorityNumber = z.int().min(-priorityMax).max(priorityMax)
export const timeNumber = z.int().min(0).max(8.64e15)

export const idParams = z.strictObject({ id: idText })

export const pageQuery = ({ pageMax }: HttpLimits) => ({
  after: idText.optional(),
  limit: wholeNumber(1, pageMax).optional(),
})

/** An entity's id, or `none` for the roots. */
export const parentText = z
  .union([z.literal('none'), z.string().regex(/^[0-9]{1,16}$/)])
  .transform((text) => (text === 'none' ? null : Number(text)))
  .pipe(idNumber.nullable())
  .meta(
    asSent({
      anyOf: [
        { type: 'integer', minimum: 0 },
        { type: 'string', const: 'none' },
      ],
    }),
  )

/** What a handler gets of a field that was left out must be absent, not undefined. */
export function given<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }
}
