/** Who has an effect: a processor's context says it, or whoever stands between a processor and its own callers. */
export interface Effector {
  readonly entity: {
    readonly machine: string
    readonly id: number
    readonly state: string
    readonly generation: number
  }
  readonly idempotencyKey: string
  readonly attempt: number
}

/** The outside world as processors change it: every effect with its idempotency key. */
export class Ledger {
  readonly #keys = new Map<string, string>()
  readonly #owners = new Map<string, string>()
  readonly #complain: (invariant: 'G11' | 'G12', message: string) => void
  effects = 0

  constructor(complain: (invariant: 'G11' | 'G12', message: string) => void) {
    this.#complain = complain
  }

  effect({ entity, idempotencyKey, attempt }: Effector, processor: string, attemptsMax: number): void {
    this.effects += 1
    const deed = `${entity.machine} ${entity.id} ${entity.state} ${processor} in generation ${entity.generation}`
    const known = this.#keys.get(deed)
    if (known !== undefined && known !== idempotencyKey) {
      this.#complain('G12', `${deed} had the key ${known} and now ${idempotencyKey}.`)
    }
    const owner = this.#owners.get(idempotencyKey)
    if (owner !== undefined && owner !== deed)
      this.#complain('G12', `${deed} and ${owner} share the key ${idempotencyKey}.`)
    this.#keys.set(deed, idempotencyKey)
    this.#owners.set(idempotencyKey, deed)
    if (attempt > attemptsMax)
      this.#complain('G11', `${deed} runs for the ${attempt}th time; ${attemptsMax} were allowed.`)
  }
}
