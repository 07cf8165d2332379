import type { Clock } from '../../clock.ts'
import type { Signal } from '../../store.ts'

/** How often a process looks whether another one has changed the file. One look is a few microseconds. */
const watchMs = 100

/** Hints to whoever listens: at once for what this process does, soon for what others do. */
export class Signals {
  readonly #clock: Clock
  readonly #versionOf: () => number
  readonly #listeners = new Set<(signal: Signal) => void>()
  #cancel: (() => void) | null = null
  #version = 0

  constructor(clock: Clock, versionOf: () => number) {
    this.#clock = clock
    this.#versionOf = versionOf
  }

  /** A listener's fault is its own, never the committer's. */
  tell(signal: Signal): void {
    for (const listener of this.#listeners) queueMicrotask(() => listener(signal))
  }

  listen(listener: (signal: Signal) => void): () => void {
    this.#listeners.add(listener)
    if (!this.#cancel) {
      this.#version = this.#versionOf()
      this.#watch()
    }
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.stop()
    }
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = null
    this.#listeners.clear()
  }

  #watch(): void {
    this.#cancel = this.#clock.after(watchMs, () => {
      const version = this.#versionOf()
      if (version !== this.#version) {
        this.#version = version
        this.tell({ work: true, due: true, ended: true })
      }
      this.#watch()
    })
  }
}
