import type { Host } from '../host.ts'
import { openToSearch, type Place } from './place.ts'
import { threadLines } from './thread-lines.ts'

export interface ThreadOptions extends Place {
  readonly depth?: number
  readonly limit?: number
  readonly json?: boolean
}

/** An item with all that is above and below it. */
export async function thread(hnId: number, options: ThreadOptions, { terminal, environment }: Host): Promise<number> {
  const { upload, control, close } = await openToSearch(options, environment)
  try {
    await upload.checkCatalogue(control)
    const { depth = 32, limit = 100 } = options
    const above = await upload.ancestors(hnId, { depthMax: depth })
    const below = await upload.descendants(hnId, { depthMax: depth, limit })
    if (options.json) terminal.out(`${JSON.stringify({ ancestors: above, descendants: below })}\n`)
    else {
      terminal.out(`${threadLines(above.found, below.item, below.found).join('\n')}\n`)
      if (below.next !== null) terminal.err(`There are more answers than ${limit}: see --limit.\n`)
    }
    return 0
  } finally {
    await close()
  }
}
