import type { Database, Row } from './database.ts'
import type { Line } from './lines.ts'
import { type EntityRow, selectStandingRows, standingRowOf } from './row.ts'

/**
 * Rows of the first read when many lines are merged; it doubles from read to read. Mostly those that have waited longest stand in one or
 * two of the lines: of the others only the first is looked at, and what was read behind it is read in vain.
 */
const chunkMin = 4

const firstRows = `${selectStandingRows} WHERE line = ? AND rank IS NOT NULL ORDER BY rank, id LIMIT ?`
const nextRows = `${selectStandingRows} WHERE line = ? AND rank IS NOT NULL AND (rank, id) > (?, ?) ORDER BY rank, id LIMIT ?`

/** The rows of one line in the order of (rank, id), read in chunks. */
export class LineReader<Tag> {
  readonly line: Line
  readonly tag: Tag
  readonly #database: Database
  #chunk: number
  #rows: EntityRow[]
  #position = 0
  #ended: boolean

  constructor(database: Database, line: Line, tag: Tag, chunk: number) {
    this.#database = database
    this.line = line
    this.tag = tag
    this.#chunk = chunk
    this.#rows = this.#take(database.all(firstRows, line.id, chunk))
    this.#ended = this.#rows.length < chunk
  }

  /** Undefined: the line is at its end. */
  head(): EntityRow | undefined {
    if (this.#position < this.#rows.length || this.#ended) return this.#rows[this.#position]
    const last = this.#rows[this.#rows.length - 1]!
    this.#chunk *= 2
    this.#rows = this.#take(this.#database.all(nextRows, this.line.id, last.rank, last.id, this.#chunk))
    this.#ended = this.#rows.length < this.#chunk
    this.#position = 0
    return this.#rows[0]
  }

  #take(values: readonly Row[]): EntityRow[] {
    let length = 0
    const rows = values.map((row) => {
      const taken = standingRowOf(row, this.line)
      length += taken.data.length
      return taken
    })
    if (rows.length > 0) this.line.rowBytes = Math.max(1, length / rows.length)
    return rows
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
    const chunk = lines.length <= 2 ? limit : Math.min(limit, chunkMin)
    for (const { line, tag } of lines) {
      const fitting = Math.max(chunkMin, Math.floor(bytes / line.rowBytes))
      const reader = new LineReader(database, line, tag, Math.max(1, Math.min(chunk, fitting)))
      if (reader.head()) this.#insert(reader)
      else this.empty.push(line)
    }
  }

  /** The next row of all of them; `reader` gave it. */
  next(): EntityRow | null {
    this.#settle()
    const reader = this.#readers[0]
    const row = reader?.head()
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
    if (this.#readers.length === 1 && reader.head()) return
    this.#readers.shift()
    if (reader.head()) this.#insert(reader)
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

function isBefore(one: EntityRow, other: EntityRow): boolean {
  const [rank, otherRank] = [one.rank ?? 0, other.rank ?? 0]
  return rank < otherRank || (rank === otherRank && one.id < other.id)
}
