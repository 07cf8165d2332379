import { type Control, isSluiceError, SluiceError } from 'sluice'
import { uploadBatch } from './batch-machine.ts'
import type { ThreadDesk } from './desk/thread-desk.ts'
import type { KnownPlace } from './desk/wire.ts'
import { itemCounts } from './item-counts.ts'
import type { ItemData } from './item-data.ts'
import { uploadItem } from './item-machine.ts'

/** Batches and items that are looked at: the newest, as an older copy of the catalogue lacks these. */
const batchesMax = 10
const itemsMax = 10

const advice = 'Build it anew: sluice upload rebuild-index.'

/**
 * Throws if the catalogue does not belong to the store. It was lost, or is an older copy, if an item that the store has as completed is not
 * in it. It has outlived its store if the store does not know who put its rows. Otherwise searches would find nothing, known
 * items would count as new, and new ones as duplicates.
 */
export async function checkCatalogue(control: Control, desk: ThreadDesk): Promise<void> {
  const hnIds = await completedLately(control)
  const { known, places } = await desk.ask('evidence', { hnIds })
  const missing = hnIds.find((_, index) => !known[index])
  if (missing !== undefined) {
    throw new SluiceError(
      'conflict',
      `The search index was lost, or it is older than the store: item ${missing} is completed and not in it. ${advice}`,
      { hnId: missing },
    )
  }
  for (const place of places) {
    if (await isInStore(control, place)) continue
    throw new SluiceError(
      'conflict',
      `The search index belongs to another store, or to a newer state of this one: the store does not know who put item ${place.hnId} into it. ${advice}`,
      { hnId: place.hnId },
    )
  }
}

async function completedLately(control: Control): Promise<number[]> {
  const { entities } = await control.list({ machine: uploadBatch.name, newestFirst: true, limit: batchesMax })
  for (const { id } of entities) {
    if (itemCounts(await control.lanes(id), 0).completed === 0) continue
    const items = await control.list({ parent: id, states: ['completed'], limit: itemsMax })
    return items.entities.flatMap(({ data }) => (data as ItemData).hnId ?? [])
  }
  return []
}

async function isInStore(control: Control, { entity, batch, hnId }: KnownPlace): Promise<boolean> {
  try {
    const { machine, data } = await control.get(entity)
    const item = data as ItemData
    return machine === uploadItem.name && item.batchId === batch && item.hnId === hnId
  } catch (error) {
    if (isSluiceError(error, 'not_found')) return false
    throw error
  }
}
