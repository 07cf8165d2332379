import pg from 'pg'
import { aftermath, isServerError, isStaleStatement } from './fault.ts'
import { type Answer, type Parser, parserOf, type Row, textOf, type Value } from './statement.ts'

/** One statement that is on its way, and who is told of its end. */
export interface Order {
  readonly text: string
  readonly values: readonly Value[]
  readonly answered: (answer: Answer) => void
  readonly failed: (error: unknown) => void
}

/** The part of the driver's connection that a flight speaks to; its types do not tell of it. */
export interface Wire {
  parse(statement: { readonly name: string; readonly text: string }): void
  bind(binding: { readonly statement: string; readonly values: readonly (string | null)[] }): void
  describe(portal: { readonly type: 'P'; readonly name: string }): void
  execute(portal: { readonly portal: string }): void
  sync(): void
}

/** What the driver asks of a query, beyond what its types tell. */
interface DriverQuery {
  /** Makes it use the protocol in which statements are prepared. */
  queryMode: string
}
const DriverQuery = pg.Query as unknown as new (text: string, callback: () => void) => DriverQuery

/** How the columns of a statement are read, for every one that was described once. */
const parsersByText = new Map<string, readonly (Parser | null)[]>()

/**
 * Statements that are asked for without a pause: one packet there, and one answer back for all of them. Each is prepared once per
 * connection and described once per process: after that the server sends rows alone, without the names and types of their columns, which
 * would cost both sides more than a short statement itself. If one fails, the server passes over those behind it.
 */
export class Flight extends DriverQuery {
  readonly #orders: readonly Order[]
  readonly #prepared: Prepared
  /** Those of which this flight brings the text. */
  readonly #parsed = new Set<string>()
  #parsers: readonly (Parser | null)[] | undefined
  #rows: Row[] = []
  /** Which of them is being answered. */
  #current = 0

  constructor(orders: readonly Order[], prepared: Prepared) {
    // Given a callback only later, every one of them would be kept alive until the next full collection, and all that it leads to.
    super('a flight of statements', noCallback)
    this.queryMode = 'extended'
    this.#orders = orders
    this.#prepared = prepared
  }

  prepare(wire: Wire): void {
    for (const { text, values } of this.#orders) {
      let name = this.#prepared.nameOf(text)
      if (name === null) {
        name = this.#prepared.add(text)
        this.#parsed.add(text)
        wire.parse({ name, text })
      }
      wire.bind({ statement: name, values: values.map(textOf) })
      if (!parsersByText.has(text)) wire.describe({ type: 'P', name: '' })
      wire.execute({ portal: '' })
    }
    wire.sync()
    this.#begin()
  }

  #begin(): void {
    const order = this.#orders[this.#current]
    this.#rows = []
    this.#parsers = order && parsersByText.get(order.text)
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

  handleCommandComplete({ text: told }: { readonly text: string }): void {
    const { text, answered } = this.#orders[this.#current]!
    // What was described, and told of no columns, has none.
    if (!parsersByText.has(text)) parsersByText.set(text, this.#parsers ?? [])
    const space = told.indexOf(' ')
    const command = space < 0 ? told : told.slice(0, space)
    const answer = { rows: this.#rows, command, rowCount: Number(told.slice(told.lastIndexOf(' ') + 1)) || 0 }
    this.#current += 1
    this.#begin()
    answered(answer)
  }

  handleReadyForQuery(): void {}

  handleError(error: Error): void {
    const failed = this.#orders.slice(this.#current)
    this.#current = this.#orders.length
    failed.forEach(({ text, failed }, index) => {
      // Whether the server has taken its text is not known; or what it made of it is of no use any more.
      if (this.#parsed.has(text) || (index === 0 && isStaleStatement(error))) this.#prepared.forget(text)
      failed(index > 0 && isServerError(error) ? aftermath() : error)
    })
  }
}

function noCallback(): void {}

/** What one connection has prepared, and by which names. */
export class Prepared {
  readonly #names = new Map<string, string>()
  #count = 0

  nameOf(text: string): string | null {
    return this.#names.get(text) ?? null
  }

  add(text: string): string {
    this.#count += 1
    const name = `s${this.#count}`
    this.#names.set(text, name)
    return name
  }

  /** The next time it has another name. */
  forget(text: string): void {
    this.#names.delete(text)
  }
}
