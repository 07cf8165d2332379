import { closeSync, readSync } from 'node:fs'
import { SluiceError } from 'sluice/errors'
import { isReplaced, openFile } from './file-walk.ts'

const windowBytes = 262_144

/** Reads single elements of a stored file again. They are mostly asked for in file order, so each read brings the next ones. */
export class SliceReader {
  readonly #path: string
  readonly #descriptor: number
  readonly #window = Buffer.allocUnsafe(windowBytes)
  #start = 0
  #filled = 0

  constructor(path: string) {
    this.#path = path
    this.#descriptor = openFile(path)
  }

  /** The bytes hold until the next read: who keeps them longer copies them. */
  read(offset: number, length: number): Buffer {
    if (length > windowBytes) return this.#direct(offset, length)
    if (offset < this.#start || offset + length > this.#start + this.#filled) {
      this.#start = offset
      this.#filled = this.#fill(this.#window, windowBytes, offset)
      if (this.#filled < length) throw this.#short(offset, length)
    }
    const from = offset - this.#start
    return this.#window.subarray(from, from + length)
  }

  /** Another file stands in its place: open that one. */
  get isReplaced(): boolean {
    return isReplaced(this.#path, this.#descriptor)
  }

  close(): void {
    closeSync(this.#descriptor)
  }

  #direct(offset: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length)
    if (this.#fill(bytes, length, offset) < length) throw this.#short(offset, length)
    return bytes
  }

  #fill(bytes: Buffer, wanted: number, offset: number): number {
    let filled = 0
    while (filled < wanted) {
      const read = readSync(this.#descriptor, bytes, filled, wanted - filled, offset + filled)
      if (read === 0) break
      filled += read
    }
    return filled
  }

  #short(offset: number, length: number): SluiceError {
    const message = `The stored file ${this.#path} ends before byte ${offset + length}; an element of ${length} bytes was expected at ${offset}.`
    return new SluiceError('internal', message, {
      reason: 'stored file is truncated',
      path: this.#path,
      offset,
      length,
    })
  }
}
