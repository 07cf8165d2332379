import { z } from 'zod'

/** Under meta(): the JSON Schema of what is sent, where it cannot be worked out from the transform that reads it. */
export const asSent = (schema: Readonly<Record<string, unknown>>) => ({ sent: schema })

/** Schemas that the document refers to by name, wherever they stand inside another. */
const names = new WeakMap<z.core.$ZodType, string>()

export function nameSchemas(named: Readonly<Record<string, z.ZodType>>): void {
  for (const [name, schema] of Object.entries(named)) names.set(schema, name)
}

export function referenceTo(schema: z.core.$ZodType): { readonly $ref: string } | null {
  const name = names.get(schema)
  return name === undefined ? null : { $ref: `#/components/schemas/${name}` }
}

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
    const { $schema: _dialect, ...made } = z.toJSONSchema(schema, {
      ...{ io, unrepresentable: 'any', reused: 'inline' },
      override: ({ zodSchema, jsonSchema, path }) => {
        const sent = z.globalRegistry.get(zodSchema)?.sent
        const reference = path.length > 0 ? referenceTo(zodSchema) : null
        const other = reference ?? sent
        if (typeof other !== 'object' || other === null) return
        for (const key of Object.keys(jsonSchema)) delete jsonSchema[key]
        Object.assign(jsonSchema, other)
      },
    })
    return made
  } catch {
    // A user's own schema may hold what no JSON Schema can say: the page shows no form then, and the engine checks all the same.
    return {}
  }
}
