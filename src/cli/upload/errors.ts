import type { BatchError, ErrorPage } from 'sluice/upload'
import { SluiceError } from '../../errors.ts'
import type { Host } from '../host.ts'
import { plain, table } from '../text.ts'
import { batchOf } from './batch.ts'
import { csvLine } from './csv.ts'
import { openToLook, type Place } from './place.ts'
import { commandFor } from './report.ts'

export interface ErrorsOptions extends Place {
  readonly after?: number
  readonly limit?: number
  readonly json?: boolean
  readonly csv?: boolean
}

const pageDefault = 20
/** Of pages that are read one after another. */
const pageMax = 1_000

/** The items that failed, in the order of their ids: a page of them, or as CSV all of them. */
export async function errors(id: number, options: ErrorsOptions, { terminal, environment }: Host): Promise<number> {
  const { json = false, csv = false } = options
  if (json && csv) throw new SluiceError('invalid', 'Take --json or --csv.')
  const opened = await openToLook(options, environment)
  try {
    await batchOf(opened, id)
    const { upload, control } = opened
    const read = (limit: number, after: number | undefined) =>
      upload.errors(control, id, { limit, ...(after === undefined ? {} : { after }) })
    if (csv && options.limit === undefined) {
      terminal.out(csvLine(csvTitles))
      for (let after = options.after; ; ) {
        const page = await read(pageMax, after)
        terminal.out(page.errors.map((error) => csvLine(csvCells(error))).join(''))
        if (page.next === null) return 0
        after = page.next
      }
    }
    const limit = options.limit ?? pageDefault
    const page = await read(limit, options.after)
    if (json) terminal.out(`${JSON.stringify(page)}\n`)
    else if (csv) terminal.out([csvTitles, ...page.errors.map(csvCells)].map(csvLine).join(''))
    else terminal.out(textOf(id, page, options))
    if (page.next !== null && !json) {
      const words = ['--after', `${page.next}`, '--limit', `${limit}`, ...(csv ? ['--csv'] : [])]
      terminal.err(`There are more: ${commandFor(options, 'upload', 'errors', `${id}`, ...words)}\n`)
    }
    return 0
  } finally {
    await opened.close()
  }
}

function textOf(id: number, page: ErrorPage, { after }: ErrorsOptions): string {
  if (page.errors.length === 0) return `Batch ${id} has no ${after === undefined ? '' : 'more '}failed items.\n`
  const rows = page.errors.map(({ itemIndex, offset, hnId, errorType, reason, errorMessage }) => [
    // Texts: what is typed again, or looked for in a file, has no commas in it.
    String(itemIndex),
    String(offset),
    String(hnId ?? '–'),
    plain(errorType, 20),
    plain(reason, 40),
    plain(errorMessage),
  ])
  return `${table([['item', 'byte', 'hnId', 'kind', 'reason', 'message'], ...rows], '').join('\n')}\n`
}

const csvTitles = ['itemIndex', 'offset', 'hnId', 'errorType', 'reason', 'errorMessage', 'occurredAt', 'retryCount']

function csvCells(error: BatchError): readonly string[] {
  const { itemIndex, offset, hnId, errorType, reason, errorMessage, occurredAt, retryCount } = error
  const when = new Date(occurredAt).toISOString()
  return [`${itemIndex}`, `${offset}`, `${hnId ?? ''}`, errorType, reason, errorMessage, when, `${retryCount}`]
}
