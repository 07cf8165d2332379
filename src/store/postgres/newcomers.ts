import type { Clock } from '../../clock.ts'
import type { EntityId } from '../../entity.ts'

/** After so long without a claim, nobody claims here. Workers ask at least once a second. */
const claimsMs = 3_000
/** So long a newcomer waits for a claim of its own process, before the others hear of it. */
const graceMs = 2
/** With more of them than this, others may as well have some. */
const newcomersMax = 64

/**
 * What was born a moment ago in a process that claims by itself. It mostly takes it at once, and then there is nothing to tell: a
 * notification would cost the server as much as the claim that it is in the way of.
 */
export class Newcomers {
  readonly #clock: Clock
  readonly #tellOthers: () => void
  readonly #ids = new Set<EntityId>()
  #claimedAt = Number.NEGATIVE_INFINITY
  #cancel: (() => void) | null = null

  constructor(clock: Clock, tellOthers: () => void) {
    this.#clock = clock
    this.#tellOthers = tellOthers
  }

  /** False: others are to be told now. */
  keep(id: EntityId): boolean {
    if (this.#ids.size >= newcomersMax || this.#clock.now() - this.#claimedAt > claimsMs) return false
    this.#ids.add(id)
    this.#cancel ??= this.#clock.after(graceMs, () => this.#tell())
    return true
  }

  /** A worker of this process asks. */
  claiming(): void {
    this.#claimedAt = this.#clock.now()
  }

  claimed(entities: readonly { readonly id: EntityId }[]): void {
    if (this.#ids.size === 0) return
    for (const { id } of entities) this.#ids.delete(id)
    if (this.#ids.size === 0) this.stop()
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = null
    this.#ids.clear()
  }

  #tell(): void {
    this.stop()
    this.#tellOthers()
  }
}
