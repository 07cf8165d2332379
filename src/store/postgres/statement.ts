import pg from 'pg'

export type Value = string | number | boolean | null | readonly (string | number | boolean | null)[]
export type Row = readonly unknown[]

export interface Answer {
  readonly rows: readonly Row[]
  /** The word that the server calls it by. */
  readonly command: string
  readonly rowCount: number
}

type Parser = (text: string) => unknown

/** The part of the driver's connection that a statement speaks to; its types do not tell of it. */
interface Wire {
  readonly parsedStatements: Readonly<Record<string, string | undefined>>
  readonly submittedNamedStatements: Record<string, string | undefined>
  parse(statement: { readonly name: string; readonly text: string }): void
  bind(binding: { readonly statement: string; readonly values: readonly (string | null)[] }): void
  describe(portal: { readonly type: 'P'; readonly name: string }): void
  execute(portal: { readonly portal: string }): void
  sync(): void
}

/** What the driver asks of a query, beyond what its types tell. */
interface DriverQuery {
  callback: (error: Error | null, answer?: Answer) => void
}
const DriverQuery = pg.Query as unknown as new (config: { readonly name: string; readonly text: string }) => DriverQuery

/** How the columns of a statement are read, for every one that was described once. */
const parsersByText = new Map<string, readonly (Parser | null)[]>()

/**
 * A statement that is prepared once per connection and described once per process: after that the server sends rows alone, without the
 * names and types of their columns, which would cost both sides more than a short statement itself.
 */
export class Statement extends DriverQuery {
  readonly #name: string
  readonly #text: string
  readonly #values: readonly Value[]
  readonly #rows: Row[] = []
  #parsers: readonly (Parser | null)[] | undefined
  #complete = ''

  constructor(name: string, text: string, values: readonly Value[]) {
    super({ name, text })
    this.#name = name
    this.#text = text
    this.#values = values
    this.#parsers = parsersByText.get(text)
  }

  prepare(wire: Wire): void {
    const [name, text] = [this.#name, this.#text]
    if (wire.parsedStatements[name] === undefined && wire.submittedNamedStatements[name] === undefined) {
      wire.parse({ name, text })
      wire.submittedNamedStatements[name] = text
    }
    wire.bind({ statement: name, values: this.#values.map(textOf) })
    if (!this.#parsers) wire.describe({ type: 'P', name: '' })
    wire.execute({ portal: '' })
    wire.sync()
  }

  handleRowDescription({ fields }: { readonly fields: readonly { readonly dataTypeID: number }[] }): void {
    this.#parsers = fields.map(({ dataTypeID }) => parserOf(dataTypeID))
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const parsers = this.#parsers!
    const row: unknown[] = new Array(fields.length)
    for (let index = 0; index < fields.length; index += 1) {
      const text = fields[index]!
      const parser = parsers[index]
      row[index] = text !== null && parser ? parser(text) : text
    }
    this.#rows.push(row)
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#complete = text
    // What was not described has no columns.
    this.#parsers ??= []
    parsersByText.set(this.#text, this.#parsers)
  }

  handleReadyForQuery(): void {
    const words = this.#complete.split(' ')
    this.callback(null, { rows: this.#rows, command: words[0]!, rowCount: Number(words.at(-1)) || 0 })
  }
}

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

function textOf(value: Value): string | null {
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
