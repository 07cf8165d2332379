import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite'
import { SluiceError } from 'sluice/errors'
import { faultOf, isBusy } from './fault.ts'
import { applicationId, migrations, newest } from './schema.ts'

export type Value = SQLInputValue
export type Row = readonly SQLOutputValue[]

/** How long a process waits for another's write lock. */
const busyMs = 10_000
/** Searches are put together from parts: there are more of them than anybody asks in a row. */
const statementsMax = 200
const cacheKib = 6 * 1024
/** Rows are small and asked for one by one: what is read for each should be small too. */
const pageBytes = 4_096
/** Pages in the log before they are copied to the file: 16 MiB. */
const checkpointPages = 4_096
/** A fold may need a longer log; it is cut back to this when it starts anew. */
const logBytesMax = 32 * 1024 * 1024

/** One connection to the catalogue's file: checked when opened, all or nothing when written. */
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

  /**
   * All or nothing, but a loss of power may take it back, together with all that was written so after the last `write`: for what
   * can be done again. It does not wait for the disk.
   */
  writeLazily<Result>(work: () => Result): Result {
    this.exec('PRAGMA synchronous = NORMAL')
    try {
      return this.#transact('BEGIN IMMEDIATE', work)
    } finally {
      this.exec('PRAGMA synchronous = FULL')
    }
  }

  /** Another number if another connection has written since. Within a transaction. */
  version(): number {
    return this.number('PRAGMA data_version')!
  }

  /** Copies what is in the log to the file, as far as nobody reads it. SQLite does so itself, but in the midst of a write. */
  checkpoint(): void {
    this.#guarded(() => this.exec('PRAGMA wal_checkpoint(PASSIVE)'))
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

  setting(name: string): string | null {
    const value = this.all('SELECT value FROM setting WHERE name = ?', [name])[0]?.[0]
    return typeof value === 'string' ? value : null
  }

  set(name: string, value: string | null): void {
    if (value === null) this.run('DELETE FROM setting WHERE name = ?', [name])
    else this.run('INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)', [name, value])
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
        `${this.file} is a database of another program, not a catalogue. Nothing was changed. Name another file.`,
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
      `The catalogue ${this.file} was written by a newer program (schema ${version}; this one knows ${newest}). Nothing was changed. Use the newer program.`,
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
      throw new SluiceError('conflict', `The catalogue ${this.file} is closed. Open it again to use it.`, {
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
