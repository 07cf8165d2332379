import type { EntityId } from '../entity.ts'

/** So many of the latest are remembered: whoever submits one and waits for it asks at once. */
const keptMax = 256

/** Roots that this process has just submitted. */
export class Newborns {
  readonly #ids = new Float64Array(keptMax).fill(-1)
  #next = 0

  add(id: EntityId): void {
    this.#ids[this.#next] = id
    this.#next = (this.#next + 1) % keptMax
  }

  /** True once. */
  take(id: EntityId): boolean {
    const place = this.#ids.indexOf(id)
    if (place < 0) return false
    this.#ids[place] = -1
    return true
  }
}
