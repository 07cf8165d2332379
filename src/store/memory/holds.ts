import { SluiceError } from '../../errors.ts'
import { type Hold, type Holdable, isActive, type LabelNames, stops } from '../../hold.ts'
import type { HoldChange } from '../../store.ts'
import { frozen } from './frozen.ts'

/** The standing orders, in the order of their making. Expired ones are forgotten when somebody looks. */
export class Holds {
  readonly #holds = new Map<number, Hold>()
  #latest = 0

  standing(now: number): readonly Hold[] {
    for (const hold of this.#holds.values()) if (!isActive(hold, now)) this.#holds.delete(hold.id)
    return [...this.#holds.values()]
  }

  /** Those that stop this entity. */
  over(entity: Holdable, holdable: boolean, labelNames: LabelNames, now: number): readonly Hold[] {
    if (this.#holds.size === 0) return []
    return this.standing(now).filter((hold) => stops(hold, entity, holdable, labelNames, now))
  }

  /** When the next one ends by itself: what it held may be claimed from then on. */
  nextEnd(now: number): number | null {
    const ends = this.standing(now).flatMap(({ until }) => until ?? [])
    return ends.length > 0 ? Math.min(...ends) : null
  }

  change(change: HoldChange, now: number): void {
    if ('lift' in change) {
      // Lifting twice is no fault: the answer of the first may have been lost.
      this.#holds.delete(change.lift)
      return
    }
    const { set: scope, reason, owner, until } = change
    if (Object.values(scope).every((part) => part === undefined)) {
      throw new SluiceError('invalid', 'A hold must name a machine, a state, a parent, an entity or a label.', {
        scope,
      })
    }
    this.#latest += 1
    this.#holds.set(this.#latest, frozen({ id: this.#latest, scope, reason, owner, until, since: now }))
  }
}
