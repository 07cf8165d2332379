/** The answers of operations, kept for a while: whoever lost an answer repeats the operation and gets the same. */
export class Operations {
  readonly #answers = new Map<string, { readonly at: number; readonly answer: unknown }>()
  readonly #keptMs: number

  constructor(keptMs: number) {
    this.#keptMs = keptMs
  }

  /** What was answered, or what `act` answers now. */
  once<Answer>(operation: string, now: number, act: () => Answer): Answer {
    this.#expire(now)
    const known = this.#answers.get(operation)
    if (known) return known.answer as Answer
    const answer = act()
    this.#answers.set(operation, { at: now, answer })
    return answer
  }

  /** Time never steps back, so the oldest stand first. */
  #expire(now: number): void {
    for (const [operation, { at }] of this.#answers) {
      if (now - at < this.#keptMs) return
      this.#answers.delete(operation)
    }
  }
}
