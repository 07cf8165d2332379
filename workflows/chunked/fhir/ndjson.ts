import { isUtf8 } from 'node:buffer'
import type { IssueCode } from './issue.ts'

/** Where a line begins: its first byte from 0, its number from 1. */
export interface LinePlace {
  readonly offset: number
  readonly line: number
}

interface LineSpan extends LinePlace {
  /** Bytes without the line break. */
  readonly length: number
}

export interface LineProblem {
  readonly code: Extract<IssueCode, 'too_long' | 'not_utf8'>
  readonly message: string
}

export type Line = LineSpan & ({ readonly text: string } | { readonly problem: LineProblem })

export interface LineBatch {
  readonly lines: readonly Line[]
  /** Lines without content, passed over. */
  readonly blank: number
  /** Where the next batch begins: whoever reads on from here misses nothing and repeats nothing. */
  readonly next: LinePlace
}

export interface LineOptions {
  /** Where the first byte of the source lies in the file; a line begins there. */
  readonly from?: LinePlace
  /** Lines that begin at this byte or behind it are left alone. */
  readonly to?: number
  readonly lineBytesMax: number
  /** Of one batch. */
  readonly linesMax?: number
  readonly bytesMax?: number
}

const lineFeed = 0x0a
const carriageReturn = 0x0d
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])
/** A line may be followed by a carriage return and, at the beginning of the file, led by a mark; neither counts. */
const slackBytes = byteOrderMark.length + 1

/**
 * The lines of a stream of bytes, in batches of a bounded size. Lines end with a line feed, with or without a carriage
 * return before it; the last one may end with the stream. One that is too long is told of and never held.
 */
export async function* readLines(source: AsyncIterable<Uint8Array>, options: LineOptions): AsyncGenerator<LineBatch> {
  const { to = Number.POSITIVE_INFINITY, linesMax = 1_000, bytesMax = 4 * 1024 * 1024 } = options
  const reader = new LineReader(options.from ?? { offset: 0, line: 1 }, options.lineBytesMax)
  for await (const bytes of source) {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    let at = 0
    while (at < chunk.length) {
      if (reader.isAtStart && reader.next.offset >= to) {
        yield reader.take()
        return
      }
      at = reader.read(chunk, at)
      if (reader.isAtStart && (reader.count >= linesMax || reader.bytes >= bytesMax)) yield reader.take()
    }
  }
  reader.end()
  yield reader.take()
}

class LineReader {
  readonly #lineBytesMax: number
  #lines: Line[] = []
  #blank = 0
  #bytes = 0
  #offset: number
  #line: number
  /** The line under way: what is held of it, and how long it is. */
  #held: Buffer[] = []
  #length = 0
  /** It is over the bound: only its end matters. */
  #isPassed = false
  /** Of one over the bound: something but blanks was seen. */
  #hasContent = false

  constructor({ offset, line }: LinePlace, lineBytesMax: number) {
    this.#offset = offset
    this.#line = line
    this.#lineBytesMax = lineBytesMax
  }

  get isAtStart(): boolean {
    return this.#length === 0
  }

  get next(): LinePlace {
    return { offset: this.#offset, line: this.#line }
  }

  /** Lines, those without content among them: a file of nothing but these is read in batches too. */
  get count(): number {
    return this.#lines.length + this.#blank
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Up to the end of a line or of the chunk: says how far it came. */
  read(chunk: Buffer, from: number): number {
    const found = chunk.indexOf(lineFeed, from)
    const to = found < 0 ? chunk.length : found
    if (found >= 0 && this.#length === 0) {
      this.#finish(chunk.subarray(from, to), to - from, 1)
      return to + 1
    }
    this.#hold(chunk.subarray(from, to))
    if (found < 0) return to
    this.#finishHeld(1)
    return to + 1
  }

  end(): void {
    if (this.#length > 0) this.#finishHeld(0)
  }

  take(): LineBatch {
    const batch = { lines: this.#lines, blank: this.#blank, next: this.next }
    this.#lines = []
    this.#blank = 0
    this.#bytes = 0
    return batch
  }

  #hold(part: Buffer): void {
    this.#length += part.length
    if (this.#isPassed) {
      this.#hasContent ||= !isBlank(part)
    } else if (this.#length > this.#lineBytesMax + slackBytes) {
      this.#isPassed = true
      this.#hasContent = !isBlank(this.#unmarked(Buffer.concat([...this.#held, part])))
      this.#held = []
    }
    // A copy: the source may use its memory again.
    if (!this.#isPassed && part.length > 0) this.#held.push(Buffer.from(part))
  }

  #finishHeld(breakBytes: number): void {
    if (this.#isPassed) this.#finish(null, this.#length, breakBytes)
    else this.#finish(this.#held.length === 1 ? this.#held[0]! : Buffer.concat(this.#held), this.#length, breakBytes)
    this.#held = []
    this.#length = 0
    this.#isPassed = false
    this.#hasContent = false
  }

  /** A mark at the beginning of the file is none of its first line's. */
  #unmarked(line: Buffer): Buffer {
    const hasMark = this.#offset === 0 && line.subarray(0, byteOrderMark.length).equals(byteOrderMark)
    return hasMark ? line.subarray(byteOrderMark.length) : line
  }

  /** The whole line but for its line feed; null: it was too long to be held. */
  #finish(whole: Buffer | null, wholeLength: number, breakBytes: number): void {
    const start = this.#offset
    const line = this.#line
    const unmarked = whole && this.#unmarked(whole)
    this.#offset += wholeLength + breakBytes
    this.#line += 1
    if (unmarked ? isBlank(unmarked) : !this.#hasContent) {
      this.#blank += 1
      return
    }
    if (unmarked === null) {
      this.#lines.push({ offset: start, line, length: wholeLength, problem: tooLong(wholeLength, this.#lineBytesMax) })
      return
    }
    const bytes = unmarked.at(-1) === carriageReturn ? unmarked.subarray(0, -1) : unmarked
    const span = { offset: start + wholeLength - unmarked.length, line, length: bytes.length }
    if (bytes.length > this.#lineBytesMax)
      this.#lines.push({ ...span, problem: tooLong(bytes.length, this.#lineBytesMax) })
    else if (!isUtf8(bytes)) this.#lines.push({ ...span, problem: notUtf8 })
    else {
      this.#lines.push({ ...span, text: bytes.toString('utf8') })
      this.#bytes += bytes.length
    }
  }
}

const notUtf8: LineProblem = { code: 'not_utf8', message: 'The line is not UTF-8.' }

function tooLong(length: number, max: number): LineProblem {
  return { code: 'too_long', message: `The line has ${length} bytes; up to ${max} are taken.` }
}

function isBlank(bytes: Buffer): boolean {
  for (const byte of bytes) if (byte !== 0x20 && byte !== 0x09 && byte !== carriageReturn) return false
  return true
}
