/** How fast something goes, lately: over the last few seconds, so that a slow beginning is soon forgotten. */
export class Pace {
  readonly #windowMs: number
  #points: { readonly done: number; readonly at: number }[] = []

  constructor(windowMs = 5_000) {
    this.#windowMs = windowMs
  }

  reset(): void {
    this.#points = []
  }

  add(done: number, at: number): void {
    const last = this.#points.at(-1)
    // A handful of points per second will do, however often we are told.
    const isClose = last && this.#points.length > 1 && at - this.#points.at(-2)!.at < this.#windowMs / 25
    if (isClose) this.#points.pop()
    this.#points.push({ done, at })
    while (this.#points.length > 2 && this.#points[1]!.at <= at - this.#windowMs) this.#points.shift()
  }

  /** Null: too early to tell. */
  get perSecond(): number | null {
    const [first, last] = [this.#points[0], this.#points.at(-1)]
    if (!first || !last || last.at - first.at < 200 || last.done <= first.done) return null
    return ((last.done - first.done) / (last.at - first.at)) * 1_000
  }
}

/**
 * How long a log waits for the next line of a phase that has lasted this long: two seconds at first, so that a short run is seen to go on, and
 * a tenth of the time later, so that a run of hours does not fill the log.
 */
export function lineGapMs(elapsedMs: number): number {
  return Math.min(60_000, Math.max(2_000, elapsedMs / 10))
}
