import type { EntityId } from '../../entity.ts'
import type { Runs } from './runs.ts'

/** One thing that was done in the world outside. */
export interface Effect {
  /** 1 for the first. */
  readonly number: number
  /** What was done: `mail`, `charge`. */
  readonly name: string
  /** Null: the outside world was given none, and does it again each time it is asked. */
  readonly key: string | null
  readonly value: unknown
  readonly at: number
  /** How often it was asked for with this key; it was done once. */
  readonly asked: number
  /** Who did it. Null: it was not done by a processor. */
  readonly by: EffectOrigin | null
}

export interface EffectOrigin {
  readonly machine: string
  readonly entity: EntityId
  readonly generation: number
  readonly processor: string
}

export interface EffectOptions {
  /** Hand over `context.idempotencyKey`, with a suffix if one run has several effects of one name. */
  readonly key?: string
  /** What makes it this effect and no other: the address of a mail. Compared as JSON. */
  readonly value?: unknown
}

/**
 * Plays the world outside: a ledger that outlives every crash. Whoever gives a key has the effect once, however often it is
 * asked for; whoever gives none has it each time, as in the real world.
 */
export class Effects {
  readonly #effects: Effect[] = []
  readonly #byKey = new Map<string, number>()
  readonly #runs: Runs
  readonly #now: () => number

  constructor(runs: Runs, now: () => number) {
    this.#runs = runs
    this.#now = now
  }

  /** Does it, and returns its number: the same for the same key. The process may die before or after it. */
  async perform(name: string, options: EffectOptions = {}): Promise<number> {
    await this.#runs.reach('before', `the effect ${name}`)
    const number = this.#note(name, options)
    await this.#runs.reach('after', `the effect ${name}`)
    return number
  }

  #note(name: string, { key, value }: EffectOptions): number {
    const known = key === undefined ? undefined : this.#byKey.get(`${name} ${key}`)
    if (known !== undefined) {
      const effect = this.#effects[known - 1]!
      this.#effects[known - 1] = { ...effect, asked: effect.asked + 1 }
      return known
    }
    const number = this.#effects.length + 1
    const run = this.#runs.current()
    const by = run && { machine: run.machine, entity: run.entity, generation: run.generation, processor: run.processor }
    this.#effects.push({ number, name, key: key ?? null, value, at: this.#now(), asked: 1, by })
    if (key !== undefined) this.#byKey.set(`${name} ${key}`, number)
    return number
  }

  /** Everything that was done, or everything of this name, oldest first. */
  all(name?: string): readonly Effect[] {
    return this.#effects.filter((effect) => name === undefined || effect.name === name)
  }

  count(name?: string): number {
    return this.all(name).length
  }

  /** What one entity's processor did more than once in one generation, with the same value: a sentence each. Empty: exactly once. */
  doubled(): readonly string[] {
    const alike = Object.groupBy(this.#effects, ({ name, value, by }) => JSON.stringify([name, value ?? null, by]))
    return Object.values(alike).flatMap((effects) => {
      const [first, second] = effects ?? []
      if (!first || !second) return []
      const value = first.value === undefined ? '' : ` ${JSON.stringify(first.value)}`
      const who = first.by ? ` by ${first.by.processor} of ${first.by.machine} ${first.by.entity}` : ''
      const why = first.key === null ? 'it was given no key' : `its keys were ${first.key} and ${second.key}`
      return [`The effect ${first.name}${value} was done ${effects?.length} times${who}: ${why}.`]
    })
  }
}
