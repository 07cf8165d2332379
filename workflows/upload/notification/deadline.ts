import type { Clock } from 'sluice'

/** A deadline over one attempt. What ends it first is told: the caller, or the time. */
export class Deadline {
  readonly signal: AbortSignal
  readonly #time = new AbortController()
  readonly #cancel: () => void

  constructor(clock: Clock, timeoutMs: number, signal: AbortSignal) {
    this.signal = AbortSignal.any([signal, this.#time.signal])
    this.#cancel = clock.after(timeoutMs, () => this.#time.abort())
  }

  /** Why it is over, as part of a sentence; null while it is not. */
  get ended(): string | null {
    if (!this.signal.aborted) return null
    return this.#time.signal.aborted ? 'gave no answer in time' : 'was not waited for: the attempt was stopped'
  }

  clear(): void {
    this.#cancel()
  }
}
