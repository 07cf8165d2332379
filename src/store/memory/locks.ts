/** Row locks as a database has them: held until the end of a transaction, given on in the order of asking. */
export class Locks {
  readonly #waiting = new Map<string, (() => void)[]>()

  isHeld(key: string): boolean {
    return this.#waiting.has(key)
  }

  /** Null: it is yours already. Otherwise it is once this resolves. */
  take(key: string): Promise<void> | null {
    const waiting = this.#waiting.get(key)
    if (waiting) return new Promise((resolve) => waiting.push(resolve))
    this.#waiting.set(key, [])
    return null
  }

  give(key: string): void {
    const next = this.#waiting.get(key)?.shift()
    if (next) next()
    else this.#waiting.delete(key)
  }
}
