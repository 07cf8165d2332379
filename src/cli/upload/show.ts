import type { UploadBatchView } from 'sluice/upload'
import { durationOf } from '../figures.ts'
import type { Host } from '../host.ts'
import { momentOf } from '../moment.ts'
import { sizeOf } from '../size.ts'
import { plain, table } from '../text.ts'
import { batchOf } from './batch.ts'
import { openToLook, type Place } from './place.ts'
import { detailsOf } from './report.ts'

export interface ShowOptions extends Place {
  readonly json?: boolean
}

export async function show(id: number, options: ShowOptions, host: Host): Promise<number> {
  const { terminal, environment } = host
  const opened = await openToLook(options, environment)
  try {
    const view = await batchOf(opened, id)
    const text = options.json ? JSON.stringify(view) : [...factsOf(view, host), ...detailsOf(view, options)].join('\n')
    terminal.out(`${text}\n`)
    return 0
  } finally {
    await opened.close()
  }
}

function factsOf(view: UploadBatchView, host: Host): readonly string[] {
  const { processingStartedAt: from, processingCompletedAt: to } = view
  const rows: readonly (readonly [string, string | null])[] = [
    ['file', `${plain(view.fileName, 200)} (${sizeOf(view.fileSize)}, ${plain(view.contentType, 60)})`],
    ['sha256', view.sha256],
    ['md5', view.fileMd5Hash],
    ['uploaded', `${momentOf(view.uploadedAt, host)} by ${plain(view.uploadedBy, 100)}`],
    ['started', from ? momentOf(from, host) : null],
    ['ended', to ? `${momentOf(to, host)}${from ? `, after ${durationOf(to - from)}` : ''}` : null],
    ['failures', view.retryCount ? `${view.retryCount}, the last ${momentOf(view.lastRetryAt, host)}` : null],
  ]
  return [
    `Batch ${view.id} is ${view.state.replaceAll('_', ' ')}. ${plain(view.sentence)}`,
    '',
    ...table(rows.filter((row): row is [string, string] => row[1] !== null)),
    '',
  ]
}
