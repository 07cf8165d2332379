import { FileChecking } from '../files/file-check.ts'
import type { ElementLimits } from '../files/file-fault.ts'

/** Files that are looked at while they are received, and those whose batch has not asked yet. The others are checked when they are asked for. */
const checksMax = 4

/** Checks that were begun before their file was whole: most of the file has been read when its batch asks. */
export class EarlyChecks {
  readonly #limits: ElementLimits
  /** By the path under which the file is received. Null: what it is cannot be told early. */
  readonly #receiving = new Map<string, FileChecking | null>()
  readonly #received = new Map<string, FileChecking>()

  constructor(limits: ElementLimits) {
    this.#limits = limits
  }

  follow(path: string, bytes: number): void {
    let checking = this.#receiving.get(path)
    if (checking === undefined) {
      if (this.#receiving.size >= checksMax) return
      checking = FileChecking.following(path, bytes, this.#limits)
      this.#receiving.set(path, checking)
    }
    checking?.follow(bytes)
  }

  /** Null: the file was not kept. */
  end(path: string, sha256: string | null): void {
    const checking = this.#receiving.get(path)
    this.#receiving.delete(path)
    if (!checking) return
    if (sha256 === null) {
      checking.close()
      return
    }
    this.#received.get(sha256)?.close()
    checking.received()
    this.#received.set(sha256, checking)
    if (this.#received.size <= checksMax) return
    const [oldest] = this.#received.keys()
    this.#received.get(oldest as string)?.close()
    this.#received.delete(oldest as string)
  }

  /** Whoever takes it goes on with it, and closes it. Null: there is none, or the file was changed after it had been received. */
  take(sha256: string, path: string): FileChecking | null {
    const checking = this.#received.get(sha256) ?? null
    this.#received.delete(sha256)
    if (!checking || checking.isStillAt(path)) return checking
    checking.close()
    return null
  }

  close(): void {
    for (const checking of [...this.#receiving.values(), ...this.#received.values()]) checking?.close()
    this.#receiving.clear()
    this.#received.clear()
  }
}
