import { sleep } from '../clock.ts'
import type { Services } from './services.ts'

/** Rung when something may have changed: by this engine's own commits, by the store's signals, and by the clock. */
export class Bell {
  readonly #services: Services
  readonly #listeners = new Set<() => void>()
  #unlisten: (() => void) | null = null

  constructor(services: Services) {
    this.#services = services
  }

  ring(): void {
    for (const listener of [...this.#listeners]) listener()
  }

  /** Resolves at the next ring, at the latest after the poll's pause. */
  next(signal?: AbortSignal): { readonly heard: Promise<void>; cancel(): void } {
    const { clock, limits } = this.#services
    const ended = new AbortController()
    const cancel = () => {
      this.#listeners.delete(cancel)
      signal?.removeEventListener('abort', cancel)
      ended.abort()
      if (this.#listeners.size === 0) this.#rest()
    }
    this.#listeners.add(cancel)
    signal?.addEventListener('abort', cancel, { once: true })
    this.#listen()
    return { heard: sleep(clock, limits.pollMs, ended.signal), cancel }
  }

  /** Hears only while somebody waits: an engine without readers pays nothing. */
  #listen(): void {
    if (this.#unlisten) return
    const { store, completer } = this.#services
    const ends = [completer.listen(() => this.ring()), store.signals?.(() => this.ring()) ?? (() => {})]
    this.#unlisten = () => {
      for (const end of ends) end()
    }
  }

  #rest(): void {
    this.#unlisten?.()
    this.#unlisten = null
  }
}
