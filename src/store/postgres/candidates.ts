import type { Row, Session, Value } from './database.ts'
import type { Floors } from './floors.ts'
import type { Line } from './line.ts'
import { type Common, commonOf, commonSeen, type EntityRow, sentColumns, standingRowOf, valuesOf } from './row.ts'

/** A row that stands in a line, locked, with the length of its data. */
export interface Candidate<Tag> {
  readonly row: EntityRow
  readonly bytes: number
  readonly line: Line
  readonly tag: Tag
}

interface Reader<Tag> {
  readonly line: Line
  readonly tag: Tag
  readonly rows: Candidate<Tag>[]
  position: number
  /** Where the next read goes on. */
  rank: number
  id: number
  chunk: number
  isEnded: boolean
  /** When it was read from its head: now, or by an earlier claim that got as far as where this one began. */
  since: number
  isFromHead: boolean
  last: EntityRow | null
}

/** Rows of the first read when many lines are merged; it doubles from read to read. */
const chunkMin = 8

/**
 * Whoever stands in lines (`l`), each from its mark on, locked (`c`). What others have locked is passed by: they are about to take it.
 * The marks are the first five parameters.
 */
export function standing(columns: string): string {
  return `unnest($1::int4[], $2::int4[], $3::float8[], $4::int8[], $5::int8[]) AS l (number, line, rank, id, most)
  CROSS JOIN LATERAL (
    SELECT ${columns} FROM entity_hot e
    WHERE e.line = l.line AND e.rank IS NOT NULL AND e.owner IS NULL AND (e.rank, e.id) > (l.rank, l.id)
    ORDER BY e.rank, e.id LIMIT l.most FOR UPDATE SKIP LOCKED) c`
}

const read = `SELECT ${sentColumns('c', 'l.number', 6)} FROM ${standing('*')}`

/** Where the reading of a line goes on, and how many rows of it are asked for. */
export interface Mark {
  readonly line: number
  readonly rank: number
  readonly id: number
  readonly chunk: number
}

/** Rows that were asked for, and what they have in common as it was known then. */
export interface Reading {
  readonly marks: readonly Mark[]
  readonly found: readonly Row[]
  readonly seen: Common
  /** What was announced by then. */
  readonly version: number
}

/** Asks for the rows at the heads of these lines, or behind their floors, as a claim of so many does first. */
export function readAhead(
  session: Session,
  floors: Floors,
  now: number,
  lines: readonly number[],
  limit: number,
): Promise<Reading> {
  const chunk = firstChunk(lines.length, limit)
  return readRows(
    session,
    floors.version,
    lines.map((line) => ({ line, chunk, ...beginningOf(floors.of(line, now)) })),
  )
}

async function readRows(session: Session, version: number, marks: readonly Mark[]): Promise<Reading> {
  const seen = commonSeen()
  const found = await session.all(read, [...valuesOfMarks(marks), ...valuesOf(seen)])
  return { marks, found, seen, version }
}

export function valuesOfMarks(marks: readonly Mark[]): readonly Value[] {
  return [
    marks.map((_, index) => index),
    marks.map(({ line }) => line),
    marks.map(({ rank }) => rank),
    marks.map(({ id }) => id),
    marks.map(({ chunk }) => chunk),
  ]
}

function firstChunk(lines: number, limit: number): number {
  return lines <= 2 ? limit : Math.min(limit, Math.max(chunkMin, Math.ceil((limit * 2) / lines)))
}

export function beginningOf(floor: { readonly rank: number; readonly id: number } | null) {
  return { rank: floor?.rank ?? Number.NEGATIVE_INFINITY, id: floor?.id ?? 0 }
}

function isSameMark(one: Mark, other: Mark | undefined): boolean {
  return one.line === other?.line && one.rank === other.rank && one.id === other.id && one.chunk === other.chunk
}

/** Several lines as one, in the order of (rank, id), read in chunks. */
export class Candidates<Tag> {
  readonly #session: Session
  readonly #floors: Floors
  readonly #now: number
  #version: number
  #readers: Reader<Tag>[]
  /** Lines in which nobody stands. */
  readonly empty: Line[] = []
  #given = 0
  #isLeft = false
  /** What was asked for before the lines were known. */
  #ahead: Reading | null

