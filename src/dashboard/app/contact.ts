import type { Clock } from '../../clock.ts'

/** Whether the server answers, and when it last did, by this browser's clock. */
export class Contact {
  readonly #clock: Clock
  readonly #listeners = new Set<() => void>()
  #heardAt: number
  #isSilent = false

  constructor(clock: Clock) {
    this.#clock = clock
    this.#heardAt = clock.now()
  }

  /** True: the last request or connection had no answer, so that everything on the page may be out of date. */
  get isSilent(): boolean {
    return this.#isSilent
  }

  /** When the server was last heard. */
  get heardAt(): number {
    return this.#heardAt
  }

  /** How old the page's figures are. */
  get ageMs(): number {
    return Math.max(0, this.#clock.now() - this.#heardAt)
  }

  heard(): void {
    this.#heardAt = this.#clock.now()
    this.#become(false)
  }

  missed(): void {
    this.#become(true)
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #become(isSilent: boolean): void {
    if (this.#isSilent === isSilent) return
    this.#isSilent = isSilent
    for (const listener of this.#listeners) listener()
  }
}
