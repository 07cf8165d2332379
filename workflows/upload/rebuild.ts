import type { Control } from 'sluice'
import type { BatchData } from './batch-data.ts'
import { uploadBatch } from './batch-machine.ts'
import { placesOf } from './desk/places.ts'
import type { ThreadDesk } from './desk/thread-desk.ts'
import { itemCounts } from './item-counts.ts'
import type { ItemData } from './item-data.ts'
import { uploadItem } from './item-machine.ts'

/**
 * Reads every completed and every skipped item again and puts it into a new catalogue, which takes the old one's place at the end. Items
 * are taken in the order of their ids. A skipped item adds nothing as long as the item that it repeats is completed; if that one
 * failed for another reason than its content, the skipped one holds the document.
 */
export async function rebuildCatalogue(
  control: Control,
  desk: ThreadDesk,
  groupMax: number,
  onProgress: (done: number, total: number) => void,
): Promise<{ readonly documents: number }> {
  await desk.ask('beginRebuild', null)
  try {
    await putAll(control, desk, groupMax, onProgress)
    return { documents: await desk.ask('finishRebuild', null) }
  } catch (error) {
    // The old catalogue stays as it was.
    await desk.ask('abandonRebuild', null).catch(() => {})
    throw error
  }
}

async function putAll(
  control: Control,
  desk: ThreadDesk,
  groupMax: number,
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  const total = await prepare(control, desk)
  let done = 0
  let after: number | undefined
  for (;;) {
    const page = await control.list({
      machine: uploadItem.name,
      states: ['completed', 'skipped'],
      limit: groupMax,
      ...(after === undefined ? {} : { after }),
    })
    const items = page.entities.map(({ id, data }) => ({ entity: { id }, data: data as ItemData }))
    if (items.length > 0) done += await desk.ask('rebuildWith', placesOf(items))
    onProgress(done, Math.max(done, total))
    if (page.next === null) return
    after = page.next
  }
}

/**
 * From the tallies of the batches: counting items one by one would take as long as the rebuild. On the way the catalogue is told again
 * which file each number means, for items name their files by number and the catalogue may be a new one.
 */
async function prepare(control: Control, desk: ThreadDesk): Promise<number> {
  let total = 0
  let after: number | undefined
  for (;;) {
    const page = await control.list({
      machine: uploadBatch.name,
      limit: 100,
      ...(after === undefined ? {} : { after }),
    })
    for (const { id, data } of page.entities) {
      const { file, sha256 } = data as BatchData
      await desk.ask('register', { number: file, sha256 })
      const { completed, skipped } = itemCounts(await control.lanes(id), 0)
      total += completed + skipped
    }
    if (page.next === null) return total
    after = page.next
  }
}
