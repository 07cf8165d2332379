import type { EntityId } from '../entity.ts'

interface Sample {
  readonly at: number
  readonly settled: number
}

/** How far back the speed is measured, how many looks are remembered over that time, and for how many parents. */
const windowMs = 60_000
const samplesMax = 30
const parentsMax = 1_000

/** How fast the children of a parent settle, from what was seen whenever somebody asked for the progress. */
export class Rates {
  /** The parent that was asked for longest ago stands first, and is forgotten first. */
  readonly #samples = new Map<EntityId, readonly Sample[]>()

  /** Per second, over the last minute. Null: this is the first look, or no time has passed. */
  measure(parent: EntityId, at: number, settled: number): number | null {
    const known = this.#samples.get(parent) ?? []
    // Children that were reopened would make the speed negative: it is measured anew from here.
    const samples = known.some((sample) => sample.settled > settled) ? [] : recent(known, at)
    this.#remember(parent, samples, { at, settled })
    const [first] = samples
    return first && at > first.at ? ((settled - first.settled) * 1_000) / (at - first.at) : null
  }

  #remember(parent: EntityId, samples: readonly Sample[], sample: Sample): void {
    const last = samples.at(-1)
    // A page that asks every moment must not push the beginning of the window out of memory.
    const isTooSoon = last !== undefined && sample.at - last.at < windowMs / samplesMax
    this.#samples.delete(parent)
    this.#samples.set(parent, isTooSoon ? samples : [...samples, sample])
    const [oldest] = this.#samples.keys()
    if (this.#samples.size > parentsMax && oldest !== undefined) this.#samples.delete(oldest)
  }
}

/** The last look stays whatever its age: an old one is better than none. */
function recent(samples: readonly Sample[], at: number): readonly Sample[] {
  const kept = samples.filter((sample) => at - sample.at <= windowMs)
  return kept.length > 0 ? kept : samples.slice(-1)
}
