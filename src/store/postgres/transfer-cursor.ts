import type { Row, Session, Value } from './database.ts'

/** What one question brings: few enough rows that even the longest fit into memory. */
const fetchMax = 500
const fetchBytesMax = 2 * 1024 * 1024
const fetchFirst = 50

/** The rows of one statement, read on and on within a transaction. The server keeps where it is. */
export class TransferCursor {
  readonly #session: Session
  readonly #name: string
  readonly #sql: string
  readonly #values: readonly Value[]
  #rows: readonly Row[] = []
  #next = 0
  #size = fetchFirst
  #isOpen = false
  #isEnded = false

  constructor(session: Session, name: string, sql: string, values: readonly Value[]) {
    this.#session = session
    this.#name = name
    this.#sql = sql
    this.#values = values
  }

  /** The row that comes next; null: there is none. */
  async peek(): Promise<Row | null> {
    if (this.#next >= this.#rows.length && !this.#isEnded) await this.#fetch()
    return this.#rows[this.#next] ?? null
  }

  /** Whether the next row is here already. */
  get isAtHand(): boolean {
    return this.#next < this.#rows.length
  }

  take(): Row {
    const row = this.#rows[this.#next]!
    this.#next += 1
    return row
  }

  async #fetch(): Promise<void> {
    if (!this.#isOpen) {
      await this.#session.all(`DECLARE ${this.#name} NO SCROLL CURSOR FOR ${this.#sql}`, this.#values)
      this.#isOpen = true
    }
    const { rows } = await this.#session.exec(`FETCH FORWARD ${this.#size} FROM ${this.#name}`)
    this.#rows = rows as readonly unknown[] as readonly Row[]
    this.#next = 0
    if (rows.length < this.#size) {
      this.#isEnded = true
      await this.#session.exec(`CLOSE ${this.#name}`)
      return
    }
    const bytes = this.#rows.reduce((sum, row) => sum + bytesOf(row), 0)
    this.#size = Math.max(1, Math.min(fetchMax, Math.floor((fetchBytesMax * rows.length) / bytes)))
  }
}

export function bytesOf(row: Row): number {
  let bytes = 0
  for (const value of row) bytes += typeof value === 'string' ? value.length : 8
  return bytes
}
