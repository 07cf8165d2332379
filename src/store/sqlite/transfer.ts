import type { Clock } from '../../clock.ts'
import { SluiceError } from '../../errors.ts'
import type { Limits } from '../../limits.ts'
import type {
  Dump,
  Mark,
  Marks,
  Numbers,
  Progress,
  Records,
  Report,
  Section,
  SourceStatus,
  Transfer,
} from '../../transfer.ts'
import { Database } from './database.ts'
import { Ledger } from './ledger.ts'
import {
  marksOf,
  raiseFence,
  removeFence,
  removeMark,
  setMark,
  setProgress,
  setReport,
  setStatus,
} from './transfer-mark.ts'
import { SqliteDump } from './transfer-reading.ts'
import { writeRecords } from './transfer-writing.ts'

/** What belongs to what a store was told. Words and paths stay: they mean the same to everybody. */
const carried = [
  ...['machine', 'lane', 'staging', 'staging_lane', 'entity', 'history', 'hold', 'past_hold', 'pool', 'pool_share'],
  ...['tombstone', 'operation', 'worker', 'line'],
]

/** One file as a whole. */
export class SqliteTransfer implements Transfer {
  readonly #database: Database
  readonly #ledger: Ledger
  #time: number | null = null

  constructor(file: string, clock: Clock, limits: Limits) {
    this.#database = new Database(file)
    this.#ledger = new Ledger(this.#database, clock, limits, () => {})
  }

  async marks(): Promise<Marks> {
    return marksOf(this.#database)
  }

  /** On a connection of its own: this one may write meanwhile. */
  async reading<Result>(work: (dump: Dump) => Promise<Result>): Promise<Result> {
    const database = new Database(this.#database.file, { checked: true })
    try {
      database.exec('BEGIN')
      return await work(new SqliteDump(database))
    } finally {
      database.close()
    }
  }

  async fence(mark: Mark, now: number): Promise<void> {
    this.#database.write(() => {
      const leases = this.#database.number('SELECT count(*) FROM entity WHERE line < 0 AND rank IS NOT NULL') ?? 0
      const workers = this.#database.number('SELECT count(*) FROM worker WHERE expires_at > ?', now) ?? 0
      if (leases > 0 || workers > 0) {
        throw new SluiceError(
          'conflict',
          `Somebody works on ${this.#database.file}: ${workers} workers, ${leases} leases. Stop them first.`,
          { workers, leases },
        )
      }
      setMark(this.#database, 'source', mark)
      raiseFence(this.#database, mark.peer)
    })
  }

  async setStatus(status: SourceStatus): Promise<void> {
    this.#database.write(() => setStatus(this.#database, 'source', status))
  }

  async unfence(): Promise<void> {
    this.#database.write(() => {
      removeFence(this.#database)
      removeMark(this.#database, 'source')
    })
  }

  async begin(mark: Mark, numbers: Numbers): Promise<void> {
    this.#database.migrate()
    this.#database.write(() => {
      this.#refuseUsed()
      this.#empty()
      setMark(this.#database, 'target', mark)
      for (const [name, value] of Object.entries(numbers)) {
        this.#database.run('UPDATE counter SET value = max(value, ?) WHERE name = ?', value, name)
      }
      // The feed begins behind its first position: whoever reads from there is told that there was something before.
      this.#database.run(
        "INSERT INTO sqlite_sequence (name, seq) SELECT 'operation', 1 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'operation')",
      )
    })
  }

  async write<Name extends Section>(
    section: Name,
    records: readonly Records[Name][],
    progress: Progress,
  ): Promise<void> {
    this.#time ??= this.#database.number("SELECT value FROM counter WHERE name = 'time'") ?? 0
    const time = this.#time
    this.#ledger.write(() => {
      writeRecords(this.#ledger, section, records, time)
      setProgress(this.#database, progress)
    })
  }

  async finish(report: Report): Promise<void> {
    this.#database.write(() => {
      setReport(this.#database, report)
      setStatus(this.#database, 'target', 'finished')
    })
  }

  async wipe(): Promise<void> {
    this.#database.write(() => {
      this.#empty()
      removeMark(this.#database, 'target')
    })
  }

  async close(): Promise<void> {
    this.#database.close()
  }

  /** Machines that somebody has declared, and workers that are gone, are no reason to refuse. */
  #refuseUsed(): void {
    const { file } = this.#database
    const used = (['entity', 'tombstone', 'hold'] as const).flatMap((table) => {
      const count = this.#database.number(`SELECT count(*) FROM ${table}`) ?? 0
      return count > 0 ? [`${count} rows of ${table}`] : []
    })
    if (used.length > 0) {
      throw new SluiceError(
        'conflict',
        `The store at ${file} is not empty (${used.join(', ')}), so nothing is moved into it. Name another file.`,
        { file },
      )
    }
    const workers = this.#database.number('SELECT count(*) FROM worker WHERE expires_at > ?', this.#ledger.time()) ?? 0
    if (workers > 0) {
      throw new SluiceError('conflict', `${workers} workers are at work on ${file}. Stop them first.`, { file })
    }
  }

  #empty(): void {
    for (const table of carried) this.#database.run(`DELETE FROM ${table}`)
    this.#database.forget()
  }
}
