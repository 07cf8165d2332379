/**
 * Time and chance are handed in, so that the whole engine runs in a deterministic simulation.
 * This file is the only one that reads the machine's clock, timers and randomness.
 */
export interface Clock {
  /** Milliseconds since the epoch, never stepping back. */
  now(): number
  /** Calls back once, after at least delayMs. Returns a function that cancels it. */
  after(delayMs: number, callback: () => void): () => void
  /** Calls back as soon as what is pending has had its turn. */
  soon(callback: () => void): void
  /** A number in [0, 1). */
  random(): number
}

/** The last moment that a date can name. No time in a store is later. */
export const timeMax = 8.64e15

export function isTime(time: unknown): time is number {
  return Number.isSafeInteger(time) && (time as number) >= 0 && (time as number) <= timeMax
}

/** A moment so much later: a whole number, and never beyond the last one. */
export function timeAfter(now: number, delayMs: number): number {
  return Math.min(timeMax, Math.ceil(now + delayMs))
}

/** setTimeout fires at once above this delay, so longer waits are cut and asked for again by their owner. */
export const delayMsMax = 2 ** 31 - 1

/** The machine's own clock. A wall clock that is set back stands still until it has caught up. */
export function systemClock(): Clock {
  let latest = 0
  return {
    now() {
      latest = Math.max(latest, Date.now())
      return latest
    },
    after(delayMs, callback) {
      const timer = setTimeout(callback, Math.min(Math.max(0, delayMs), delayMsMax))
      return () => clearTimeout(timer)
    },
    soon(callback) {
      setImmediate(callback)
    },
    random: Math.random,
  }
}

export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const done = () => {
      cancel()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const cancel = clock.after(delayMs, done)
    signal?.addEventListener('abort', done, { once: true })
  })
}
