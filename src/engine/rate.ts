import type { EntityId } from '../entity.ts'

interface Sample {
  readonly at: number
  readonly settled: number
}

/** How far back the speed is measured, and how much is remembered of it. */
const windowMs = 60_000
const samplesMax = 32
const parentsMax = 1_000

/** How fast the children of a parent settle, from what was seen whenever somebody asked for the progress. */
export class Rates {
  /** The parent that was asked for longest ago stands first, and is forgotten first. */
  readonly #samples = new Map<EntityId, Sample[]>()

  /** Per second, over the last minute. Null: this is the first look, or no time has passed. */
  measure(parent: EntityId, at: number, settled: number): number | null {
    const samples = this.#recent(parent, at, settled)
    const first = samples[0]
    this.#remember(parent, samples, { at, settled })
    return first && at > first.at ? ((settled - first.settled) * 1_000) / (at - first.at) : null
  }

  #recent(parent: EntityId, at: number, settled: number): Sample[] {
    const samples = this.#samples.get(parent) ?? []
    // Children that were reopened would make the speed negative: it is measured anew from here.
    if (samples.some((sample) => sample.settled > settled)) return []
    const recent = samples.filter((sample) => at - sample.at <= windowMs)
    // A page that asks every second fills the window; the oldest of the window is what the speed is measured from.
    return recent.length < samplesMax ? recent : [recent[0] as Sample, ...recent.slice(2)]
  }

  #remember(parent: EntityId, samples: Sample[], sample: Sample): void {
    this.#samples.delete(parent)
    this.#samples.set(parent, [...samples, sample])
    const [oldest] = this.#samples.keys()
    if (this.#samples.size > parentsMax && oldest !== undefined) this.#samples.delete(oldest)
  }
}
