import { z } from 'zod'

/** Kinds of schemas whose values JSON does not carry, with what to use instead. */
const instead: Readonly<Record<string, string>> = {
  date: 'z.iso.datetime()',
  set: 'z.array()',
  map: 'z.record()',
  bigint: 'z.string() or z.int()',
  symbol: 'z.string()',
  nan: 'z.number()',
  file: 'an attachment',
  function: 'data',
}

/** What a schema gives out and JSON would change on its way through the store, each with its field. */
export function jsonFaults(name: string, schema: z.ZodType | null | undefined): readonly string[] {
  if (!schema) return []
  const faults = new Set<string>()
  try {
    z.toJSONSchema(schema, {
      io: 'output',
      unrepresentable: 'any',
      override: ({ zodSchema, path }) => {
        const { type } = zodSchema._zod.def
        if (!Object.hasOwn(instead, type)) return
        const field = path.filter((part) => part !== 'properties').map((part) => (part === 'items' ? '[]' : part))
        const where = field.length === 0 ? name : `${name}, field ${field.join('.')},`
        faults.add(
          `${where} is a ${type}, which does not survive as JSON; use ${instead[type]}, and convert it in the step`,
        )
      },
    })
  } catch {
    // A schema of another library, or of another version of zod: its values are checked when they come.
  }
  return [...faults]
}

/** Where a value is no plain data: a transform may make anything, which no schema tells beforehand. Null: it is plain. */
export function notPlainAt(value: unknown, path: readonly string[] = [], seen = new Set<object>()): string | null {
  // A circle is refused when it is stored, with a sentence of its own.
  if (typeof value !== 'object' || value === null || seen.has(value)) return null
  seen.add(value)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) {
    return `${path.join('.') || 'the whole'} is a ${prototype?.constructor.name ?? 'object'}`
  }
  for (const [key, item] of Object.entries(value)) {
    const found = notPlainAt(item, [...path, key], seen)
    if (found !== null) return found
  }
  return null
}
