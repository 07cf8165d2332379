import { type Clock, delayMsMax, sleep, systemClock } from '../../clock.ts'
import { SluiceError } from '../../errors.ts'
import { Random } from '../simulation/random.ts'
import { type Duration, durationMs } from './duration.ts'

/** An arbitrary moment that is easy to read in failures: the first of January 2026, at noon. */
export const defaultStart = Date.UTC(2026, 0, 1, 12)

interface Timer {
  readonly at: number
  readonly order: number
  readonly callback: () => void
}

/**
 * A clock that stands still until it is moved. What was asked for `soon` takes no time and so happens by itself; what was
 * asked for later happens when somebody advances the clock, in the order of its time. Chance comes from a seed.
 */
export class SimulatedClock implements Clock {
  #now: number
  /** Ordered by time, the latest first: the next one is taken from the end. */
  readonly #timers: Timer[] = []
  #order = 0
  #pending = 0
  readonly #random: Random
  readonly #real = systemClock()

  constructor(start: number = defaultStart, seed = 1) {
    if (!Number.isFinite(start)) throw new SluiceError('invalid', `A clock cannot start at ${start}.`, { start })
    this.#now = start
    this.#random = new Random(seed)
  }

  now(): number {
    return this.#now
  }

  after(delayMs: number, callback: () => void): () => void {
    // As the machine's own clock does: longer waits are cut, and asked for again by their owner.
    const wholeMs = Math.ceil(Math.min(Math.max(0, delayMs), delayMsMax))
    let cancelled = false
    const once = () => {
      if (!cancelled) callback()
    }
    if (wholeMs === 0) this.soon(once)
    const timer = { at: this.#now + wholeMs, order: ++this.#order, callback: once }
    if (wholeMs > 0) this.#timers.splice(this.#placeOf(timer), 0, timer)
    return () => {
      cancelled = true
      const place = this.#timers.indexOf(timer)
      if (place >= 0) this.#timers.splice(place, 1)
    }
  }

  soon(callback: () => void): void {
    this.#pending += 1
    this.#real.soon(() => {
      this.#pending -= 1
      callback()
    })
  }

  random(): number {
    return this.#random.next()
  }

  /** Resolves when the clock has been moved so far, or the signal is aborted. */
  sleep(duration: Duration, signal?: AbortSignal): Promise<void> {
    return sleep(this, durationMs(duration), signal)
  }

  /** Moves the clock on, and runs what becomes due on the way, each at its own time, with all that follows from it. */
  async advance(duration: Duration): Promise<void> {
    const end = this.#now + durationMs(duration)
    await this.settle()
    for (let next = this.next; next !== null && next <= end; next = this.next) {
      this.moveTo(next)
      this.fireDue()
      await this.settle()
    }
    this.moveTo(end)
  }

  /** When the next timer is due. Null: there is none. */
  get next(): number | null {
    return this.#timers.at(-1)?.at ?? null
  }

  /** Resolves when all that takes no time has happened: callbacks for `soon`, promises, and what they brought about. */
  async settle(): Promise<void> {
    do {
      await new Promise<void>((resolve) => this.#real.soon(resolve))
    } while (this.#pending > 0)
  }

  /** Shows another time, and runs nothing. */
  moveTo(time: number): void {
    this.#now = Math.max(this.#now, time)
  }

  /** Runs the earliest timer that is due. False: none is. */
  fireDue(): boolean {
    const timer = this.#timers.at(-1)
    if (!timer || timer.at > this.#now) return false
    this.#timers.pop()
    timer.callback()
    return true
  }

  /** Before the first one, seen from the end, that is due earlier. */
  #placeOf(timer: Timer): number {
    let low = 0
    let high = this.#timers.length
    while (low < high) {
      const middle = (low + high) >> 1
      const other = this.#timers[middle]!
      if (other.at > timer.at || (other.at === timer.at && other.order > timer.order)) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** A clock that stands still until it is moved, with chance from a seed. */
export function simulatedClock(start: number = defaultStart, seed = 1): SimulatedClock {
  return new SimulatedClock(start, seed)
}
