import { type Cursor, defaultElementLimits, type ElementLimits, type FileFault, type Form } from './file-fault.ts'

/** What the scan noticed about an element, as bits: one byte per element is all that is kept. */
export const marks = { id: 1, type: 2, tooDeep: 4, tooLong: 8 } as const

/** Classes of a byte inside an object or list: everything but these five is passed over. */
const plain = 0
const quote = 1
const open = 2
const close = 3
const comma = 4
const insideClass = new Uint8Array(256)
insideClass[0x22] = quote
insideClass[0x7b] = insideClass[0x5b] = open
insideClass[0x7d] = insideClass[0x5d] = close
insideClass[0x2c] = comma

/** Ends the run of plain bytes in a string: the quote and the backslash. */
const stringStop = new Uint8Array(256)
stringStop[0x22] = stringStop[0x5c] = 1

const isSpace = new Uint8Array(256)
isSpace[0x20] = isSpace[0x09] = isSpace[0x0a] = isSpace[0x0d] = 1

/** Bytes of numbers, true, false and null, and of words that resemble them. */
const isWord = new Uint8Array(256)
for (const char of '+-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz') isWord[char.charCodeAt(0)] = 1

/** A scalar may begin so; any other byte between elements is no JSON. */
const startsWord = new Uint8Array(256)
for (const char of '-0123456789tfn') startsWord[char.charCodeAt(0)] = 1

const nullBytes = [0x6e, 0x75, 0x6c, 0x6c] as const

/** Within this many bytes the end of a string is looked for byte by byte; a native search costs as much to call. */
const nearBytes = 80

export interface ScannerOptions {
  readonly limits?: ElementLimits
  /** How many elements are found before feed() returns. */
  readonly capacity: number
}

/**
 * Finds the top-level elements of a file, fed in chunks of any size: where each begins and how long it is. It follows strings,
 * escapes and depth, and does not care whether the element itself is valid JSON: whoever parses it finds out. So one bad
 * element is one bad element as long as it is balanced. In the form of lines, every line break is a place to begin anew.
 */
export class ElementScanner {
  readonly capacity: number
  /** The elements found since take(): the first `found` places hold. */
  readonly starts: Float64Array
  readonly lengths: Float64Array
  readonly marks: Uint8Array
  found = 0
  fault: FileFault | null = null

  readonly #form: Form
  readonly #itemBytesMax: number
  readonly #depthMax: number
  readonly #kinds: Uint8Array
  /** The file offset of the next byte, and the index of the next element. */
  #offset: number
  #index: number
  #ended: boolean
  /** The element under way: its file offset, or -1. */
  #start = -1
  /** Its end, if it could end here (array). */
  #end = -1
  #mark = 0
  #depth = 0
  #inString = false
  #escaped = false
  #inWord = false
  /** How many bytes of `null` the word under way has matched; -1: it is another word. */
  #nullMatched = 0
  /** Lines: the line is broken; it is passed over to its end and is one element. */
  #restOfLine = false
  /** The next string at depth 1 is a key. */
  #keyNext = false
  /** The first bytes of a key that the end of a chunk cut in two. */
  readonly #cutKey = new Uint8Array(5)
  #cutKeyLength = 0
  /** Lines: up to this file offset there is no line break; there is one at it, if it was found. */
  #lineEndAt = -1
  #lineEndFound = false

  constructor(cursor: Cursor, options: ScannerOptions) {
    const limits = options.limits ?? defaultElementLimits
    this.capacity = options.capacity
    this.starts = new Float64Array(options.capacity)
    this.lengths = new Float64Array(options.capacity)
    this.marks = new Uint8Array(options.capacity)
    this.#form = cursor.form
    this.#itemBytesMax = limits.itemBytesMax
    this.#depthMax = limits.depthMax
    this.#kinds = new Uint8Array(limits.depthMax + 1)
    this.#offset = cursor.offset
    this.#index = cursor.index
    this.#ended = cursor.ended
  }

  /** The file offset from which bytes are still needed to cut out the element under way; -1: none is, or it is too long. */
  get heldFrom(): number {
    return this.#start >= 0 && this.#offset - this.#start <= this.#itemBytesMax ? this.#start : -1
  }

