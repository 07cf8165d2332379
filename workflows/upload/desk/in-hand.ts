import type { HNItem } from '../hn-item.ts'

/** Those of a few groups, not those of a file. */
const itemsMax = 16_384
const bytesMax = 16 * 1024 ** 2

/** Items that were loaded and not yet indexed, by entity. What it gives up, the oldest first, is read again when it is needed. */
export class InHand {
  readonly #byEntity = new Map<number, { readonly item: HNItem; readonly bytes: number }>()
  #bytes = 0

  of(entity: number): HNItem | undefined {
    return this.#byEntity.get(entity)?.item
  }

  keep(entity: number, item: HNItem, bytes: number): void {
    this.drop(entity)
    this.#byEntity.set(entity, { item, bytes })
    this.#bytes += bytes
    for (const oldest of this.#byEntity.keys()) {
      if (this.#byEntity.size <= itemsMax && this.#bytes <= bytesMax) return
      this.drop(oldest)
    }
  }

  drop(entity: number): void {
    const held = this.#byEntity.get(entity)
    if (!held) return
    this.#bytes -= held.bytes
    this.#byEntity.delete(entity)
  }
}
