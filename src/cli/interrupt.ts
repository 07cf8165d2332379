/** What an interrupt comes from: the process, or a test. */
export interface SignalSource {
  on(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown
  off(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown
}

export const interruptedExit = 130

/** The first Ctrl-C asks to stop, the second one leaves at once: nothing is lost by either, for the store expects crashes. */
export class Interrupt {
  readonly #source: SignalSource
  readonly #stop = new AbortController()
  readonly #onSignal: () => void

  constructor(source: SignalSource, onFirst: () => void, leave: (status: number) => void) {
    this.#source = source
    this.#onSignal = () => {
      if (this.#stop.signal.aborted) return leave(interruptedExit)
      this.#stop.abort()
      onFirst()
    }
    source.on('SIGINT', this.#onSignal)
    source.on('SIGTERM', this.#onSignal)
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  get isAsked(): boolean {
    return this.#stop.signal.aborted
  }

  close(): void {
    this.#source.off('SIGINT', this.#onSignal)
    this.#source.off('SIGTERM', this.#onSignal)
  }
}
