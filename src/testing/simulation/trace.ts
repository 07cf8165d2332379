/** Put into words only when somebody asks: most traces are never read. */
type Detail = () => string

/** What happened, for people (the last events) and for comparing two runs (a number over all of them). */
export class Trace {
  readonly #events: (readonly [at: number, who: string, what: string, detail: Detail | null])[] = []
  readonly #kept: number
  #next = 0
  #hash = 0x811c9dc5

  constructor(kept = 200) {
    this.#kept = kept
  }

  note(at: number, who: string, what: string, detail: Detail | null = null): void {
    this.#events[this.#next] = [at, who, what, detail]
    this.#next = (this.#next + 1) % this.#kept
    this.mix(at)
    this.mixText(what)
  }

  /** FNV-1a over everything that was noted: equal runs have equal numbers. */
  mix(number: number): void {
    this.#hash = Math.imul(this.#hash ^ (number | 0), 0x01000193)
  }

  mixText(text: string): void {
    let hash = this.#hash
    for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
    this.#hash = hash
  }

  get hash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, '0')
  }

  /** Oldest first. */
  lines(): readonly string[] {
    const events = [...this.#events.slice(this.#next), ...this.#events.slice(0, this.#next)]
    return events.map(([at, who, what, detail]) =>
      `${String(at).padStart(9)} ${who.padEnd(8)} ${what} ${detail?.() ?? ''}`.trimEnd(),
    )
  }
}
