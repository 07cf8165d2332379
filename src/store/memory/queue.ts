import type { EntityId } from '../../entity.ts'

/** Where an entity stands in a queue: by a number (a rank, a time), then by id. */
export interface Standing {
  readonly order: number
  readonly id: EntityId
}

/** Small enough that inserting into one costs little, big enough that there are few of them. */
const chunkMax = 512

/** Entities in order. Kept as a list of sorted chunks, so that adding and removing stay cheap with many entities. */
export class Queue {
  readonly #chunks: Standing[][] = []
  #size = 0

  get size(): number {
    return this.#size
  }

  first(): Standing | undefined {
    return this.#chunks[0]?.[0]
  }

  add(order: number, id: EntityId): void {
    const standing = { order, id }
    const index = Math.min(this.#chunkOf(standing), this.#chunks.length - 1)
    const chunk = this.#chunks[index]
    if (!chunk) {
      this.#chunks.push([standing])
      this.#size = 1
      return
    }
    const position = positionIn(chunk, standing)
    const there = chunk[position]
    if (there && compare(there, standing) === 0) return
    chunk.splice(position, 0, standing)
    if (chunk.length > chunkMax) this.#chunks.splice(index + 1, 0, chunk.splice(chunkMax / 2))
    this.#size += 1
  }

  remove(order: number, id: EntityId): void {
    const standing = { order, id }
    const index = this.#chunkOf(standing)
    const chunk = this.#chunks[index]
    if (!chunk) return
    const position = positionIn(chunk, standing)
    const there = chunk[position]
    if (!there || compare(there, standing) !== 0) return
    chunk.splice(position, 1)
    if (chunk.length === 0) this.#chunks.splice(index, 1)
    this.#size -= 1
  }

  /** In order, behind this standing. The queue must not change meanwhile. */
  *behind(standing: Standing): Generator<Standing, undefined> {
    for (let index = this.#chunkOf(standing); index < this.#chunks.length; index += 1) {
      for (const next of this.#chunks[index]!) if (compare(next, standing) > 0) yield next
    }
  }

  /** In reverse order, before this standing. The queue must not change meanwhile. */
  *before(standing: Standing): Generator<Standing, undefined> {
    for (let index = Math.min(this.#chunkOf(standing), this.#chunks.length - 1); index >= 0; index -= 1) {
      const chunk = this.#chunks[index]!
      for (let position = chunk.length - 1; position >= 0; position -= 1) {
        const next = chunk[position]!
        if (compare(next, standing) < 0) yield next
      }
    }
  }

  *[Symbol.iterator](): Generator<Standing, undefined> {
    for (const chunk of this.#chunks) yield* chunk
  }

  /** The first chunk that does not end before this standing. */
  #chunkOf(standing: Standing): number {
    let low = 0
    let high = this.#chunks.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (compare(this.#chunks[middle]!.at(-1)!, standing) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** The first position in the chunk that is not before this standing. */
function positionIn(chunk: readonly Standing[], standing: Standing): number {
  let low = 0
  let high = chunk.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (compare(chunk[middle]!, standing) < 0) low = middle + 1
    else high = middle
  }
  return low
}

export function compare(one: Standing, other: Standing): number {
  return one.order - other.order || one.id - other.id
}
