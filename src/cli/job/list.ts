import { chunkedJob, type JobLine } from 'sluice/chunked'
import { durationOf } from '../figures.ts'
import type { Host } from '../host.ts'
import { shortMomentOf } from '../moment.ts'
import { plain, table } from '../text.ts'
import { type JobPlace, lookCommand, nameOf, openToLook } from './place.ts'
import { stateText } from './report.ts'
import { statesOf } from './states.ts'

export interface ListOptions extends JobPlace {
  readonly definition?: string
  readonly jobVersion?: number
  readonly state?: readonly string[]
  readonly after?: number
  readonly limit?: number
  readonly json?: boolean
}

/** A page of jobs, the newest first. */
export async function list(options: ListOptions, host: Host): Promise<number> {
  const { terminal, environment } = host
  const { definition, jobVersion: version, state, after, limit = 20 } = options
  const states = statesOf(chunkedJob, state)
  const { chunked, control, close } = await openToLook(options, environment)
  try {
    const page = await chunked.jobs(control, {
      limit,
      ...(definition === undefined ? {} : { definition }),
      ...(version === undefined ? {} : { version }),
      ...(states === undefined ? {} : { states }),
      ...(after === undefined ? {} : { after }),
    })
    if (options.json) terminal.out(`${JSON.stringify(page)}\n`)
    else if (page.jobs.length === 0) terminal.out(`There are no ${after === undefined ? '' : 'more '}such jobs.\n`)
    else {
      const title = ['id', 'job', 'state', 'by', 'created', 'took', 'step', 'error']
      terminal.out(`${table([title, ...page.jobs.map((job) => cellsOf(job, host))], '').join('\n')}\n`)
      if (page.next !== null) {
        const filters = [
          ...(definition === undefined ? [] : ['--definition', definition]),
          ...(version === undefined ? [] : ['--job-version', `${version}`]),
          ...(state === undefined ? [] : ['--state', state.join(',')]),
        ]
        const more = lookCommand(options, 'list', ...filters, '--limit', `${limit}`, '--after', `${page.next}`)
        terminal.err(`There may be more: ${more}\n`)
      }
    }
    return 0
  } finally {
    await close()
  }
}

function cellsOf(job: JobLine, host: Host): readonly string[] {
  const { startTime, endTime, currentStep, errorMessage } = job
  return [
    String(job.id),
    plain(nameOf(job), 60),
    stateText(job.state),
    plain(job.startedBy ?? '–', 20),
    shortMomentOf(job.createTime, host),
    startTime === null || endTime === null ? '–' : durationOf(endTime - startTime),
    currentStep ?? '–',
    plain(errorMessage ?? ''),
  ]
}
