import type { ClaimRun } from '../../store.ts'
import type { Line } from './line.ts'
import type { Served } from './served.ts'

/** Where a claim looks, if it takes for granted what it knows, and how many it may take. */
export interface Plan {
  readonly kind: string
  readonly served: readonly Served[]
  /** All that there are, in the order of their numbers. */
  readonly lines: readonly Line[]
  /** Those without suspects. */
  readonly places: readonly { readonly line: Line; readonly run: ClaimRun; readonly most: number }[]
  readonly limit: number
}

/** So many kinds of claims are remembered: a worker asks for few different sets of runs. */
const kindsMax = 16
/** After a wrong guess so many claims at most are made without one. */
const pauseMax = 64

/**
 * Most claims find what the last one found. What a claim that asked first has learned, the next one of the same kind takes for granted, and
 * lets the server prove it. Whenever that goes wrong, the next few ask first: twice as many as after the time before.
 */
export class Habit {
  readonly #lines = new Map<string, readonly Line[]>()
  #pause = 0
  #left = 0

  /** The lines that claims of this kind looked at, if there was nothing to them but rows to be taken; or null. */
  learn(kind: string, lines: readonly Line[] | null): void {
    this.#lines.delete(kind)
    if (lines === null) return
    if (this.#lines.size >= kindsMax) this.#lines.clear()
    this.#lines.set(kind, lines)
  }

  linesOf(kind: string): readonly Line[] | null {
    if (this.#left === 0) return this.#lines.get(kind) ?? null
    this.#left -= 1
    return null
  }

  proved(): void {
    this.#pause = 0
  }

  failed(kind: string): void {
    this.#lines.delete(kind)
    this.#pause = Math.min(pauseMax, Math.max(1, this.#pause * 2))
    this.#left = this.#pause
  }
}
