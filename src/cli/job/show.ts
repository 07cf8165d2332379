import type { JobView } from 'sluice/chunked'
import { durationOf } from '../figures.ts'
import type { Host } from '../host.ts'
import { momentOf, withMoments } from '../moment.ts'
import { sizeOf } from '../size.ts'
import { plain, section, table } from '../text.ts'
import { dataLines } from './data-lines.ts'
import { failureSamples } from './failure-sample.ts'
import { type JobPlace, openToLook } from './place.ts'
import { detailsOf, titleOf } from './report.ts'

export interface ShowOptions extends JobPlace {
  readonly json?: boolean
}

export async function show(id: number, options: ShowOptions, host: Host): Promise<number> {
  const { terminal, environment } = host
  const { chunked, control, close } = await openToLook(options, environment)
  try {
    const view = await chunked.job(control, id)
    if (options.json) terminal.out(`${JSON.stringify(view)}\n`)
    else {
      const samples = await failureSamples({ chunked, control }, view)
      terminal.out(`${[...factsOf(view, host), ...detailsOf(view, samples, options)].join('\n')}\n`)
    }
    return 0
  } finally {
    await close()
  }
}

function factsOf(view: JobView, host: Host): readonly string[] {
  const { startTime: from, endTime: to, startedBy } = view
  const files = view.attachments.map(({ name, bytes }) => `${plain(name, 128)} (${sizeOf(bytes)})`)
  const rows: readonly (readonly [string, string | null])[] = [
    ['created', `${momentOf(view.createTime, host)}${startedBy === null ? '' : ` by ${plain(startedBy, 100)}`}`],
    ['collection', view.collection === null ? null : plain(view.collection, 200)],
    ['started', from === null ? null : momentOf(from, host)],
    ['ended', to === null ? null : `${momentOf(to, host)}${from === null ? '' : `, after ${durationOf(to - from)}`}`],
    ['progress', to === null ? `${Math.floor(view.percent)} %` : null],
    ['step', to === null ? view.currentStep : null],
    ['attachments', files.length === 0 ? null : files.join(', ')],
  ]
  return [
    headlineOf(view, host),
    '',
    ...table(rows.filter((row): row is [string, string] => row[1] !== null)),
    ...section('Parameters', isEmpty(view.parameters) ? [] : dataLines(view.parameters)),
    '',
    'Steps',
  ]
}

/** The sentence of `explain` calls the job by its machine, and often begins with its state as well. */
function headlineOf(view: JobView, host: Host): string {
  const title = titleOf(view)
  const sentence = withMoments(plain(view.sentence, 2_000), host)
  const isToldTwice = sentence.startsWith(`chunked_job ${view.id} is ${view.state} since `)
  return isToldTwice
    ? `${title.slice(0, -1)}${sentence.slice(`chunked_job ${view.id} is ${view.state}`.length)}`
    : `${title} ${sentence.replace(`chunked_job ${view.id} `, 'It ')}`
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && (value === null || Object.keys(value).length === 0)
}
