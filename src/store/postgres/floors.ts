/** So long a claim may begin where the one before it ended. */
const floorMs = 250
const floorsMax = 1_000

interface Place {
  readonly rank: number
  readonly id: number
}

interface Floor extends Place {
  /** When the line was last read from its head. */
  readonly since: number
}

/**
 * How far this process has emptied each line. At the head of a line stand those who run, in this process or another: a claim that begins
 * behind its last one does not pass by thousands of them to find the first who is free. Whoever enters in front of a floor (somebody
 * urgent, or given back) is announced, and all floors are forgotten; if the announcement is lost they are soon forgotten anyway.
 */
export class Floors {
  readonly #floors = new Map<number, Floor>()
  /** Floors are kept only where somebody hears the announcements of others. */
  isKept = false
  #version = 0

  /** Rises with every announcement. */
  get version(): number {
    return this.#version
  }

  of(line: number, now: number): Floor | null {
    const floor = this.#floors.get(line) ?? null
    return floor && now - floor.since < floorMs && now >= floor.since ? floor : null
  }

  /** Unless something was announced since the claim began, of that version. */
  raise(line: number, { rank, id }: Place, since: number, version: number): void {
    if (!this.isKept || version !== this.#version) return
    if (this.#floors.size >= floorsMax) this.#floors.clear()
    this.#floors.set(line, { rank, id, since })
  }

  forget(line: number): void {
    this.#floors.delete(line)
  }

  forgetAll(): void {
    this.#version += 1
    this.#floors.clear()
  }
}
