import type { UploadBatchView } from 'sluice/upload'
import { durationOf, timeOf } from '../figures.ts'
import type { Host } from '../host.ts'
import { sizeOf } from '../size.ts'
import { plain, table } from '../text.ts'
import { batchOf } from './batch.ts'
import { openToLook, type Place } from './place.ts'
import { detailsOf } from './report.ts'

export interface ShowOptions extends Place {
  readonly json?: boolean
}

export async function show(id: number, options: ShowOptions, { terminal, environment }: Host): Promise<number> {
  const opened = await openToLook(options, environment)
  try {
    const view = await batchOf(opened, id)
    const text = options.json ? JSON.stringify(view) : [...factsOf(view), ...detailsOf(view, options)].join('\n')
    terminal.out(`${text}\n`)
    return 0
  } finally {
    await opened.close()
  }
}

function factsOf(view: UploadBatchView): readonly string[] {
  const { processingStartedAt: from, processingCompletedAt: to } = view
  const rows: readonly (readonly [string, string | null])[] = [
    ['file', `${plain(view.fileName, 200)} (${sizeOf(view.fileSize)}, ${plain(view.contentType, 60)})`],
    ['sha256', view.sha256],
    ['md5', view.fileMd5Hash],
    ['uploaded', `${timeOf(view.uploadedAt)} by ${plain(view.uploadedBy, 100)}`],
    ['started', from ? timeOf(from) : null],
    ['ended', to ? `${timeOf(to)}${from ? `, after ${durationOf(to - from)}` : ''}` : null],
    ['retries', view.retryCount ? `${view.retryCount}, the last ${timeOf(view.lastRetryAt)}` : null],
  ]
  return [
    `Batch ${view.id} is ${view.state.replaceAll('_', ' ')}. ${plain(view.sentence)}`,
    '',
    ...table(rows.filter((row): row is [string, string] => row[1] !== null)),
    '',
  ]
}
