/** Chance from a seed: the same seed gives the same kills at the same points (only the machine's timing is not repeated). */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed | 0
  }

  /** In [0, 1). mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  shuffled<T>(items: readonly T[]): readonly T[] {
    const shuffled = [...items]
    for (let last = shuffled.length - 1; last > 0; last -= 1) {
      const other = this.between(0, last)
      ;[shuffled[last], shuffled[other]] = [shuffled[other]!, shuffled[last]!]
    }
    return shuffled
  }
}
