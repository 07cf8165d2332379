import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { SluiceError } from 'sluice/errors'
import { type HNItem, type ParseOptions, parseItemAt } from '../hn-item.ts'
import { ElementScanner, marks } from './element-scanner.ts'
import { type Cursor, defaultElementLimits, type ElementLimits, type FileFault } from './file-fault.ts'
import { detectForm, firstByteOf } from './form.ts'

const windowBytes = 262_144

export interface ElementFault {
  /** The place in its group. */
  readonly position: number
  readonly index: number
  readonly offset: number
  readonly hnId: number | null
  readonly reason: string
  readonly message: string
}

/** Some elements of a file, one after another. Arrays, not objects: a file has millions of them. */
export interface ElementGroup {
  /** The index of the first element. */
  readonly first: number
  readonly offsets: Float64Array
  readonly lengths: Uint32Array
  /** NaN: the id could not be read. */
  readonly hnIds: Float64Array
  readonly faults: readonly ElementFault[]
  /** Where to go on; null: this was all. A last group may be empty. */
  readonly next: Cursor | null
  /** The file cannot be read any further; the elements of this group stand all the same. */
  readonly fault: FileFault | null
}

/** A valid item of a group. */
export interface FoundItem {
  readonly position: number
  readonly item: HNItem
}

/** A window over a file that slides forward. It holds what the element under way still needs, and no more. */
class Window {
  readonly #path: string
  readonly #descriptor: number
  /** The file offset of the window's first byte. */
  start: number
  /** Bytes of the window that hold file content. */
  filled = 0
  buffer = Buffer.allocUnsafe(windowBytes)

  constructor(path: string, start: number) {
    this.#path = path
    this.#descriptor = openFile(path)
    this.start = start
  }

