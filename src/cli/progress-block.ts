import type { Terminal } from './terminal.ts'

/** Often enough to look alive, rarely enough to cost nothing. */
const paintMs = 100

/** A few lines on a terminal that are painted over, all together. Lines are cut to the width: one that breaks would never be cleared. */
export class ProgressBlock {
  readonly #terminal: Terminal
  readonly #now: () => number
  #shownAt = Number.NEGATIVE_INFINITY
  #height = 0

  constructor(terminal: Terminal, now: () => number) {
    this.#terminal = terminal
    this.#now = now
  }

  /** The lines are asked for only if it is time. */
  show(lines: (columns: number) => readonly string[]): void {
    const now = this.#now()
    if (now - this.#shownAt < paintMs) return
    this.#shownAt = now
    const columns = Math.max(0, this.#terminal.columns - 1)
    const painted = lines(columns).map((line) => `\x1b[2K${line.slice(0, columns)}\n`)
    // What was longer before leaves nothing behind.
    this.#terminal.err(`${this.#top()}${painted.join('')}\x1b[0J`)
    this.#height = painted.length
  }

  /** Leaves nothing, so that what is said next stands alone. */
  clear(): void {
    if (this.#height > 0) this.#terminal.err(`${this.#top()}\x1b[0J`)
    this.#height = 0
    this.#shownAt = Number.NEGATIVE_INFINITY
  }

  #top(): string {
    return this.#height === 0 ? '\r' : `\r\x1b[${this.#height}A`
  }
}
