import type { Host } from '../host.ts'
import { plain, table } from '../text.ts'
import { type JobPlace, lookCommand, openToLook } from './place.ts'

export interface WarningsOptions extends JobPlace {
  readonly after?: number
  readonly limit?: number
  readonly json?: boolean
}

/** A page of the chunks that have said something odd. */
export async function warnings(id: number, options: WarningsOptions, { terminal, environment }: Host): Promise<number> {
  const { after, limit = 20 } = options
  const { chunked, control, close } = await openToLook(options, environment)
  try {
    const page = await chunked.warnings(control, id, { limit, ...(after === undefined ? {} : { after }) })
    if (options.json) terminal.out(`${JSON.stringify(page)}\n`)
    else if (page.chunks.length === 0) terminal.out(`Job ${id} has no ${after === undefined ? '' : 'more '}warnings.\n`)
    else {
      const rows = page.chunks.flatMap(({ id: chunk, step, warnings: said }) =>
        said.map((warning, index) => (index === 0 ? [`${chunk}`, step, plain(warning)] : ['', '', plain(warning)])),
      )
      terminal.out(`${table([['chunk', 'step', 'warning'], ...rows], '').join('\n')}\n`)
      if (page.next !== null) {
        const more = lookCommand(options, 'warnings', `${id}`, '--limit', `${limit}`, '--after', `${page.next}`)
        terminal.err(`There may be more: ${more}\n`)
      }
    }
    return 0
  } finally {
    await close()
  }
}