  /** Reads on. What lies before `keepFrom` (a file offset; -1: everything) is given up. Returns how many bytes came. */
  advance(keepFrom: number): number {
    const end = this.start + this.filled
    const kept = keepFrom < 0 ? 0 : end - keepFrom
    if (kept > 0) this.buffer.copyWithin(0, this.filled - kept, this.filled)
    // An element that fills the window makes it grow; what is longer than the limit is not held, so neither is this.
    if (kept > this.buffer.length / 2)
      this.buffer = Buffer.concat([this.buffer.subarray(0, kept)], this.buffer.length * 2)
    this.start = end - kept
    const read = readSync(this.#descriptor, this.buffer, kept, this.buffer.length - kept, end)
    this.filled = kept + read
    return read
  }

  get isReplaced(): boolean {
    return isReplaced(this.#path, this.#descriptor)
  }

  close(): void {
    closeSync(this.#descriptor)
  }
}

/** Walks over the elements of a stored file, from the start or from the cursor of any earlier group. */
export class FileWalk {
  readonly #limits: ElementLimits
  readonly #options: ParseOptions | undefined
  readonly #window: Window
  readonly #begun: Cursor | FileFault
  #scanner: ElementScanner | null = null
  /** The next byte of the window that the scanner has not seen. */
  #at = 0
  #ended = false

  constructor(
    path: string,
    cursor: Cursor | null,
    limits: ElementLimits = defaultElementLimits,
    options?: ParseOptions,
  ) {
    this.#limits = limits
    this.#options = options
    this.#begun = cursor ?? beginOf(path)
    this.#window = new Window(path, 'form' in this.#begun ? this.#begun.offset : 0)
  }

  /** The next elements, at most `limit`. `items`: gets the valid items among them. */
  next(limit: number, items: FoundItem[] | null = null): ElementGroup {
    if (!Number.isSafeInteger(limit) || limit < 1) {
      throw new SluiceError('invalid', `A group needs a limit of at least 1 element; found ${limit}.`)
    }
    const begun = this.#begun
    if (!('form' in begun)) return emptyGroup(begun)
    const scanner = this.#scannerOf(begun, limit)
    const first = scanner.cursor.index
    const group = new GroupBuilder({ first, limit, items }, this.#limits, this.#options)
    while (!this.#ended && scanner.found < limit) {
      if (this.#at < this.#window.filled) {
        this.#at = scanner.feed(this.#window.buffer, this.#at, this.#window.filled)
        group.add(scanner, this.#window.buffer, this.#window.start)
        this.#ended = scanner.fault !== null
      } else {
        const before = this.#window.start + this.#window.filled
        if (this.#window.advance(scanner.heldFrom) === 0) {
          scanner.finish()
          group.add(scanner, this.#window.buffer, this.#window.start)
          this.#ended = true
        }
        this.#at = before - this.#window.start
      }
    }
    return group.done(this.#ended ? null : scanner.cursor, scanner.fault)
  }

  /** Another file stands in its place: go on with that one. */
  get isReplaced(): boolean {
    return this.#window.isReplaced
  }

  close(): void {
    this.#window.close()
  }

  /** The scanner keeps its place between groups; a group of another size needs one with other room. */
  #scannerOf(begun: Cursor, limit: number): ElementScanner {
    const scanner = this.#scanner
    if (scanner !== null && scanner.capacity === limit) {
      scanner.take()
      return scanner
    }
    this.#scanner = new ElementScanner(scanner?.cursor ?? begun, { limits: this.#limits, capacity: limit })
    return this.#scanner
  }
}

/** Collects one group: reads the id of each element and says what is wrong with it. */
class GroupBuilder {
  readonly #first: number
  readonly #limits: ElementLimits
  readonly #options: ParseOptions | undefined
  readonly #offsets: Float64Array
  readonly #lengths: Uint32Array
  readonly #hnIds: Float64Array
  readonly #faults: ElementFault[] = []
  readonly #items: FoundItem[] | null
  #count = 0

  constructor(
    { first, limit, items }: { readonly first: number; readonly limit: number; readonly items: FoundItem[] | null },
    limits: ElementLimits,
    options: ParseOptions | undefined,
  ) {
    this.#first = first
    this.#items = items
    this.#limits = limits
    this.#options = options
    this.#offsets = new Float64Array(limit)
    this.#lengths = new Uint32Array(limit)
    this.#hnIds = new Float64Array(limit)
  }

  /** Takes what the scanner has found beyond what is here already; its bytes are still in the window. */
  add(scanner: ElementScanner, window: Buffer, windowStart: number): void {
    while (this.#count < scanner.found) {
      const position = this.#count
      const offset = scanner.starts[position]!
      const length = scanner.lengths[position]!
      this.#offsets[position] = offset
      // Only what is too long for us anyway is longer than 4 GiB.
      this.#lengths[position] = Math.min(length, 0xffff_ffff)
      this.#hnIds[position] = this.#read(position, scanner.marks[position]!, offset, length, window, windowStart)
      this.#count += 1
    }
  }

  done(next: Cursor | null, fault: FileFault | null): ElementGroup {
    const count = this.#count
    return {
      first: this.#first,
      offsets: this.#offsets.subarray(0, count),
      lengths: this.#lengths.subarray(0, count),
      hnIds: this.#hnIds.subarray(0, count),
      faults: this.#faults,
      next,
      fault,
    }
  }

  #read(position: number, mark: number, offset: number, length: number, window: Buffer, windowStart: number): number {
    if ((mark & (marks.tooLong | marks.tooDeep)) !== 0) {
      const { itemBytesMax, depthMax } = this.#limits
      if ((mark & marks.tooLong) !== 0) {
        const message = `The element is ${length} bytes long; at most ${itemBytesMax} are taken.`
        this.#fail(position, offset, null, 'too long', message)
      } else {
        const message = `The element has lists or objects nested more than ${depthMax} deep.`
        this.#fail(position, offset, null, 'nested too deep', message)
      }
      return Number.NaN
    }
    const from = offset - windowStart
    const parsed = parseItemAt(window, from, from + length, this.#options)
    if (parsed.item !== undefined) {
      this.#items?.push({ position, item: parsed.item })
      return parsed.item.hnId
    }
    const { reason, message, hnId } = parsed.fault
    this.#fail(position, offset, hnId, reason, message)
    return hnId ?? Number.NaN
  }

  #fail(position: number, offset: number, hnId: number | null, reason: string, message: string): void {
    this.#faults.push({ position, index: this.#first + position, offset, hnId, reason, message })
  }
}

/** Where the first element is to be looked for. */
export function beginOf(path: string): Cursor | FileFault {
  const window = new Window(path, 0)
  try {
    for (;;) {
      const read = window.advance(-1)
      const bytes = window.buffer.subarray(0, window.filled)
      const onlySpace = firstByteOf(bytes, window.start === 0) === bytes.length
      if (onlySpace && read > 0) continue
      return detectForm({ bytes, offset: window.start, whole: window.filled < window.buffer.length })
    }
  } finally {
    window.close()
  }
}

function emptyGroup(fault: FileFault): ElementGroup {
  const [offsets, lengths, hnIds] = [new Float64Array(0), new Uint32Array(0), new Float64Array(0)]
  return { first: 0, offsets, lengths, hnIds, faults: [], next: null, fault }
}

export function openFile(path: string): number {
  try {
    return openSync(path, 'r')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    const [reason, kind, message] =
      code === 'ENOENT'
        ? (['stored file is missing', 'not_found', `There is no stored file at ${path}.`] as const)
        : ([
            'stored file cannot be read',
            'internal',
            `The stored file at ${path} cannot be opened (${code}).`,
          ] as const)
    throw new SluiceError(kind, message, { reason, path }, error)
  }
}

/**
 * Whether the path leads to another file than the one that was opened: a damaged file that was restored by renaming would otherwise be read
 * until the process ends. A file that is gone from its path can still be read.
 */
export function isReplaced(path: string, descriptor: number): boolean {
  const now = statSync(path, { throwIfNoEntry: false })
  if (!now) return false
  const opened = fstatSync(descriptor)
  return now.ino !== opened.ino || now.dev !== opened.dev
}
