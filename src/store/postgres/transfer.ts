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
import { Database, type Session } from './database.ts'
import { Desk } from './desk.ts'
import { migrate } from './migrate.ts'
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
import { PostgresDump } from './transfer-reading.ts'
import { lessonOf, writeRecords } from './transfer-writing.ts'
import { noteTime } from './workers.ts'

/** What belongs to what a store was told. Words, paths and lines stay: processes that are connected may know them by their numbers. */
const carried = [
  ...['machine', 'lane', 'staging', 'entity', 'history', 'hold', 'past_hold', 'pool', 'pool_share'],
  ...['tombstone', 'operation', 'worker', 'claimed'],
]
const sequences = { entity: 'entity_id', worker: 'worker_id', hold: 'hold_id' } as const
/** One reads, one writes, one learns names. */
const connectionsMax = 3

/** One schema as a whole. Besides reading it, this is for the role that owns the tables. */
export class PostgresTransfer implements Transfer {
  readonly #database: Database
  readonly #desk: Desk
  readonly #schema: string
  #time: number | null = null

  constructor(url: string, schema: string, clock: Clock, limits: Limits) {
    this.#schema = schema
    this.#database = new Database(url, schema, connectionsMax, clock)
    this.#desk = new Desk(this.#database, schema, clock, limits, () => {})
  }

  marks(): Promise<Marks> {
    return marksOf(this.#database)
  }

  reading<Result>(work: (dump: Dump) => Promise<Result>): Promise<Result> {
    return this.#database.read(async (session) => work(await PostgresDump.of(session, this.#desk.dictionary)))
  }

  async fence(mark: Mark, now: number): Promise<void> {
    await this.#database.write(async (session) => {
      await raiseFence(session, mark.peer)
      // Behind the fence nothing changes any more: what is seen now stays.
      const [leases, workers] = (await session.one(
        `SELECT (SELECT count(*) FROM entity_hot WHERE owner IS NOT NULL), (SELECT count(*) FROM worker WHERE expires_at > $1)`,
        [now],
      )) as [number, number]
      if (leases > 0 || workers > 0) {
        throw new SluiceError(
          'conflict',
          `Somebody works on ${this.#where}: ${workers} workers, ${leases} leases. Stop them first.`,
          { workers, leases },
        )
      }
      await setMark(session, 'source', mark)
    })
  }

  async setStatus(status: SourceStatus): Promise<void> {
    await this.#database.write(async (session) => setStatus(session, 'source', status))
  }

  async unfence(): Promise<void> {
    await this.#database.write(async (session) => {
      await removeFence(session)
      removeMark(session, 'source')
    })
  }

  async begin(mark: Mark, numbers: Numbers): Promise<void> {
    await migrate(this.#database, this.#schema)
    await this.#database.write(async (session) => {
      await this.#refuseUsed(session)
      await empty(session)
      await setMark(session, 'target', mark)
      noteTime(session, numbers.time)
      for (const [name, sequence] of Object.entries(sequences)) {
        session.send(
          `SELECT setval('${sequence}', $1) FROM ${sequence} WHERE $1 > CASE WHEN is_called THEN last_value ELSE 0 END`,
          [numbers[name as keyof typeof sequences]],
        )
      }
    })
    await this.#desk.dictionary.learn({})
  }

  async write<Name extends Section>(
    section: Name,
    records: readonly Records[Name][],
    progress: Progress,
  ): Promise<void> {
    const time = await this.#placingTime()
    const lesson = lessonOf(this.#desk, section, records)
    if (lesson) await this.#desk.dictionary.learn(lesson)
    await this.#desk.write(async (session, facts) => {
      await writeRecords({ desk: this.#desk, session, facts: { ...facts, now: time } }, section, records)
      setProgress(session, progress)
    })
  }

  async finish(report: Report): Promise<void> {
    await this.#database.write(async (session) => {
      setReport(session, report)
      setStatus(session, 'target', 'finished')
      // New operations go behind those that were carried.
      session.send(
        "SELECT setval('feed_position', greatest((SELECT max(position) FROM operation), (SELECT last_value FROM feed_position)))",
      )
    })
  }

  async wipe(): Promise<void> {
    await this.#database.write(async (session) => {
      await empty(session)
      removeMark(session, 'target')
    })
  }

  async close(): Promise<void> {
    await this.#database.close()
  }

  get #where(): string {
    return `${this.#database.where}, schema ${this.#schema}`
  }

  /**
   * The latest time that the source had seen: whoever waits for a later one stands in no line yet, and is put into it by the first claim
   * that comes after.
   */
  async #placingTime(): Promise<number> {
    this.#time ??= (
      await this.#database.single((session) => session.one("SELECT value FROM counter WHERE name = 'time'"))
    )?.[0] as number
    return this.#time
  }

  /** Machines that somebody has declared, and workers that are gone, are no reason to refuse. */
  async #refuseUsed(session: Session): Promise<void> {
    const counts = await Promise.all(
      ['entity', 'tombstone', 'hold'].map(async (table) => {
        const [count] = (await session.one(`SELECT count(*) FROM ${table}`)) as [number]
        return count > 0 ? [`${count} rows of ${table}`] : []
      }),
    )
    const used = counts.flat()
    if (used.length > 0) {
      throw new SluiceError(
        'conflict',
        `The store at ${this.#where} is not empty (${used.join(', ')}), so nothing is moved into it. Name another schema.`,
        { schema: this.#schema },
      )
    }
    const [workers] = (await session.one(
      'SELECT count(*) FROM worker WHERE expires_at > (extract(epoch FROM clock_timestamp()) * 1000)::int8',
    )) as [number]
    if (workers > 0) {
      throw new SluiceError('conflict', `${workers} workers are at work on ${this.#where}. Stop them first.`)
    }
  }
}

/** The feed goes on behind all positions that were ever told: whoever reads from an older one is told that something is missing. */
async function empty(session: Session): Promise<void> {
  await session.all(
    `INSERT INTO counter (name, value) SELECT 'pruned', greatest(max(position), 1) FROM operation
     ON CONFLICT (name) DO UPDATE SET value = greatest(counter.value, excluded.value)`,
  )
  await session.exec(`TRUNCATE ${carried.join(', ')}`)
  session.send("UPDATE counter SET value = value + 1 WHERE name = 'machines'")
}
