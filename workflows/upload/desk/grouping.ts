import type { ItemData } from '../item-data.ts'
import type { Places } from './wire.ts'

/**
 * Gathers calls for single items into calls for many. All items that a claim brought ask in the same turn of the event
 * loop, so what was gathered by its end goes out together: no timer, and an item that comes alone does not wait.
 */
export class Grouping<Answer, Group> {
  #open: OpenGroup<Group> | null = null
  readonly #ask: (places: Places) => Promise<Group>
  readonly #pick: (group: Group, position: number) => Answer
  readonly #max: number

  constructor(ask: (places: Places) => Promise<Group>, pick: (group: Group, position: number) => Answer, max: number) {
    this.#ask = ask
    this.#pick = pick
    this.#max = max
  }

  add(entity: number, item: ItemData): Promise<Answer> {
    this.#open ??= this.#begin()
    const group = this.#open
    const position = group.items.push({ entity, item }) - 1
    if (group.items.length >= this.#max) this.#send(group)
    return group.answered.then((answers) => this.#pick(answers, position))
  }

  #begin(): OpenGroup<Group> {
    const { promise, resolve } = Promise.withResolvers<Group>()
    const group = { items: [], answered: promise, resolve }
    queueMicrotask(() => this.#send(group))
    return group
  }

  #send(group: OpenGroup<Group>): void {
    if (this.#open !== group) return
    this.#open = null
    group.resolve(this.#ask(placesOf(group.items)))
  }
}

interface OpenGroup<Group> {
  readonly items: { readonly entity: number; readonly item: ItemData }[]
  readonly answered: Promise<Group>
  readonly resolve: (group: Promise<Group>) => void
}

export function placesOf(items: readonly { readonly entity: number; readonly item: ItemData }[]): Places {
  const count = items.length
  const places = {
    entities: new Float64Array(count),
    batches: new Float64Array(count),
    files: new Uint32Array(count),
    offsets: new Float64Array(count),
    lengths: new Uint32Array(count),
  }
  items.forEach(({ entity, item }, position) => {
    places.entities[position] = entity
    places.batches[position] = item.batchId
    places.files[position] = item.file
    places.offsets[position] = item.offset
    places.lengths[position] = item.length
  })
  return places
}
