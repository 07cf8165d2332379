import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Clock } from '../clock.ts'
import type { IdempotencyStore, KeptAnswer } from './idempotency.ts'

export interface IdempotencyFileOptions {
  readonly file: string
  readonly clock: Clock
}

/**
 * Answers in a small SQLite file of their own. A power failure may lose the last of them: what was done carries the key as well, so a
 * repeat finds it there and does it no second time. Writes of one moment go to the disk together.
 */
export function openIdempotencyFile({ file, clock }: IdempotencyFileOptions): IdempotencyStore {
  return new IdempotencyFile(file, clock)
}

interface Pending {
  readonly answer: KeptAnswer
  done(): void
  failed(error: unknown): void
}

class IdempotencyFile implements IdempotencyStore {
  readonly #database: DatabaseSync
  readonly #clock: Clock
  readonly #select: StatementSync
  readonly #insert: StatementSync
  readonly #delete: StatementSync
  #pending = new Map<string, Pending>()
  #isPlanned = false

  constructor(file: string, clock: Clock) {
    this.#clock = clock
    this.#database = new DatabaseSync(file, { timeout: 5_000 })
    this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;')
    this.#database.exec(
      'CREATE TABLE IF NOT EXISTS answer (key TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, status INTEGER NOT NULL, body TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID',
    )
    this.#database.exec('CREATE INDEX IF NOT EXISTS answer_at ON answer (at)')
    this.#select = this.#database.prepare('SELECT fingerprint, status, body, at FROM answer WHERE key = ?')
    this.#insert = this.#database.prepare(
      'INSERT OR REPLACE INTO answer (key, fingerprint, status, body, at) VALUES (?, ?, ?, ?, ?)',
    )
    this.#delete = this.#database.prepare('DELETE FROM answer WHERE at < ?')
  }

  async get(key: string): Promise<KeptAnswer | null> {
    const pending = this.#pending.get(key)
    if (pending) return pending.answer
    const row = this.#select.get(key)
    return row ? ({ ...row } as unknown as KeptAnswer) : null
  }

  put(key: string, answer: KeptAnswer): Promise<void> {
    return new Promise((done, failed) => {
      this.#pending.set(key, { answer, done, failed })
      if (this.#isPlanned) return
      this.#isPlanned = true
      this.#clock.soon(() => this.#flush())
    })
  }

  async sweep(before: number): Promise<void> {
    this.#delete.run(before)
  }

  async close(): Promise<void> {
    this.#flush()
    this.#database.close()
  }

  #flush(): void {
    this.#isPlanned = false
    const pending = this.#pending
    this.#pending = new Map()
    if (pending.size === 0) return
    try {
      this.#database.exec('BEGIN IMMEDIATE')
      for (const [key, { answer }] of pending) {
        this.#insert.run(key, answer.fingerprint, answer.status, answer.body, answer.at)
      }
      this.#database.exec('COMMIT')
      for (const { done } of pending.values()) done()
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      for (const { failed } of pending.values()) failed(error)
    }
  }
}
