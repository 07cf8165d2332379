import type { Clock } from '../../clock.ts'
import type { ListFilter } from '../../control.ts'
import { SluiceError } from '../../errors.ts'
import type { Caller } from '../access.ts'
import type { HttpLimits } from '../http-limits.ts'
import { newSecret } from '../secret.ts'

/** An act on many that was counted and waits to be confirmed. */
export interface CountedAct {
  readonly filter: ListFilter
  readonly action: string
  readonly reason: string | undefined
  readonly input: unknown
  readonly to: string | undefined
}

/** Each can be used once, in its time, by whoever made the dry run. */
export class Confirmations {
  readonly #clock: Clock
  readonly #limits: HttpLimits
  readonly #acts = new Map<string, { readonly act: CountedAct; readonly actor: string; readonly expiresAt: number }>()

  constructor(clock: Clock, limits: HttpLimits) {
    this.#clock = clock
    this.#limits = limits
  }

  keep({ actor }: Caller, act: CountedAct): { readonly confirmation: string; readonly expiresAt: number } {
    for (const oldest of this.#acts.keys()) {
      if (this.#acts.size < this.#limits.confirmationsMax) break
      this.#acts.delete(oldest)
    }
    const confirmation = newSecret()
    const expiresAt = this.#clock.now() + this.#limits.confirmationMs
    this.#acts.set(confirmation, { act, actor, expiresAt })
    return { confirmation, expiresAt }
  }

  take({ actor }: Caller, confirmation: string): CountedAct {
    const found = this.#acts.get(confirmation)
    if (!found || found.actor !== actor || found.expiresAt <= this.#clock.now()) {
      throw new SluiceError(
        'conflict',
        'This confirmation is not known: it was used, or is too old, or was given to another. Make the dry run again.',
      )
    }
    this.#acts.delete(confirmation)
    return found.act
  }
}
