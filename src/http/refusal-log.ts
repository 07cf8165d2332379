import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'

const windowMs = 10_000
const addressesMax = 1_000

interface Told {
  readonly at: number
  /** Refused since, and not told yet. */
  untold: number
}

/** Tells of tokens that are refused: for each address at most one line in ten seconds, with the number of those in between. */
export class RefusalLog {
  readonly #log: Logger
  readonly #clock: Clock
  readonly #told = new Map<string, Told>()

  constructor(log: Logger, clock: Clock) {
    this.#log = log
    this.#clock = clock
  }

  refused(address: string, fields: Readonly<Record<string, unknown>>): void {
    const now = this.#clock.now()
    const before = this.#told.get(address)
    if (before && now - before.at < windowMs) {
      before.untold += 1
      return
    }
    // The oldest come first: whoever is told of again goes to the end.
    this.#told.delete(address)
    for (const oldest of this.#told.keys()) {
      if (this.#told.size < addressesMax) break
      this.#told.delete(oldest)
    }
    this.#told.set(address, { at: now, untold: 0 })
    const times = (before?.untold ?? 0) + 1
    this.#log.warn({ ...fields, address, times }, 'a token that is not valid was refused')
  }
}
