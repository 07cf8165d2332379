import type { Value } from './database.ts'

/** The values of a statement that is put together from parts: each is added where it is named. */
export class Terms {
  readonly values: Value[] = []

  add(value: Value): string {
    this.values.push(value)
    return `$${this.values.length}`
  }
}

/** A part of a statement's condition. Its text depends on what is asked for, never on the values: statements are kept by their text. */
export type Condition = (terms: Terms) => string

export function allOf(conditions: readonly Condition[], terms: Terms): string {
  return conditions.map((condition) => condition(terms)).join(' AND ')
}
