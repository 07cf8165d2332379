/**
 * Chance that can be had again: the same seed gives the same numbers on every machine. sfc32, small and quick, and good
 * enough that no test of ours can tell it from chance.
 */
export class Random {
  #a: number
  #b: number
  #c: number
  #counter = 1

  constructor(seed: number) {
    // Neighbouring seeds must not give alike beginnings: each word is mixed, and the first dozen numbers are thrown away.
    this.#a = mix(seed >>> 0)
    this.#b = mix(this.#a ^ Math.floor(seed / 2 ** 32))
    this.#c = mix(this.#b)
    for (let round = 0; round < 12; round++) this.next()
  }

  /** A number in [0, 1). */
  next(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0
    this.#counter = (this.#counter + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0
    return (sum >>> 0) / 2 ** 32
  }

  /** A whole number in [0, end). */
  below(end: number): number {
    return Math.floor(this.next() * end)
  }

  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1)
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T
  }

  /** One of the names, each as likely as its weight says. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const entries = Object.entries<number>(weights) as [Name, number][]
    let rest = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [name, weight] of entries) {
      rest -= weight
      if (rest < 0) return name
    }
    return entries.at(-1)![0]
  }
}

function mix(word: number): number {
  let mixed = (word + 0x9e3779b9) | 0
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
  return mixed ^ (mixed >>> 15)
}
