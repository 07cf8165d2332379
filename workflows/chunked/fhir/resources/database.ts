import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite'
import { SluiceError } from 'sluice/errors'
import { faultOf, isBusy } from './fault.ts'
import { applicationId, migrations, newest } from './schema.ts'

export type Value = SQLInputValue
export type Row = readonly SQLOutputValue[]

/** How long a process waits for another's write lock. */
const busyMs = 10_000
/** There are about forty; a bound all the same. */
const statementsMax = 200
/** Ids and terms are written all over their tables. */
const cacheKib = 32 * 1024
const pageBytes = 4_096
/** Pages in the log before they are copied to the file: 32 MiB. Pages that change often are then copied less often. */
const checkpointPages = 8_192
/** The log is cut back to this when it starts anew. */
const logBytesMax = 64 * 1024 * 1024

/** One connection to the file of resources: checked when opened, all or nothing when written. */
export class Database {
  readonly file: string
  readonly #connection: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  constructor(file: string) {
    this.file = file
    this.#connection = this.#guarded(() => new DatabaseSync(file, { timeout: busyMs }))
    try {
      this.#guarded(() => this.#prepare())
    } catch (error) {
      this.#connection.close()
      throw error
    }
  }

  /** All or nothing, durable when it returns. */
  write<Result>(work: () => Result): Result {
    return this.#transact('BEGIN IMMEDIATE', work)
  }

  /** One view of the file for all that `work` reads. */
  read<Result>(work: () => Result): Result {
    return this.#transact('BEGIN', work)
  }

  exec(sql: string): void {
    this.#connection.exec(sql)
  }

  run(sql: string, values: readonly Value[] = []): void {
    this.#statement(sql).run(...values)
  }

  all(sql: string, values: readonly Value[] = []): readonly Row[] {
    // setReturnArrays makes rows arrays; the types of Node know objects only.
    return this.#statement(sql).all(...values) as unknown as readonly Row[]
  }

  /** The first column of the first row, if it is a number. */
  number(sql: string, values: readonly Value[] = []): number | null {
    const value = (this.#statement(sql).get(...values) as Row | undefined)?.[0]
    return typeof value === 'number' ? value : null
  }

  close(): void {
    if (!this.#connection.isOpen) return
    this.#statements.clear()
    this.#connection.close()
  }

  #prepare(): void {
    // One view for both: another process may be making the tables of a new file right now.
    const [application, tables] = this.read(() => [
      this.number('PRAGMA application_id') ?? 0,
      this.number('SELECT count(*) FROM sqlite_schema') ?? 0,
    ])
    if (application !== applicationId && (application !== 0 || tables > 0)) {
      throw new SluiceError(
        'invalid',
        `${this.file} is a database of another program, not one of resources. Nothing was changed. Name another file.`,
        { file: this.file },
      )
    }
    this.#checkVersion()
    if (tables === 0) this.exec(`PRAGMA page_size = ${pageBytes}`)
    this.#useLog()
    this.exec('PRAGMA synchronous = FULL')
    this.exec(`PRAGMA cache_size = -${cacheKib}`)
    this.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`)
    this.exec(`PRAGMA journal_size_limit = ${logBytesMax}`)
    if (this.#checkVersion() === newest) return
    this.write(() => {
      // Another process may have been first.
      const version = this.#checkVersion()
      for (const { number, sql } of migrations) if (number > version) this.exec(sql)
      this.exec(`PRAGMA application_id = ${applicationId}`)
      this.exec(`PRAGMA user_version = ${newest}`)
    })
  }

  /** A new file is turned to a log once. SQLite does not wait for its turn here, so it is waited for with an empty write. */
  #useLog(attempts = 10): void {
    try {
      this.exec('PRAGMA journal_mode = WAL')
    } catch (error) {
      if (attempts === 1 || !isBusy(error)) throw error
      this.write(() => {})
      this.#useLog(attempts - 1)
    }
  }

  #checkVersion(): number {
    const version = this.number('PRAGMA user_version') ?? 0
    if (version <= newest) return version
    throw new SluiceError(
      'conflict',
      `The resources ${this.file} were written by a newer program (schema ${version}; this one knows ${newest}). Nothing was changed. Use the newer program.`,
      { file: this.file, version, known: newest },
    )
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (!statement) {
      if (this.#statements.size >= statementsMax) this.#statements.clear()
      statement = this.#connection.prepare(sql)
      statement.setReturnArrays(true)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  #transact<Result>(begin: string, work: () => Result): Result {
    if (!this.#connection.isOpen) {
      throw new SluiceError('conflict', `The resources ${this.file} are closed. Open them again to use it.`, {
        file: this.file,
      })
    }
    return this.#guarded(() => {
      this.exec(begin)
      const result = work()
      this.exec('COMMIT')
      return result
    })
  }

  #guarded<Result>(work: () => Result): Result {
    try {
      return work()
    } catch (error) {
      this.#undo()
      throw faultOf(error, this.file)
    }
  }

  /** After some errors SQLite has rolled back by itself; asking again would be another error. */
  #undo(): void {
    if (this.#connection?.isOpen && this.#connection.isTransaction) this.exec('ROLLBACK')
  }
}
