import type { EntityId } from '../entity.ts'

interface Sample {
  readonly at: number
  readonly settled: number
}

/** How far back the speed is measured, how many looks are remembered over that time, and for how many parents. */
const windowMs = 60_000
const samplesMax = 30
const parentsMax = 1_000

/** Parts of the window that are compared: of fewer looks nobody can say how much the speed varies. */
const partsMin = 4
/** Nothing has settled for so long, although several should have: the speed of before promises nothing any more. */
const stalledMs = 10_000
const missedMin = 5

/** How fast children settle, per second. */
export interface Rate {
  /** Over the last minute. */
  readonly perSecond: number
  /** In the slowest and the fastest part of it. Null: it was not looked at often enough. */
  readonly spread: { readonly slowest: number; readonly fastest: number } | null
  readonly isStalled: boolean
}

/** How fast the children of a parent settle, from what was seen whenever somebody asked for the progress. */
export class Rates {
  /** The parent that was asked for longest ago stands first, and is forgotten first. */
  readonly #samples = new Map<EntityId, readonly Sample[]>()

  /** Null: this is the first look, or no time has passed. */
  measure(parent: EntityId, at: number, settled: number): Rate | null {
    const known = this.#samples.get(parent) ?? []
    // Children that were reopened would make the speed negative: it is measured anew from here.
    const samples = known.some((sample) => sample.settled > settled) ? [] : recent(known, at)
    this.#remember(parent, samples, { at, settled })
    const [first] = samples
    const now = { at, settled }
    if (!first || at <= first.at) return null
    const perSecond = speed(first, now)
    const quietMs = at - (samples.find((sample) => sample.settled === settled)?.at ?? at)
    const isStalled = quietMs >= stalledMs && (settled - first.settled) * (quietMs / (at - first.at)) >= missedMin
    return { perSecond, spread: spreadOf([...samples, now]), isStalled }
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

function speed(one: Sample, other: Sample): number {
  return ((other.settled - one.settled) * 1_000) / (other.at - one.at)
}

function spreadOf(samples: readonly Sample[]): Rate['spread'] {
  if (samples.length <= partsMin) return null
  const ends = Array.from({ length: partsMin + 1 }, (_, part) => {
    return samples[Math.round((part * (samples.length - 1)) / partsMin)] as Sample
  })
  const speeds = ends.slice(1).flatMap((end, part) => (end.at > ends[part]!.at ? speed(ends[part]!, end) : []))
  return speeds.length < partsMin ? null : { slowest: Math.min(...speeds), fastest: Math.max(...speeds) }
}

/** The last look stays whatever its age: an old one is better than none. */
function recent(samples: readonly Sample[], at: number): readonly Sample[] {
  const kept = samples.filter((sample) => at - sample.at <= windowMs)
  return kept.length > 0 ? kept : samples.slice(-1)
}