  constructor(
    session: Session,
    floors: Floors,
    now: number,
    lines: readonly { readonly line: Line; readonly tag: Tag }[],
    limit: number,
    ahead: Reading | null = null,
  ) {
    this.#ahead = ahead
    this.#session = session
    this.#floors = floors
    this.#now = now
    this.#version = floors.version
    const chunk = firstChunk(lines.length, limit)
    this.#readers = lines.map(({ line, tag }) => {
      const floor = floors.of(line.id, now)
      return {
        ...{ line, tag, rows: [], position: 0, chunk, isEnded: false, last: null, ...beginningOf(floor) },
        ...{ since: floor?.since ?? now, isFromHead: floor === null },
      }
    })
  }

  /** All that is read and not taken yet: what is known of them can be asked for at once. */
  *ahead(): Iterable<Candidate<Tag>> {
    for (const { rows, position } of this.#readers) yield* rows.slice(position)
  }

  /** True: more was read. */
  async refill(): Promise<boolean> {
    const dry = this.#readers.filter((reader) => !reader.isEnded && reader.position >= reader.rows.length)
    if (dry.length === 0) return false
    const marks = dry.map(({ line, rank, id, chunk }) => ({ line: line.id, rank, id, chunk }))
    const { found, seen } = this.#readAhead(marks) ?? (await readRows(this.#session, this.#version, marks))
    for (const [index, reader] of dry.entries()) this.#fill(reader, index, found, seen)
    return true
  }

  /** If it was what is asked now. They are locked, so nothing has become of them since. */
  #readAhead(marks: readonly Mark[]): Reading | null {
    const ahead = this.#ahead
    this.#ahead = null
    const isAsked = ahead?.marks.length === marks.length && marks.every((mark, at) => isSameMark(mark, ahead.marks[at]))
    if (!isAsked) return null
    this.#version = ahead.version
    return ahead
  }

  #fill(reader: Reader<Tag>, index: number, found: readonly Row[], seen: Common): void {
    const rows: Candidate<Tag>[] = []
    for (const sent of found) {
      const common = commonOf(sent, seen)
      if (common.numbers[0] !== index) continue
      const { row, bytes } = standingRowOf(sent, common, reader.line)
      rows.push({ row, bytes, line: reader.line, tag: reader.tag })
    }
    rows.sort((one, other) => inOrder(one.row, other.row))
    if (rows.length < reader.chunk && !reader.isFromHead) this.#returnToHead(reader, rows.length)
    else {
      if (rows.length === 0 && reader.rank === Number.NEGATIVE_INFINITY) this.empty.push(reader.line)
      reader.isEnded = rows.length < reader.chunk
    }
    reader.rows.splice(0, reader.rows.length, ...rows)
    reader.position = 0
    reader.chunk *= 2
    const last = rows.at(-1)
    if (last) [reader.rank, reader.id] = [last.row.rank!, last.row.id]
  }

  /** Behind the floor there is no more. Whoever may stand in front of it is for the next claim, or for this one if it has found nobody. */
  #returnToHead(reader: Reader<Tag>, found: number): void {
    this.#floors.forget(reader.line.id)
    if (found > 0 || reader.last) {
      reader.isEnded = true
      this.#isLeft = true
      return
    }
    reader.isFromHead = true
    reader.since = this.#now
    reader.rank = Number.NEGATIVE_INFINITY
    reader.id = 0
  }

  /** All who were given are taken: the next claim may begin behind them. */
  raiseFloors(): void {
    for (const { line, last, since, isEnded } of this.#readers)
      if (last && !isEnded) this.#floors.raise(line.id, { rank: last.rank!, id: last.id }, since, this.#version)
  }

  get given(): number {
    return this.#given
  }

  /** The first of all, or null if a line must be read further before that is known, or if there is none. */
  next(): Candidate<Tag> | null {
    let first: Reader<Tag> | null = null
    for (const reader of this.#readers) {
      const candidate = reader.rows[reader.position]
      if (!candidate) {
        if (!reader.isEnded) return null
        continue
      }
      if (!first || isBefore(candidate.row, first.rows[first.position]!.row)) first = reader
    }
    if (!first) return null
    first.position += 1
    first.last = first.rows[first.position - 1]!.row
    this.#given += 1
    return first.rows[first.position - 1]!
  }

  /** How many were given, if all lines were read to their ends; null if not. */
  get all(): number | null {
    const isRead = this.#readers.every(({ isEnded, position, rows }) => isEnded && position >= rows.length)
    return isRead && !this.#isLeft ? this.#given : null
  }

  /** Lines with this tag are read no further. */
  end(tag: Tag): void {
    this.#isLeft = true
    this.#readers = this.#readers.filter((reader) => reader.tag !== tag)
  }

  endLine(line: Line): void {
    this.#isLeft = true
    this.#readers = this.#readers.filter((reader) => reader.line !== line)
  }
}

/** The order of a line, and of several merged. */
export function inOrder(one: EntityRow, other: EntityRow): number {
  return isBefore(one, other) ? -1 : 1
}

function isBefore(one: EntityRow, other: EntityRow): boolean {
  const [rank, otherRank] = [one.rank ?? 0, other.rank ?? 0]
  return rank < otherRank || (rank === otherRank && one.id < other.id)
}
