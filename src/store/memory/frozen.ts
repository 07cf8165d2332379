/**
 * A copy that nobody can change, of plain values: what callers hand in may be changed by them later, and what they are
 * handed must not be a way into the store's rows.
 */
export function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return Object.freeze(value.map(frozen)) as Value
  return Object.freeze(Object.fromEntries(Object.entries(value).map(([name, part]) => [name, frozen(part)]))) as Value
}
