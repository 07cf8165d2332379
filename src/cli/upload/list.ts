import { type BatchData, uploadBatch } from 'sluice/upload'
import type { Host } from '../host.ts'
import { shortMomentOf } from '../moment.ts'
import { plain, table } from '../text.ts'
import { openToLook, type Place } from './place.ts'
import { commandFor } from './report.ts'

export interface ListOptions extends Place {
  readonly after?: number
  readonly limit?: number
  readonly json?: boolean
}

/** The batches, the newest first, with the names of their files. Counts are those that each batch noted last. */
export async function list(options: ListOptions, host: Host): Promise<number> {
  const { after, limit = 20 } = options
  const { control, close } = await openToLook(options, host.environment)
  try {
    const newest = { machine: uploadBatch.name, newestFirst: true, limit, ...(after === undefined ? {} : { after }) }
    const { entities, next } = await control.list(newest)
    const batches = entities.map(({ id, state, data }) => ({ id, state, ...factsOf(data as BatchData) }))
    if (options.json) host.terminal.out(`${JSON.stringify({ batches, next })}\n`)
    else if (batches.length === 0) host.terminal.out('There are no batches.\n')
    else {
      const rows = batches.map(({ id, state, fileName, total, failed, uploadedAt, uploadedBy }) => [
        String(id),
        state.replaceAll('_', ' '),
        plain(fileName, 60),
        total ?? '–',
        failed ?? '–',
        shortMomentOf(uploadedAt, host),
        plain(uploadedBy, 30),
      ])
      const titles = ['id', 'state', 'file', 'items', 'failed', 'uploaded', 'by']
      host.terminal.out(`${table([titles, ...rows], '').join('\n')}\n`)
    }
    if (next !== null && !options.json) {
      host.terminal.err(`There may be more: ${commandFor(options, 'upload', 'list', '--after', `${next}`)}\n`)
    }
    return 0
  } finally {
    await close()
  }
}

function factsOf({ fileName, uploadedBy, collection, received, ...data }: BatchData) {
  const { totalItemsInFile: total = null, itemsErrored: failed = null } = data
  return { fileName, total, failed, uploadedAt: received.at, uploadedBy, collection: collection ?? null }
}
