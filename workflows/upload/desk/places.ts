import type { ItemData } from '../item-data.ts'
import type { Repeat } from './file-repeats.ts'
import type { Places } from './wire.ts'

/** An item as the desk is asked about it. */
export interface PlacedItem {
  readonly entity: { readonly id: number }
  readonly data: ItemData
}

/** Where the items lie, as arrays: they reach another thread as a few blocks of bytes. */
export function placesOf(items: readonly PlacedItem[]): Places {
  const count = items.length
  const places = {
    entities: new Float64Array(count),
    batches: new Float64Array(count),
    files: new Uint32Array(count),
    offsets: new Float64Array(count),
    lengths: new Uint32Array(count),
    repeats: [] as Repeat[],
  }
  for (let position = 0; position < count; position += 1) {
    const { entity, data } = items[position] as PlacedItem
    places.entities[position] = entity.id
    places.batches[position] = data.batchId
    places.files[position] = data.file
    places.offsets[position] = data.offset
    places.lengths[position] = data.length
    if (data.earlier) places.repeats.push({ position, earlier: data.earlier })
  }
  return places
}