  /** Where to go on later. Only between two elements: right after feed() returned because it was full, or at the start. */
  get cursor(): Cursor {
    return { form: this.#form, offset: this.#offset, index: this.#index, ended: this.#ended }
  }

  /** Forgets the elements found so far. */
  take(): void {
    this.found = 0
  }

  /** Scans bytes[from..to) and returns where it stopped: at `to`, or earlier if it is full or the file is at fault. */
  feed(bytes: Uint8Array, from: number, to: number): number {
    const base = this.#offset - from
    let at = from
    while (at < to && this.found < this.capacity && this.fault === null) {
      if (this.#restOfLine) at = this.#passLine(bytes, at, to, base)
      else if (this.#depth > 0 || this.#inString) at = this.#inside(bytes, at, to, base)
      else if (this.#inWord) at = this.#word(bytes, at, to, base)
      else if (this.#form === 'array') at = this.#betweenInArray(bytes, at, to, base)
      else at = this.#between(bytes, at, to, base)
      this.#offset = base + at
    }
    return at
  }

  /** The file ends here. There must be room for one more element. */
  finish(): void {
    if (this.fault !== null) return
    const cut = this.#depth > 0 || this.#inString
    if (this.#form === 'array') {
      if (this.#ended) return
      // An element that is closed is complete, although the comma after it is missing.
      if (!cut && this.#start >= 0) this.#emit(this.#end)
      this.#fail(
        'truncated',
        `The file ends at byte ${this.#offset} inside its array: the closing ] is missing.`,
        this.#offset,
      )
    } else if (this.#restOfLine || this.#inWord) {
      this.#emit(this.#offset)
    } else if (cut) {
      this.#fail(
        'truncated',
        `The file ends at byte ${this.#offset} inside the element that begins at byte ${this.#start}.`,
        this.#offset,
      )
    }
  }

  /** Inside an object, a list or a string: the loop in which nearly all bytes are spent. */
  #inside(bytes: Uint8Array, from: number, to: number, base: number): number {
    const kinds = this.#kinds
    const depthMax = this.#depthMax
    const stop = this.#form === 'lines' ? this.#lineEnd(bytes, from, to, base) : to
    let at = from
    let depth = this.#depth
    let keyNext = this.#keyNext
    if (this.#inString) {
      at = this.#string(bytes, at, stop)
      if (!this.#inString && depth === 0) return this.#closed(at, base)
      if (!this.#inString && depth === 1) keyNext = false
    }
    while (at < stop) {
      const kind = insideClass[bytes[at]!]!
      if (kind === plain) {
        at += 1
      } else if (kind === quote) {
        const isKey = keyNext && depth === 1
        this.#depth = depth
        this.#keyNext = keyNext
        // Short strings, nearly all of them, end within this loop.
        const begin = at + 1
        const near = begin + nearBytes < stop ? begin + nearBytes : stop
        at = begin
        while (at < near && stringStop[bytes[at]!] === 0) at += 1
        if (at < near && bytes[at] === 0x22) {
          if (isKey) this.#noteKey(bytes, begin, at)
          at += 1
        } else {
          this.#inString = true
          at = this.#string(bytes, begin, stop)
          if (this.#inString) break
        }
        if (isKey) keyNext = false
      } else if (kind === comma) {
        if (depth === 1) keyNext = kinds[1] === 0x7b
        at += 1
      } else if (kind === open) {
        depth += 1
        if (depth <= depthMax) kinds[depth] = bytes[at]!
        else this.#mark |= marks.tooDeep
        at += 1
      } else {
        // '{' and '}' differ by two, and so do '[' and ']'.
        if (depth <= depthMax && kinds[depth] !== bytes[at]! - 2) {
          this.#depth = depth
          return this.#unbalanced(bytes, at, base)
        }
        depth -= 1
        at += 1
        if (depth === 0) {
          this.#depth = 0
          this.#keyNext = false
          return this.#closed(at, base)
        }
      }
    }
    this.#depth = depth
    this.#keyNext = keyNext
    // The line ends inside the element: it is broken, and the next line begins anew.
    if (at >= stop && this.#form === 'lines' && this.#lineEndFound) this.#restOfLine = true
    return at
  }

  /** Goes on inside a string, up to and over its closing quote. */
  #string(bytes: Uint8Array, from: number, stop: number): number {
    const isKey = this.#keyNext && this.#depth === 1
    let at = from
    if (this.#escaped && at < stop) {
      this.#escaped = false
      at += 1
    }
    while (at < stop) {
      const near = at + nearBytes < stop ? at + nearBytes : stop
      while (at < near && stringStop[bytes[at]!] === 0) at += 1
      if (at === stop) break
      if (at === near) {
        // In a key every backslash is of interest, wherever a chunk ends.
        if (isKey) continue
        // A long text: the native search is many times as fast, and only the backslashes before the quote matter.
        const found = bytes.indexOf(0x22, at)
        const end = found < 0 || found > stop ? stop : found
        let slashes = 0
        while (end - 1 - slashes >= at && bytes[end - 1 - slashes] === 0x5c) slashes += 1
        const escaped = slashes % 2 === 1
        at = end
        if (end === stop) {
          this.#escaped = escaped
          break
        }
        if (escaped) {
          at += 1
          continue
        }
      }
      if (bytes[at] === 0x22) {
        this.#inString = false
        if (isKey) this.#endKey(bytes, from, at)
        return at + 1
      }
      // A key that is written with escapes may be any key: it has the benefit of the doubt until it is parsed.
      if (isKey) this.#mark |= marks.id | marks.type
      this.#escaped = at + 1 === stop
      at = this.#escaped ? stop : at + 2
    }
    if (isKey) this.#cutKeyAt(bytes, from, stop)
    return stop
  }

  #endKey(bytes: Uint8Array, begin: number, end: number): void {
    if (this.#cutKeyLength === 0) {
      this.#noteKey(bytes, begin, end)
      return
    }
    this.#cutKeyAt(bytes, begin, end)
    this.#noteKey(this.#cutKey, 0, this.#cutKeyLength)
    this.#cutKeyLength = 0
  }

  #cutKeyAt(bytes: Uint8Array, begin: number, end: number): void {
    for (let at = begin; at < end && this.#cutKeyLength < this.#cutKey.length; at += 1) {
      this.#cutKey[this.#cutKeyLength] = bytes[at]!
      this.#cutKeyLength += 1
    }
  }

  /** Compares a key of the element itself with the three that matter, byte by byte. */
  #noteKey(bytes: Uint8Array, begin: number, end: number): void {
    const length = end - begin
    if (length === 2) {
      if (bytes[begin] === 0x69 && bytes[begin + 1] === 0x64) this.#mark |= marks.id
    } else if (length === 4) {
      const first = bytes[begin]
      const second = bytes[begin + 1]
      const third = bytes[begin + 2]
      const fourth = bytes[begin + 3]
      if (first === 0x74 && second === 0x79 && third === 0x70 && fourth === 0x65) this.#mark |= marks.type
      else if (first === 0x68 && second === 0x6e && third === 0x49 && fourth === 0x64) this.#mark |= marks.id
    }
  }

  /** Lines and concatenated values: space, or the beginning of an element. */
  #between(bytes: Uint8Array, from: number, to: number, base: number): number {
    let at = from
    while (at < to && isSpace[bytes[at]!] === 1) at += 1
    if (at === to) return at
    const byte = bytes[at]!
    if (byte === 0x2c && this.#form === 'concatenated') {
      this.#fail(
        'comma between elements',
        `A comma stands at byte ${base + at}, outside of any element: is the [ missing?`,
        base + at,
      )
      return at
    }
    this.#start = base + at
    if (this.#begin(byte)) return at + 1
    if (startsWord[byte] === 1) {
      this.#inWord = true
      this.#nullMatched = 0
    } else if (this.#form === 'lines') {
      this.#restOfLine = true
    } else {
      this.#start = -1
      const reason = byte === 0 ? 'NUL byte' : 'text between elements'
      this.#fail(reason, `At byte ${base + at} an element was expected; found ${nameOf(byte)}.`, base + at)
    }
    return at
  }

  /** An array: space, the comma, the end, or the beginning of an element or of more of it. */
  #betweenInArray(bytes: Uint8Array, from: number, to: number, base: number): number {
    for (let at = from; at < to; at += 1) {
      const byte = bytes[at]!
      if (isSpace[byte] === 1) continue
      if (this.#ended) {
        this.#fail(
          'more after the array',
          `The array has ended, but ${nameOf(byte)} follows at byte ${base + at}.`,
          base + at,
        )
        return at
      }
      if (byte === 0x2c || byte === 0x5d) {
        this.#ended = byte === 0x5d
        if (this.#start < 0) {
          if (this.#ended && this.#index === 0) continue
          this.#start = this.#end = base + at
        }
        this.#emit(this.#end)
        return at + 1
      }
      if (byte === 0x7d) return this.#unbalanced(bytes, at, base)
      if (this.#start < 0) this.#start = base + at
      if (this.#begin(byte)) return at + 1
      this.#end = base + at + 1
    }
    return to
  }

  /** Whether the byte opens an object, a list or a string. */
  #begin(byte: number): boolean {
    if (byte === 0x22) {
      this.#inString = true
      return true
    }
    if (byte !== 0x7b && byte !== 0x5b) return false
    this.#depth = 1
    this.#kinds[1] = byte
    this.#keyNext = byte === 0x7b
    return true
  }

  /** A number, true, false, null, or what resembles them. Nulls may follow each other without anything between. */
  #word(bytes: Uint8Array, from: number, to: number, base: number): number {
    for (let at = from; at < to; at += 1) {
      const byte = bytes[at]!
      if (this.#nullMatched >= 0 && byte === nullBytes[this.#nullMatched]) {
        this.#nullMatched += 1
        if (this.#nullMatched < nullBytes.length) continue
        this.#emit(base + at + 1)
        return at + 1
      }
      if (isWord[byte] === 0) {
        this.#emit(base + at)
        return at
      }
      this.#nullMatched = -1
    }
    return to
  }

  #passLine(bytes: Uint8Array, from: number, to: number, base: number): number {
    const end = this.#lineEnd(bytes, from, to, base)
    if (this.#lineEndFound) this.#emit(base + end)
    return end
  }

  /** The next line break of the chunk, or its end. It is remembered, as many elements may stand in one line. */
  #lineEnd(bytes: Uint8Array, from: number, to: number, base: number): number {
    if (base + from > this.#lineEndAt || (base + from === this.#lineEndAt && !this.#lineEndFound)) {
      const end = bytes.indexOf(0x0a, from)
      this.#lineEndFound = end >= 0 && end < to
      this.#lineEndAt = base + (this.#lineEndFound ? end : to)
    }
    return this.#lineEndAt - base
  }

  #closed(at: number, base: number): number {
    if (this.#form === 'array') this.#end = base + at
    else this.#emit(base + at)
    return at
  }

  #unbalanced(bytes: Uint8Array, at: number, base: number): number {
    if (this.#form === 'lines') this.#restOfLine = true
    else {
      const opened = this.#depth > 0 ? ` what ${nameOf(this.#kinds[this.#depth]!)} opened` : ' what nothing opened'
      this.#fail('unbalanced', `At byte ${base + at} ${nameOf(bytes[at]!)} closes${opened}.`, base + at)
    }
    return at
  }

  #emit(end: number): void {
    const length = end - this.#start
    this.starts[this.found] = this.#start
    this.lengths[this.found] = length
    this.marks[this.found] = length > this.#itemBytesMax ? this.#mark | marks.tooLong : this.#mark
    this.found += 1
    this.#index += 1
    this.#start = this.#end = -1
    this.#mark = this.#depth = this.#cutKeyLength = 0
    this.#inString = this.#escaped = this.#inWord = this.#restOfLine = this.#keyNext = false
  }

  #fail(reason: string, message: string, offset: number): void {
    const elements = this.#index
    const before = elements === 1 ? '1 complete element came before.' : `${elements} complete elements came before.`
    this.fault = { reason, message: `${message} ${before}`, offset, elements }
  }
}

function nameOf(byte: number): string {
  const isPrintable = byte > 0x20 && byte < 0x7f
  return isPrintable ? `"${String.fromCharCode(byte)}"` : `byte 0x${byte.toString(16).padStart(2, '0')}`
}
