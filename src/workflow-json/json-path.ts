/** `$.name.list[0].list[*]`: names and positions, no filters, no descent. */
export type JsonPath = readonly Step[]

type Step = { readonly key: string } | { readonly index: number } | 'every'

const segmentPattern = /^[A-Za-z0-9_-]+(?:\[(?:\*|[0-9]{1,9})\])*$/

/** Null: not a path of the subset that the platforms know. */
export function parseJsonPath(text: string): JsonPath | null {
  if (!text.startsWith('$.')) return null
  const segments = text.slice(2).split('.')
  if (!segments.every((segment) => segmentPattern.test(segment))) return null
  return segments.flatMap((segment) => {
    const [key = '', ...positions] = segment.split('[')
    return [{ key }, ...positions.map(positionOf)]
  })
}

function positionOf(text: string): Step {
  const inner = text.slice(0, -1)
  return inner === '*' ? 'every' : { index: Number(inner) }
}

/**
 * The values that a path leads to. Without `[*]` there is exactly one, undefined where it ends in nothing; with it, one for
 * each element, and none where there is no list.
 */
export function valuesAt(data: unknown, path: JsonPath): readonly unknown[] {
  return path.reduce<readonly unknown[]>((values, step) => values.flatMap((value) => follow(value, step)), [data])
}

function follow(value: unknown, step: Step): readonly unknown[] {
  if (step === 'every') return Array.isArray(value) ? value : []
  if ('index' in step) return [Array.isArray(value) ? value[step.index] : undefined]
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  // Only what the data itself holds: `$.constructor` of an empty object is nothing. A list must not be spread by flatMap.
  return [isObject && Object.hasOwn(value, step.key) ? (value as Record<string, unknown>)[step.key] : undefined]
}
