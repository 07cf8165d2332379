import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import { messageOf } from '../errors.ts'

const pauseMsMax = 2_000

/** What keeps this process from writing to its store: since when, and what the store said last. */
export interface StoreTrouble {
  readonly since: number
  readonly sentence: string
}

/** The calls to the store that fail now: what people are told when nothing moves because of it. */
export class Troubles {
  readonly #clock: Clock
  readonly #log: Logger
  readonly #failing = new Map<Trouble, StoreTrouble>()

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock
    this.#log = log
  }

  of(what: string, pauseMs?: number): Trouble {
    return new Trouble(this.#clock, this.#log, what, this.#failing, pauseMs)
  }

  /** Null: every kind of call was answered the last time. */
  current(): StoreTrouble | null {
    // The first to fail comes first: a map keeps the order of insertion.
    return this.#failing.values().next().value ?? null
  }
}

/**
 * The store does not answer. It is asked again after pauses that grow, so that a server that comes back is not overrun; that it began, and
 * that it is over, is said once.
 */
export class Trouble {
  readonly #clock: Clock
  readonly #log: Logger
  readonly #what: string
  readonly #failing: Map<Trouble, StoreTrouble>
  readonly #pauseMs: number
  #failures = 0
  #since = 0

  constructor(clock: Clock, log: Logger, what: string, failing: Map<Trouble, StoreTrouble>, pauseMs = 50) {
    this.#clock = clock
    this.#log = log
    this.#what = what
    this.#failing = failing
    this.#pauseMs = pauseMs
  }

  /** How long to wait before the next attempt. */
  failed(error: unknown): number {
    if (this.#failures === 0) {
      this.#since = this.#clock.now()
      this.#log.warn({ error: messageOf(error) }, `${this.#what} failed; it is tried again`)
    } else {
      this.#log.debug({ error: messageOf(error) }, `${this.#what} failed again`)
    }
    this.#failing.set(this, { since: this.#since, sentence: messageOf(error) })
    const pauseMs = Math.min(pauseMsMax, this.#pauseMs * 2 ** Math.min(this.#failures, 10))
    this.#failures += 1
    return pauseMs * (1 + this.#clock.random())
  }

  /** It has failed, and has not worked since. */
  get isOn(): boolean {
    return this.#failures > 0
  }

  over(): void {
    if (this.#failures === 0) return
    this.#log.warn({ failures: this.#failures, ms: this.#clock.now() - this.#since }, `${this.#what} works again`)
    this.#failures = 0
    this.#failing.delete(this)
  }
}
