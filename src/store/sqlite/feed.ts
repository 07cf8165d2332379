import type { EntityId } from '../../entity.ts'
import type { MoveRecord } from '../../event.ts'
import type { EventPage, EventQuery } from '../../store.ts'
import type { Database, Row } from './database.ts'
import type { Dictionary } from './dictionary.ts'

/**
 * What one operation changed, as runs: so many entities in a row made the move of this number. 0: they were born. -1: they
 * were staged and published; some of the row may have been dropped before.
 */
type Change = [seq: number, first: EntityId, count: number]

/** A position is the operation's number times this, plus how far the reader has come within it. */
const span = 2 ** 21
/** Old operations that one write removes: enough to keep up, few enough not to be felt. */
const prunedMax = 4

/** One row per operation: its verdicts for whoever lost the answer, its changes for those who follow the feed. */
export class Feed {
  readonly #database: Database
  readonly #dictionary: Dictionary
  readonly #keptMs: number
  #changes: Change[] = []

  constructor(database: Database, dictionary: Dictionary, keptMs: number) {
    this.#database = database
    this.#dictionary = dictionary
    this.#keptMs = keptMs
    database.onForget(() => {
      this.#changes = []
    })
  }

  moved(entity: EntityId, seq: number): void {
    const last = this.#changes.at(-1)
    if (last && last[0] === seq && last[1] + last[2] === entity) last[2] += 1
    else this.#changes.push([seq, entity, 1])
  }

  born(entity: EntityId): void {
    this.moved(entity, 0)
  }

  /** Children that a source had staged are seen from now on: so many ids in a row, less those that were dropped. */
  published(first: EntityId, count: number): void {
    this.#changes.push([-1, first, count])
  }

  /** What was noted so far, for a caller that undoes a part of its work. */
  noted(): readonly Change[] {
    return this.#changes.map((change): Change => [...change])
  }

  restore(changes: readonly Change[]): void {
    this.#changes = [...changes]
  }

  /** The verdicts of an operation of this name, if it was answered within the time that they are kept. */
  verdicts(name: string, now: number): string | null {
    const row = this.#database.get('SELECT verdicts FROM operation WHERE name = ? AND at > ?', name, now - this.#keptMs)
    return row ? (row[0] as string) : null
  }

  /** Ends an operation. Without a name it is one that nobody repeats, kept for the feed only. */
  close(name: string | null, verdicts: string | null, now: number): void {
    const changes = this.#changes
    this.#changes = []
    if (name === null && changes.length === 0) return
    // Replaced is only what is older than answers are kept.
    this.#database.run(
      'INSERT OR REPLACE INTO operation (name, at, verdicts, changes) VALUES (?, ?, ?, ?)',
      name,
      now,
      verdicts,
      JSON.stringify(changes),
    )
    this.#database.run(
      `DELETE FROM operation WHERE position IN (SELECT position FROM operation ORDER BY position LIMIT ${prunedMax}) AND at < ?`,
      now - this.#keptMs,
    )
  }

  latestTime(): number {
    return this.#database.number('SELECT at FROM operation ORDER BY position DESC LIMIT 1') ?? 0
  }

  read(query: EventQuery, now: number, pageMax: number): EventPage {
    const limit = Math.max(0, Math.min(query.limit, pageMax))
    if ('entity' in query)
      return {
        moves: this.#history(query.entity, query.afterSeq, limit),
        births: [],
        position: 0,
        missed: false,
      }
    return this.#feed(query.after, limit, now)
  }

  #history(entity: EntityId, afterSeq: number, limit: number): readonly MoveRecord[] {
    const rows = this.#database.all(
      `${selectHistory} WHERE entity = ? AND seq > ? ORDER BY seq LIMIT ?`,
      entity,
      afterSeq,
      limit,
    )
    return rows.map((row) => this.#recordOf(row))
  }

  #feed(after: number, limit: number, now: number): EventPage {
    const moves: MoveRecord[] = []
    const births: EntityId[] = []
    // Whoever asks from beyond the end goes on from the end: what comes next is not lost to him.
    let position = Math.min(Math.max(0, after), this.#end())
    const missed = this.#isMissed(position, now)
    while (moves.length + births.length < limit) {
      const [operation, offset] = [Math.floor(position / span), position % span]
      const row = this.#database.get(
        'SELECT position, changes FROM operation WHERE position >= ? AND at >= ? ORDER BY position LIMIT 1',
        operation,
        now - this.#keptMs,
      )
      if (!row) break
      const found = row[0] as number
      const passed = found === operation ? offset : 0
      const changes = JSON.parse(row[1] as string) as readonly Change[]
      const total = changes.reduce((sum, [, , count]) => sum + count, 0)
      const room = limit - moves.length - births.length
      this.#expand(changes, passed, Math.min(total, passed + room), moves, births)
      position = passed + room >= total ? (found + 1) * span : found * span + passed + room
    }
    return { moves, births, position: Math.min(position, this.#end()), missed }
  }

  /** Operations are numbered from 1, and the oldest go first. */
  #isMissed(position: number, now: number): boolean {
    const oldest = this.#database.number(
      'SELECT position FROM operation WHERE at >= ? ORDER BY position LIMIT 1',
      now - this.#keptMs,
    )
    const first = oldest === null ? this.#end() : oldest * span
    return first > span && position < first
  }

  /** Behind the last operation. */
  #end(): number {
    return ((this.#database.number("SELECT seq FROM sqlite_sequence WHERE name = 'operation'") ?? 0) + 1) * span
  }

  #expand(changes: readonly Change[], from: number, to: number, moves: MoveRecord[], births: EntityId[]): void {
    let at = 0
    for (const [seq, first, count] of changes) {
      const [begin, end] = [Math.max(from, at) - at, Math.min(to, at + count) - at]
      at += count
      if (begin >= end) continue
      if (seq === -1) {
        const rows = this.#database.all(
          'SELECT id FROM entity WHERE id >= ? AND id < ? ORDER BY id',
          first + begin,
          first + end,
        )
        births.push(...rows.map(([id]) => id as number))
      } else if (seq === 0) {
        for (let index = begin; index < end; index += 1) births.push(first + index)
      } else {
        const rows = this.#database.all(
          `${selectHistory} WHERE entity >= ? AND entity < ? AND seq = ? ORDER BY entity`,
          first + begin,
          first + end,
          seq,
        )
        moves.push(...rows.map((row) => this.#recordOf(row)))
      }
    }
  }

  #recordOf([entity, seq, epoch, generation, at, path, actor, error]: Row): MoveRecord {
    const { cause, hops } = this.#dictionary.pathOf(path as number)
    const [name, role, reason, requestId] =
      actor === null ? [null, null, null, null] : (JSON.parse(actor as string) as (string | null)[])
    return {
      entity: entity as number,
      seq: seq as number,
      epoch: epoch as number,
      generation: generation as number,
      at: at as number,
      cause,
      hops,
      actor: name ?? null,
      role: role ?? null,
      reason: reason ?? null,
      requestId: requestId ?? null,
      error: error as string | null,
    }
  }
}

const selectHistory = 'SELECT entity, seq, epoch, generation, at, path, actor, error FROM history'
