import { basename } from 'node:path'
import type { Issue } from '../issue.ts'
import { WholeFile } from './whole-file.ts'

export interface BadLine {
  readonly line: number
  /** The first byte of the line. */
  readonly offset: number
  readonly issues: readonly Issue[]
}

const blockChars = 256 * 1024

/** The bad lines of a range, written down as NDJSON. There is no file if there are none. */
export class BadLines {
  readonly #path: string
  readonly #name: string
  readonly #attempt: number
  readonly #max: number
  #file: WholeFile | null = null
  #text = ''
  #written = 0
  leftOut = 0

  constructor(path: string, name: string, attempt: number, max: number) {
    this.#path = path
    this.#name = name
    this.#attempt = attempt
    this.#max = max
  }

  async add(bad: BadLine): Promise<void> {
    if (this.#written >= this.#max) {
      this.leftOut += 1
      return
    }
    this.#written += 1
    this.#text += `${JSON.stringify({ file: this.#name, ...bad })}\n`
    if (this.#text.length >= blockChars) await this.#flush()
  }

  /** The name of the file, if there is anything in it. */
  async publish(signal: AbortSignal): Promise<string | null> {
    await this.#flush()
    if (!this.#file) return null
    await this.#file.publish(signal)
    return basename(this.#path)
  }

  async discard(): Promise<void> {
    await this.#file?.discard()
  }

  async #flush(): Promise<void> {
    if (this.#text === '') return
    this.#file ??= await WholeFile.create(this.#path, this.#attempt)
    await this.#file.write(Buffer.from(this.#text))
    this.#text = ''
  }
}
