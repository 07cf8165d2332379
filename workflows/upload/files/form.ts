import { ElementScanner } from './element-scanner.ts'
import type { Cursor, FileFault, Form } from './file-fault.ts'
import { sniff } from './sniff.ts'

/** So many values and lines at the beginning of a file are looked at to tell its form. */
const lookMax = 8

/** The beginning of a file, and whether it is the whole file. */
export interface Head {
  readonly bytes: Buffer
  /** Where the bytes lie in the file: not 0 if space alone came before. */
  readonly offset: number
  readonly whole: boolean
}

/** Skips a byte order mark and space; returns the index of the first other byte, or the length. */
export function firstByteOf(bytes: Uint8Array, atFileStart: boolean): number {
  let at = atFileStart && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
  while (at < bytes.length && isSpace(bytes[at]!)) at += 1
  return at
}

/** Tells from the head of a file where its first element is to be looked for, or why there is none. */
export function detectForm(head: Head): Cursor | FileFault {
  const { bytes, offset } = head
  const at = firstByteOf(bytes, offset === 0)
  if (at === bytes.length) return nothing(head)
  const byte = bytes[at]
  if (byte === 0x5b) return { form: 'array', offset: offset + at + 1, index: 0, ended: false }
  const isValue = byte === 0x7b || (byte === 0x6e && bytes.toString('latin1', at, at + 4) === 'null')
  if (!isValue && !hasItemLine(head, at)) return notItems(head, at)
  const form: Form = isValue ? formOfValues(head, at) : 'lines'
  return { form, offset: offset + at, index: 0, ended: false }
}

/** Objects and nulls: one in each line, or anyhow. */
function formOfValues(head: Head, at: number): Form {
  const { bytes } = head
  const scanner = new ElementScanner(
    { form: 'concatenated', offset: at, index: 0, ended: false },
    { capacity: lookMax },
  )
  scanner.feed(bytes, at, bytes.length)
  const values = Array.from({ length: scanner.found }, (_, index) => {
    const start = scanner.starts[index]!
    return bytes.toString('utf8', start, start + scanner.lengths[index]!)
  })
  const broken = values.some((text) => !parses(text))
  // A sound value that goes over several lines settles it: these are not lines.
  if (!broken && values.some((text) => text.includes('\n'))) return 'concatenated'
  const [first] = values
  if (first === undefined || first.includes('\n')) {
    if (hasItemLine(head, at)) return 'lines'
    // A first value longer than the head, all in one line: lines take several values in one line, too.
    return first === undefined && !head.whole && !bytes.includes(0x0a, at) ? 'lines' : 'concatenated'
  }
  let next = at + scanner.lengths[0]!
  while (next < bytes.length && bytes[next] !== 0x0a && isSpace(bytes[next]!)) next += 1
  if (next === bytes.length && !head.whole) return 'lines'
  const onlyOne = bytes.subarray(next).every(isSpace) && head.whole
  return bytes[next] === 0x0a && !onlyOne ? 'lines' : 'concatenated'
}

/** Whether one of the next lines, from its first byte to its last, is an object: then a broken first line is but one line. */
function hasItemLine(head: Head, from: number): boolean {
  const { bytes } = head
  let lineStart = bytes.indexOf(0x0a, from) + 1
  for (let line = 0; lineStart > 0 && line < lookMax; line += 1) {
    const found = bytes.indexOf(0x0a, lineStart)
    if (found < 0 && !head.whole) return false
    const lineEnd = found < 0 ? bytes.length : found
    if (bytes[lineStart] === 0x7b && parses(bytes.toString('utf8', lineStart, lineEnd))) return true
    lineStart = found + 1
  }
  return false
}

function nothing(head: Head): FileFault {
  const size = head.offset + head.bytes.length
  if (size === 0) return { reason: 'empty file', message: 'The file is empty.', offset: 0, elements: 0 }
  const message = `The file holds nothing but space (${size} bytes).`
  return { reason: 'only whitespace', message, offset: size, elements: 0 }
}

function notItems(head: Head, at: number): FileFault {
  const offset = head.offset + at
  const scalar = scalarAt(head, at)
  if (scalar !== null) {
    const message = `At the top of the file stands ${scalar}; expected an array of items, or items in lines or one after another.`
    return { reason: 'wrong type at the top', message, offset, elements: 0 }
  }
  const sniffed = sniff(head.bytes)
  const message = `The file is not JSON: it looks like ${sniffed.name}. Expected "[" or "{" at byte ${offset}.`
  return { reason: `not JSON: ${sniffed.name}`, message, offset, elements: 0 }
}

/** What kind of JSON scalar the file begins with, if it is one. */
function scalarAt(head: Head, at: number): string | null {
  const { bytes } = head
  const scanner = new ElementScanner({ form: 'concatenated', offset: at, index: 0, ended: false }, { capacity: 1 })
  const stopped = scanner.feed(bytes, at, bytes.length)
  if (head.whole) scanner.finish()
  const isString = bytes[at] === 0x22
  if (scanner.found === 0) return isString ? 'a string' : null
  // "id","type" is the first line of a table, not a string.
  if (bytes[stopped] === 0x2c || bytes[stopped] === 0x3b) return null
  const text = bytes.toString('utf8', at, at + scanner.lengths[0]!)
  if (!parses(text)) return null
  if (isString) return 'a string'
  return text === 'true' || text === 'false' ? text : 'a number'
}

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}
