import type { Cursor } from '../files/file-fault.ts'
import type { ElementGroup, FoundItem } from '../files/file-walk.ts'
import { FileRepeats, type Repeat, type RepeatsOptions } from './file-repeats.ts'

/** Files whose repeats are looked for at the same time: more than a process extracts at once. */
const filesMax = 8

/** What is known of the repeats of the files that are being extracted. The file that was not asked for the longest is given up first. */
export class Repeats {
  readonly #optionsOf: (sha256: string) => RepeatsOptions
  readonly #files = new Map<string, FileRepeats>()

  constructor(optionsOf: (sha256: string) => RepeatsOptions) {
    this.#optionsOf = optionsOf
  }

  /** To be called until it returns false, before the elements behind a cursor are looked at. */
  catchUp(sha256: string, cursor: Cursor | null): boolean {
    return this.#guarded(sha256, (file) => file.catchUp(cursor))
  }

  /** The repeats of a group; with its last group, the file is forgotten. */
  of(sha256: string, group: ElementGroup, items: readonly FoundItem[]): Repeat[] {
    const repeats = this.#guarded(sha256, (file) => file.of(group, items))
    if (group.next === null) this.#forget(sha256)
    return repeats
  }

  close(): void {
    for (const sha256 of [...this.#files.keys()]) this.#forget(sha256)
  }

  #guarded<Result>(sha256: string, work: (file: FileRepeats) => Result): Result {
    try {
      return work(this.#fileOf(sha256))
    } catch (error) {
      this.#forget(sha256)
      throw error
    }
  }

  #fileOf(sha256: string): FileRepeats {
    const file = this.#files.get(sha256) ?? new FileRepeats(this.#optionsOf(sha256))
    this.#files.delete(sha256)
    this.#files.set(sha256, file)
    if (this.#files.size > filesMax) this.#forget(this.#files.keys().next().value as string)
    return file
  }

  #forget(sha256: string): void {
    this.#files.get(sha256)?.close()
    this.#files.delete(sha256)
  }
}
