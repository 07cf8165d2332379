import { EntitySlots } from '../entity-slots.ts'
import type { HNItem } from '../hn-item.ts'

const bytesMax = 16 * 1024 ** 2

/** Items that were loaded and not yet indexed, by entity. What it gives up is read again when it is needed. */
export class InHand {
  readonly #slots = new EntitySlots()
  readonly #items = new Array<HNItem | null>(this.#slots.count).fill(null)
  readonly #lengths = new Float64Array(this.#slots.count)
  #bytes = 0
  /** The slot that is given up next: they are taken in about the order of their numbers. */
  #oldest = 0

  of(entity: number): HNItem | undefined {
    const slot = this.#slots.of(entity)
    return slot < 0 ? undefined : (this.#items[slot] ?? undefined)
  }

  keep(entity: number, item: HNItem, bytes: number): void {
    const slot = this.#slots.take(entity)
    this.#bytes += bytes - this.#lengths[slot]!
    this.#items[slot] = item
    this.#lengths[slot] = bytes
    // One that is too big by itself is not kept at all.
    if (bytes > bytesMax) this.#empty(slot)
    while (this.#bytes > bytesMax) {
      if (this.#oldest !== slot) this.#empty(this.#oldest)
      this.#oldest = (this.#oldest + 1) % this.#slots.count
    }
  }

  drop(entity: number): void {
    const slot = this.#slots.of(entity)
    if (slot >= 0) this.#empty(slot)
  }

  #empty(slot: number): void {
    this.#slots.free(slot)
    this.#bytes -= this.#lengths[slot]!
    this.#items[slot] = null
    this.#lengths[slot] = 0
  }
}
