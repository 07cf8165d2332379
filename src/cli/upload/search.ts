import type { ItemType, SearchQuery } from 'sluice/upload'
import type { Host } from '../host.ts'
import { commandLine, table } from '../text.ts'
import { cellsOf, cellTitles } from './item-line.ts'
import { openToSearch, type Place } from './place.ts'

export interface SearchOptions extends Place {
  readonly text?: string
  readonly type?: readonly string[]
  readonly author?: string
  readonly minScore?: number
  readonly maxScore?: number
  readonly from?: number
  readonly to?: number
  readonly parent?: number
  readonly descendants?: boolean
  readonly roots?: boolean
  readonly sort?: SearchQuery['sortBy']
  readonly order?: SearchQuery['sortOrder']
  readonly limit?: number
  readonly after?: string
  readonly json?: boolean
}

export async function search(options: SearchOptions, { terminal, words, environment }: Host): Promise<number> {
  const { upload, control, close } = await openToSearch(options, environment)
  try {
    await upload.checkCatalogue(control)
    const page = await upload.search(queryOf(options))
    if (options.json) terminal.out(`${JSON.stringify(page)}\n`)
    else if (page.found.length === 0) terminal.out('Nothing was found.\n')
    else terminal.out(`${table([cellTitles, ...page.found.map(cellsOf)], '').join('\n')}\n`)
    if (!options.json && page.next !== null) {
      const before = words.filter((word, index) => word !== '--after' && words[index - 1] !== '--after')
      terminal.err(`There are more: ${commandLine(['sluice', ...before, '--after', page.next])}\n`)
    }
    return 0
  } finally {
    await close()
  }
}

/** The words of the command as the catalogue's; whether they make sense is for it to say. */
function queryOf(options: SearchOptions): SearchQuery {
  const { text, type, author, minScore, maxScore, from, to, parent, descendants, roots, sort, order, limit, after } =
    options
  const query: Readonly<Record<keyof SearchQuery, unknown>> = {
    text,
    types: type as readonly ItemType[] | undefined,
    author,
    minScore,
    maxScore,
    fromTime: from,
    toTime: to,
    parentId: parent,
    includeDescendants: descendants,
    maxDepth: undefined,
    rootItemsOnly: roots,
    sortBy: sort,
    sortOrder: order,
    limit,
    after,
  }
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined))
}
