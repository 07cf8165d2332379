/** Chance that is the same for the same seed (mulberry32): small, fast, and good enough to make up items. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed | 0
  }

  /** From 0 up to, not including, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  /** A whole number from 0 up to, not including, the bound. */
  below(bound: number): number {
    return Math.floor(this.next() * bound)
  }

  happens(share: number): boolean {
    return this.next() < share
  }

  pick<Value>(values: readonly Value[]): Value {
    return values[this.below(values.length)]!
  }

  /** Mostly small, sometimes very big, as lengths and scores are. */
  skewed(mean: number): number {
    return Math.floor(-Math.log(1 - this.next()) * mean)
  }

  shuffle<Value>(values: Value[]): void {
    for (let last = values.length - 1; last > 0; last -= 1) {
      const other = this.below(last + 1)
      const value = values[last]!
      values[last] = values[other]!
      values[other] = value
    }
  }
}
