import { existsSync, statSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite'
import { SluiceError } from '../../errors.ts'
import { faultOf } from './fault.ts'
import { applicationId, migrations, newest } from './migrations.ts'

export type Value = SQLInputValue
export type Row = readonly SQLOutputValue[]

/** Before this version two writers could damage the file (the WAL-reset bug). */
const oldestSafe = '3.51.3'
/** Checking reads every page. Up to here that takes half a second; bigger files are checked in their small tables only. */
const checkedWholeBytes = 64 * 1024 * 1024
const smallTables = ['counter', 'word', 'machine', 'path', 'line', 'hold', 'pool', 'worker', 'staging']
/** How long a process waits for another's write lock. */
const busyMs = 5_000
/** Twice as much was no faster with five million rows. */
const cacheKibDefault = 8 * 1024
/** 8 KiB pages took a tenth less time per item than 4 KiB: fewer frames in the log for the same rows. */
const pageBytes = 8_192
/**
 * Pages in the log before a commit copies them to the file itself: 128 MiB. The heart's thread copies all the time, so that little is left
 * to do by then but to begin the log anew.
 */
const checkpointPages = 16_000

export interface DatabaseOptions {
  /** Another connection of this process has checked the file. */
  readonly checked?: boolean
  readonly cacheKib?: number
}

/** One connection to one file: transactions, prepared statements, and word of what other connections changed. */
export class Database {
  readonly file: string
  readonly #connection: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  readonly #forgetters: ((undone: boolean) => void)[] = []
  #version = -1
  #inside = false
  /** Device and inode of the file that is open. Null: there is none, as of a database in memory. */
  #identity: string | null = null
  /** The log was copied into the open file after its path was found to lead elsewhere. */
  #isSafe = false

  constructor(file: string, options: DatabaseOptions = {}) {
    this.file = file
    checkVersion()
    this.#connection = guarded(
      file,
      () => new DatabaseSync(file, { enableForeignKeyConstraints: false, timeout: busyMs }),
    )
    try {
      guarded(file, () => this.#prepare(options))
      this.#identity = identityOf(file)
    } catch (error) {
      this.#connection.close()
      throw error
    }
  }

  /** Whoever keeps rows in memory is told to forget them when another connection changed the file, or a write was undone. */
  onForget(forget: (undone: boolean) => void): void {
    this.#forgetters.push(forget)
  }

  /** A part of a write was undone. */
  forget(): void {
    this.#forget(true)
  }

  /** All or nothing, durable when it returns. What was read before the write lock was taken is not trusted. */
  write<Result>(work: () => Result): Result {
    if (this.#inside)
      throw new SluiceError('internal', 'A write began inside another one. This is a fault of the store.')
    return this.#transact('BEGIN IMMEDIATE', work)
  }

  /** One view of the file for all that `work` reads. */
  read<Result>(work: () => Result): Result {
    return this.#inside ? work() : this.#transact('BEGIN', work)
  }

  exec(sql: string): void {
    this.#connection.exec(sql)
  }

  statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (!statement) {
      statement = this.#connection.prepare(sql)
      statement.setReturnArrays(true)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  run(sql: string, ...values: Value[]): number {
    return Number(this.statement(sql).run(...values).changes)
  }

  get(sql: string, ...values: Value[]): Row | undefined {
    // setReturnArrays makes rows arrays; the types of Node know objects only.
    return this.statement(sql).get(...values) as Row | undefined
  }

  all(sql: string, ...values: Value[]): readonly Row[] {
    return this.statement(sql).all(...values) as unknown as readonly Row[]
  }

  number(sql: string, ...values: Value[]): number | null {
    const value = this.get(sql, ...values)?.[0]
    return typeof value === 'number' ? value : null
  }

  /** The next so many numbers that were never given before: the last of them. */
  take(counter: string, count: number): number {
    const last = this.number('UPDATE counter SET value = value + ? WHERE name = ? RETURNING value', count, counter)
    if (last === null)
      throw new SluiceError(
        'internal',
        `The database ${this.file} has no counter ${counter}. Restore it from a backup.`,
      )
    return last
  }

  /** Copies from the log to the file what nobody needs from the log any more; waits for nobody. */
  copyLog(): void {
    this.get('PRAGMA wal_checkpoint(PASSIVE)')
  }

  /** Grows when another connection has changed the file since this one last looked. */
  version(): number {
    return this.number('PRAGMA data_version') ?? 0
  }

  /** Rows written by this connection since it was opened. */
  rowsWritten(): number {
    return this.number('SELECT total_changes()') ?? 0
  }

  migrate(): void {
    if (this.number('PRAGMA user_version') === newest) return
    this.write(() => {
      const version = this.number('PRAGMA user_version') ?? 0
      if (version > newest) throw newerFile(this.file, version)
      for (const { number, sql } of migrations) if (number > version) this.exec(sql)
      this.exec(`PRAGMA application_id = ${applicationId}`)
      this.exec(`PRAGMA user_version = ${newest}`)
    })
  }

  /** Beyond so many pages the file is full, as a disk would be. */
  limitPages(pages: number): void {
    this.number(`PRAGMA max_page_count = ${pages}`)
  }

  hasTables(): boolean {
    return (this.number('PRAGMA user_version') ?? 0) > 0
  }

  isOpen(): boolean {
    return this.#connection.isOpen
  }

  close(): void {
    if (!this.#connection.isOpen) return
    this.#statements.clear()
    this.#connection.close()
  }

  #prepare({ checked = false, cacheKib = cacheKibDefault }: DatabaseOptions): void {
    const isNew = !existsSync(this.file) || statSync(this.file).size === 0
    const application = this.number('PRAGMA application_id') ?? 0
    const version = this.number('PRAGMA user_version') ?? 0
    const tables = this.number('SELECT count(*) FROM sqlite_schema') ?? 0
    if (application !== applicationId && (application !== 0 || tables > 0)) {
      throw new SluiceError(
        'invalid',
        `${this.file} is a database of another program. Nothing was changed. Name another file.`,
        { file: this.file },
      )
    }
    if (version > newest) throw newerFile(this.file, version)
    if (isNew) this.exec(`PRAGMA page_size = ${pageBytes}`)
    this.exec(`PRAGMA busy_timeout = ${busyMs}`)
    this.exec('PRAGMA journal_mode = WAL')
    this.exec('PRAGMA synchronous = FULL')
    // What a statement must be able to undo is noted in memory: in a file, notes were two of five writes of an upload.
    this.exec('PRAGMA temp_store = MEMORY')
    this.exec(`PRAGMA cache_size = -${cacheKib}`)
    this.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`)
    if (tables > 0 && !checked) this.#check()
  }

  #check(): void {
    const whole = statSync(this.file).size <= checkedWholeBytes
    const checks = whole ? ['PRAGMA quick_check(1)'] : smallTables.map((table) => `PRAGMA quick_check(${table})`)
    for (const check of checks) {
      const said = String(this.get(check)?.[0])
      if (said === 'ok') continue
      throw new SluiceError(
        'invalid',
        `The database ${this.file} is damaged: ${said.replaceAll(/[\s*]+/g, ' ').trim()}. Stop every process that uses it and restore it from a backup.`,
        {
          file: this.file,
        },
      )
    }
  }

  #transact<Result>(begin: string, work: () => Result): Result {
    if (!this.#connection.isOpen) {
      throw new SluiceError('conflict', `The store on ${this.file} is closed. Open it again to use it.`, {
        file: this.file,
      })
    }
    this.#refuseMoved()
    this.#inside = true
    try {
      this.exec(begin)
      this.#notice()
      const result = work()
      this.exec('COMMIT')
      // What was written to a file that its path no longer leads to must not be acknowledged.
      this.#refuseMoved()
      return result
    } catch (error) {
      this.#undo()
      throw faultOf(error, this.file)
    } finally {
      this.#inside = false
    }
  }

  /**
   * Someone deleted the file or put another in its place: what we write goes where the next program will not look. Before we refuse, the log is
   * copied into the open file and emptied. Otherwise SQLite would apply our log to the new file and ruin it.
   */
  #refuseMoved(): void {
    if (this.#identity === null) return
    const found = identityOf(this.file)
    if (found === this.#identity) {
      this.#isSafe = false
      return
    }
    if (!this.#isSafe) this.#isSafe = this.#emptyLog()
    const what = found === null ? 'was deleted or moved away' : 'was replaced by another file'
    throw new SluiceError(
      'internal',
      `The database ${this.file} ${what} while this process had it open. Nothing is read or written any more. Stop this process, then put the right file in place with \`sluice restore\` and start it again.`,
      { file: this.file },
    )
  }

  /** False: another connection still reads from the log. It is tried again at the next refusal. */
  #emptyLog(): boolean {
    try {
      return this.get('PRAGMA wal_checkpoint(TRUNCATE)')?.[0] === 0
    } catch {
      return false
    }
  }

  #notice(): void {
    const version = this.version()
    if (version === this.#version) return
    this.#version = version
    this.#forget(false)
  }

  #forget(undone: boolean): void {
    for (const forget of this.#forgetters) forget(undone)
  }

  /** After some errors SQLite has rolled back by itself; asking again would be another error. */
  #undo(): void {
    try {
      if (this.#connection.isTransaction) this.exec('ROLLBACK')
    } finally {
      this.#forget(true)
    }
  }
}

/** Null: there is no file. */
function identityOf(file: string): string | null {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false })
  return found ? `${found.dev}:${found.ino}` : null
}

function checkVersion(): void {
  const version = process.versions.sqlite ?? '0'
  const [have, need] = [numberOf(version), numberOf(oldestSafe)]
  if (have >= need) return
  throw new SluiceError(
    'unsupported',
    `This Node brings SQLite ${version}, which can damage a file that two processes write. Use a Node with SQLite ${oldestSafe} or newer.`,
    { version, needed: oldestSafe },
  )
}

function numberOf(version: string): number {
  return version.split('.').reduce((sum, part) => sum * 1_000 + Number(part), 0)
}

function newerFile(file: string, version: number): SluiceError {
  return new SluiceError(
    'conflict',
    `The database ${file} was written by a newer program (schema ${version}; this one knows ${newest}). Nothing was changed. Use the newer program.`,
    { file, version, known: newest },
  )
}

function guarded<Result>(file: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw faultOf(error, file)
  }
}
