import type { Clock } from '../../clock.ts'
import type { Access, Caller } from '../access.ts'

const lookMs = 1_000

/** Whoever listens, with the right by which it does. A token that is taken back ends what was opened with it, within a second. */
export class Callers<L extends { close(): void }> {
  readonly #access: Access
  readonly #clock: Clock
  readonly #callers = new Map<L, Caller>()
  #cancel: (() => void) | null = null

  constructor({ access, clock }: { readonly access: Access; readonly clock: Clock }) {
    this.#access = access
    this.#clock = clock
  }

  add(listener: L, caller: Caller): void {
    this.#callers.set(listener, caller)
    this.#plan()
  }

  delete(listener: L): void {
    this.#callers.delete(listener)
    if (this.#callers.size > 0) return
    this.#cancel?.()
    this.#cancel = null
  }

  #plan(): void {
    this.#cancel ??= this.#clock.after(lookMs, () => {
      this.#cancel = null
      this.#look().finally(() => {
        if (this.#callers.size > 0) this.#plan()
      })
    })
  }

  async #look(): Promise<void> {
    const known = new Map<string | null, boolean>()
    for (const [listener, { tokenDigest, expiresAt }] of [...this.#callers]) {
      const isKnown = known.get(tokenDigest) ?? (await this.#isKnown(tokenDigest))
      known.set(tokenDigest, isKnown)
      if (!isKnown || (expiresAt !== null && expiresAt <= this.#clock.now())) listener.close()
    }
  }

  /** Who cannot be looked up is not known. */
  async #isKnown(tokenDigest: string | null): Promise<boolean> {
    try {
      return tokenDigest === null
        ? await this.#access.isEmpty()
        : (await this.#access.findByDigest(tokenDigest)) !== null
    } catch {
      return false
    }
  }
}
