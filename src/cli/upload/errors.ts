import type { Host } from '../host.ts'
import { plain, table } from '../text.ts'
import { batchOf } from './batch.ts'
import { openToLook, type Place } from './place.ts'
import { commandFor } from './report.ts'

export interface ErrorsOptions extends Place {
  readonly after?: number
  readonly limit?: number
  readonly json?: boolean
}

/** A page of the items that failed, in the order of their ids. */
export async function errors(id: number, options: ErrorsOptions, { terminal, environment }: Host): Promise<number> {
  const opened = await openToLook(options, environment)
  try {
    await batchOf(opened, id)
    const { after, limit = 20 } = options
    const { upload, control } = opened
    const page = await upload.errors(control, id, { limit, ...(after === undefined ? {} : { after }) })
    if (options.json) terminal.out(`${JSON.stringify(page)}\n`)
    else if (page.errors.length === 0)
      terminal.out(`Batch ${id} has no ${after === undefined ? '' : 'more '}failed items.\n`)
    else {
      const rows = page.errors.map(({ itemIndex, offset, hnId, errorType, reason, errorMessage }) => [
        itemIndex,
        offset,
        hnId ?? '–',
        plain(errorType, 20),
        plain(reason, 40),
        plain(errorMessage, 160),
      ])
      const lines = table([['item', 'byte', 'hnId', 'kind', 'reason', 'message'], ...rows], '')
      terminal.out(`${lines.join('\n')}\n`)
      if (page.next !== null) {
        const more = commandFor(options, 'upload', 'errors', `${id}`, '--after', `${page.next}`, '--limit', `${limit}`)
        terminal.err(`There are more: ${more}\n`)
      }
    }
    return 0
  } finally {
    await opened.close()
  }
}
