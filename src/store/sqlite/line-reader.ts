import type { Database, Row } from './database.ts'
import type { Line } from './lines.ts'
import { commonOf, type EntityRow, selectCommon, selectStandingRows, standingRowOf } from './row.ts'

/** Rows of the first read when several lines are merged; it doubles from read to read. */
const chunkMin = 32
/** However long the rows of a line are said to be, so many of them are read. */
const fittingMin = 4
/** So many lines are read at once. With more, it is first looked at where each begins: most of them are not read at all. */
const readAtOnce = 2

const firstCommon = `${selectCommon} WHERE line = ? AND rank IS NOT NULL ORDER BY rank, id LIMIT 1`
const firstRows = `${selectStandingRows} WHERE line = ? AND rank IS NOT NULL ORDER BY rank, id LIMIT ?`
const nextRows = `${selectStandingRows} WHERE line = ? AND rank IS NOT NULL AND (rank, id) > (?, ?) ORDER BY rank, id LIMIT ?`
const firstOf = (column: string) =>
  `(SELECT ${column} FROM entity WHERE line = value AND rank IS NOT NULL ORDER BY rank, id LIMIT 1)`
const selectHeads = `SELECT value, ${firstOf('rank')}, ${firstOf('id')} FROM json_each(?)`

const none: readonly Row[] = []

/** Where a row stands in its line. */
type Head = Pick<EntityRow, 'rank' | 'id'>

/** The rows of one line in the order of (rank, id), read in chunks. */
class LineReader<Tag> {
  readonly line: Line
  readonly tag: Tag
  readonly #database: Database
  #chunk: number
  #rows: EntityRow[] = []
  #position = 0
  #ended = false
  readonly #limit: number
  #taken = 0
  /** Of a line of which nothing was read yet. */
  #first: Head | null

  constructor(database: Database, line: Line, tag: Tag, chunk: number, limit: number, first: Head | null) {
    this.#database = database
    this.line = line
    this.tag = tag
    this.#chunk = chunk
    this.#limit = limit
    this.#first = first
    if (!first) this.#read()
  }

  /** Where its next row stands. Undefined: the line is at its end. */
  head(): Head | undefined {
    return this.#first ?? this.row()
  }

  /** Undefined: the line is at its end. */
  row(): EntityRow | undefined {
    if (this.#first) this.#read()
    if (this.#position < this.#rows.length || this.#ended) return this.#rows[this.#position]
    // What was read is mostly taken: no more is needed than what the claim still lacks.
    this.#chunk = Math.max(fittingMin, Math.min(this.#chunk * 2, this.#limit - this.#taken))
    this.#read()
    return this.#rows[0]
  }

  #read(): void {
    const { id } = this.line
    const last = this.#rows.at(-1)
    const common = last ? commonOf(last) : (this.#database.get(firstCommon, id) ?? null)
    const values = !common
      ? none
      : last
        ? this.#database.all(nextRows, ...common, id, last.rank, last.id, this.#chunk)
        : this.#database.all(firstRows, ...common, id, this.#chunk)
    let length = 0
    this.#rows = []
    for (const row of values) {
      const taken = standingRowOf(row, this.line, common!)
      length += taken.data.length
      this.#rows.push(taken)
    }
    if (length > 0) this.line.rowBytes = Math.max(1, length / this.#rows.length)
    this.#first = null
    this.#ended = this.#rows.length < this.#chunk
    this.#taken += this.#rows.length
    this.#position = 0
  }

  step(): void {
    this.#position += 1
  }
}

/** Several lines as one, in order. The readers stand sorted by their heads. */
export class MergedLines<Tag> {
  readonly #readers: LineReader<Tag>[] = []
  #stepped: LineReader<Tag> | null = null
  readonly empty: Line[] = []

  constructor(
    database: Database,
    lines: readonly { readonly line: Line; readonly tag: Tag }[],
    limit: number,
    bytes: number,
  ) {
    const heads = lines.length <= readAtOnce ? null : headsOf(database, lines)
    const chunk = heads ? Math.min(limit, chunkMin) : limit
    for (const { line, tag } of lines) {
      const first = heads?.get(line.id) ?? null
      const fitting = Math.max(fittingMin, Math.floor(bytes / line.rowBytes))
      const reader =
        heads && !first
          ? null
          : new LineReader(database, line, tag, Math.max(1, Math.min(chunk, fitting)), limit, first)
      if (reader?.head()) this.#insert(reader)
      else this.empty.push(line)
    }
  }

  /** The next row of all of them; `reader` gave it. */
  next(): EntityRow | null {
    this.#settle()
    const reader = this.#readers[0]
    const row = reader?.row()
    if (!reader || !row) return null
    reader.step()
    this.#stepped = reader
    return row
  }

  /** Whoever gave the last row. */
  get reader(): LineReader<Tag> {
    return this.#stepped!
  }

  /** Whoever gave the last row is put back by its next one; only now, for reading on may not be needed. */
  #settle(): void {
    const reader = this.#stepped
    this.#stepped = null
    if (!reader || this.#readers[0] !== reader) return
    const head = reader.head()
    const next = this.#readers[1]?.head()
    // Mostly it is first again: those of one batch wait for as long as each other.
    if (head && (!next || isBefore(head, next))) return
    this.#readers.shift()
    if (head) this.#insert(reader)
  }

  /** Lines with this tag are read no further. */
  end(tag: Tag): void {
    this.#drop((reader) => reader.tag === tag)
  }

  endLine(line: Line): void {
    this.#drop((reader) => reader.line === line)
  }

  #drop(isOver: (reader: LineReader<Tag>) => boolean): void {
    for (let index = this.#readers.length - 1; index >= 0; index -= 1) {
      if (isOver(this.#readers[index]!)) this.#readers.splice(index, 1)
    }
  }

  #insert(reader: LineReader<Tag>): void {
    let [low, high] = [0, this.#readers.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (isBefore(this.#readers[middle]!.head()!, reader.head()!)) low = middle + 1
      else high = middle
    }
    this.#readers.splice(low, 0, reader)
  }
}

/** Where the lines begin. Those that are empty are left out. */
function headsOf(database: Database, lines: readonly { readonly line: Line }[]): ReadonlyMap<number, Head> {
  const ids = JSON.stringify(lines.map(({ line }) => line.id))
  const heads = new Map<number, Head>()
  for (const [line, rank, id] of database.all(selectHeads, ids)) {
    if (id !== null) heads.set(line as number, { rank: rank as number, id: id as number })
  }
  return heads
}

function isBefore(one: Head, other: Head): boolean {
  const [rank, otherRank] = [one.rank ?? 0, other.rank ?? 0]
  return rank < otherRank || (rank === otherRank && one.id < other.id)
}
