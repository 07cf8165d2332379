import { SluiceError } from '../../errors.ts'
import {
  type Hold,
  type HoldActor,
  type Holdable,
  isActive,
  type LabelNames,
  latestFirst,
  pastHoldsMax,
  stops,
} from '../../hold.ts'
import { type HoldChange, nobody } from '../../store.ts'
import { frozen } from './frozen.ts'

/** The standing orders, in the order of their making. Expired ones are forgotten when somebody looks. */
export class Holds {
  readonly #holds = new Map<number, Hold>()
  #past: Hold[] = []
  #latest = 0

  standing(now: number): readonly Hold[] {
    for (const hold of this.#holds.values()) if (!isActive(hold, now)) this.#end(hold, hold.until ?? now, null)
    return [...this.#holds.values()]
  }

  past(limit: number, now: number): readonly Hold[] {
    this.standing(now)
    return this.#past.toSorted(latestFirst).slice(0, limit)
  }

  #end(hold: Hold, at: number, by: HoldActor | null): void {
    this.#holds.delete(hold.id)
    this.#past.push(frozen({ ...hold, ended: { at, by } }))
    if (this.#past.length > pastHoldsMax) this.#past = this.#past.toSorted(latestFirst).slice(0, pastHoldsMax)
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
      const hold = this.standing(now).find(({ id }) => id === change.lift)
      if (hold) this.#end(hold, now, change.by ?? nobody)
      return
    }
    const { set: scope, reason, owner, until, by = nobody } = change
    if (Object.values(scope).every((part) => part === undefined)) {
      throw new SluiceError('invalid', 'A hold must name a machine, a state, a parent, an entity or a label.', {
        scope,
      })
    }
    this.#latest += 1
    this.#holds.set(
      this.#latest,
      frozen({ id: this.#latest, scope, reason, owner, until, since: now, by, ended: null }),
    )
  }
}
