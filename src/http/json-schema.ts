import { z } from 'zod'

const known = new WeakMap<z.ZodType, Map<'input' | 'output', unknown>>()

/** A schema in the dialect that OpenAPI 3.1 speaks. What JSON Schema cannot say (transforms, dates) is left open. */
export function jsonSchemaOf(schema: z.ZodType, io: 'input' | 'output'): unknown {
  const made = known.get(schema) ?? new Map<'input' | 'output', unknown>()
  known.set(schema, made)
  if (!made.has(io)) made.set(io, make(schema, io))
  return made.get(io)
}

function make(schema: z.ZodType, io: 'input' | 'output'): unknown {
  try {
    const { $schema: _dialect, ...made } = z.toJSONSchema(schema, { io, unrepresentable: 'any', reused: 'inline' })
    return made
  } catch {
    // A user's own schema may hold what no JSON Schema can say: the page shows no form then, and the engine checks all the same.
    return {}
  }
}
