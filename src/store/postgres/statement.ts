import pg from 'pg'

export type Value = string | number | boolean | null | readonly (string | number | boolean | null)[]
export type Row = readonly unknown[]

export interface Answer {
  readonly rows: readonly Row[]
  /** The word that the server calls it by. */
  readonly command: string
  readonly rowCount: number
}

export type Parser = (text: string) => unknown

/** Numbers come as numbers: ids and times stay below 2^53. Null: as it is. */
export function parserOf(type: number): Parser | null {
  switch (type) {
    case 16:
      return (text) => text === 't'
    case 20:
    case 21:
    case 23:
    case 701:
      return Number
    case 25:
    case 1043:
      return null
    default:
      return pg.types.getTypeParser(type, 'text') as Parser
  }
}

export function textOf(value: Value): string | null {
  if (typeof value === 'string' || value === null) return value
  return typeof value === 'object' ? arrayText(value) : String(value)
}

/** An array as the server reads it. Most are of numbers, and long. */
function arrayText(values: Exclude<Value, string | number | boolean | null>): string {
  let text = '{'
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index]!
    if (index > 0) text += ','
    if (value === null) text += 'NULL'
    else text += typeof value === 'string' ? quoted(value) : value
  }
  return `${text}}`
}

const special = /["\\]/
const specials = /["\\]/g

function quoted(text: string): string {
  return special.test(text) ? `"${text.replace(specials, '\\$&')}"` : `"${text}"`
}
