import { createHash } from 'node:crypto'
import { closeSync, fstatSync, readSync, type Stats, statSync } from 'node:fs'
import { ElementScanner, marks } from './element-scanner.ts'
import { type Cursor, defaultElementLimits, type ElementLimits, type FileFault, type Form } from './file-fault.ts'
import { beginOf, openFile } from './file-walk.ts'

const chunkBytes = 262_144
const capacity = 1_024
/** Of one step: 4 MiB. */
const chunksPerStep = 16
/** A file that is still being written is looked at from here on: its form is told from its beginning, as if all of it were there. */
const followedFrom = 4 * 1024 ** 2

export interface FileCheck {
  /** Null: the file is at fault before its form could be told. */
  readonly form: Form | null
  /** All elements, also the bad ones. */
  readonly total: number
  /** Elements that have neither `hnId` nor `id`, and elements without `type`: seen by their keys, without parsing. */
  readonly withoutId: number
  readonly withoutType: number
  readonly fault: FileFault | null
  /** Of the whole file as it was read. */
  readonly bytes: number
  readonly sha256: string
}

/** Counts the elements of a stored file, digests it and finds out whether it is whole, in one pass that parses nothing. */
export function checkFile(
  path: string,
  limits: ElementLimits = defaultElementLimits,
  onProgress?: (bytes: number) => void,
): FileCheck {
  const checking = new FileChecking(path, limits)
  try {
    for (let more = true; more; onProgress?.(checking.bytes)) more = checking.step()
    return checking.result()
  } finally {
    checking.close()
  }
}

/** The same in steps of a few MiB, for whoever has other things to do in between. */
export class FileChecking {
  readonly #begun: Cursor | FileFault
  readonly #scanner: ElementScanner | null
  readonly #count = { total: 0, withoutId: 0, withoutType: 0 }
  readonly #chunk = Buffer.allocUnsafe(chunkBytes)
  readonly #hash = createHash('sha256')
  #descriptor: number | null
  #offset = 0
  #received: Stats | null = null

  constructor(path: string, limits: ElementLimits = defaultElementLimits) {
    this.#begun = beginOf(path)
    this.#scanner = 'form' in this.#begun ? new ElementScanner(this.#begun, { limits, capacity }) : null
    this.#descriptor = openFile(path)
  }

  /** Begins with a file that is still being written, of which so many bytes are there. Null: too little is there to tell what it is. */
  static following(path: string, bytes: number, limits: ElementLimits = defaultElementLimits): FileChecking | null {
    if (bytes < followedFrom) return null
    const checking = new FileChecking(path, limits)
    const begun = checking.#begun
    // What begins further on was looked for in what may not have been written yet.
    if ('form' in begun && begun.offset < chunkBytes) return checking
    checking.close()
    return null
  }

  /** One step at most, over what is known to be written: the end of the file is not looked for. */
  follow(bytes: number): void {
    for (let chunks = 0; chunks < chunksPerStep && this.#offset + chunkBytes <= bytes; chunks += 1) {
      if (this.#readChunk() === 0) return
    }
  }

  /** All of the file is written now. */
  received(): void {
    if (this.#descriptor !== null) this.#received = fstatSync(this.#descriptor)
  }

  /** Whether nobody has written to the file since, so that what was read still stands. Its name may have changed. */
  isStillAt(path: string): boolean {
    const [received, now] = [this.#received, statSync(path, { throwIfNoEntry: false })]
    return (
      received !== null && now?.ino === received.ino && now.dev === received.dev && now.mtimeMs === received.mtimeMs
    )
  }

  /** How far it is. */
  get bytes(): number {
    return this.#offset
  }

  /** True: there is more. */
  step(): boolean {
    if (this.#descriptor === null) return false
    for (let chunks = 0; chunks < chunksPerStep; chunks += 1) {
      if (this.#readChunk() > 0) continue
      this.#scanner?.finish()
      if (this.#scanner) tally(this.#scanner, this.#count)
      this.close()
      return false
    }
    return true
  }

  /** Returns how many bytes there were. Behind a fault they are digested and not scanned: the fault may be that the file was changed. */
  #readChunk(): number {
    const read = readSync(this.#descriptor!, this.#chunk, 0, chunkBytes, this.#offset)
    this.#hash.update(this.#chunk.subarray(0, read))
    const scanner = this.#scanner
    const begin = 'form' in this.#begun ? this.#begun.offset : 0
    for (let at = Math.max(0, begin - this.#offset); at < read && scanner?.fault === null; ) {
      at = scanner.feed(this.#chunk, at, read)
      tally(scanner, this.#count)
    }
    this.#offset += read
    return read
  }

  /** After the last step. */
  result(): FileCheck {
    const begun = this.#begun
    const whole = { ...this.#count, bytes: this.#offset, sha256: this.#hash.copy().digest('hex') }
    if (!('form' in begun)) return { form: null, ...whole, fault: begun }
    return { form: begun.form, ...whole, fault: this.#scanner?.fault ?? null }
  }

  close(): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor)
    this.#descriptor = null
  }
}

function tally(scanner: ElementScanner, count: { total: number; withoutId: number; withoutType: number }): void {
  for (let index = 0; index < scanner.found; index += 1) {
    const mark = scanner.marks[index]!
    if ((mark & marks.id) === 0) count.withoutId += 1
    if ((mark & marks.type) === 0) count.withoutType += 1
  }
  count.total += scanner.found
  scanner.take()
}
