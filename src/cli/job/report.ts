import type { JobView } from 'sluice/chunked'
import { countOf, durationOf } from '../figures.ts'
import { plain, section, table } from '../text.ts'
import { dataLines } from './data-lines.ts'
import type { FailureSample } from './failure-sample.ts'
import { type JobPlace, lookCommand, nameOf, workCommand } from './place.ts'

/** What a command that works on a job says about it to a program: exactly one object. */
export interface Result {
  /** Null: no job was started. */
  readonly jobId: number | null
  readonly definition: string | null
  readonly version: number | null
  readonly state: string
  readonly existing: boolean
  readonly chunks: JobView['chunks']
  readonly records: number
  readonly recordsPerSecond: number
  readonly errorCount: number
  readonly warningCount: number
  readonly seconds: number
  readonly peakRssMiB: number
  readonly report: unknown
  readonly error?: string
  /** Of chunks that failed, one for each reason. */
  readonly failures?: readonly FailureSample[]
  /** Of parameters that do not fit: each by itself. */
  readonly faults?: readonly string[]
}

export interface Circumstances {
  readonly existing: boolean
  /** How long this command worked on it; null: it did not have to. */
  readonly workedMs: number | null
  /** Records that were processed before it did. */
  readonly recordsBefore: number
  readonly samples: readonly FailureSample[]
  readonly peakRssMiB: number
}

export function resultOf(view: JobView, circumstances: Circumstances): Result {
  const { existing, workedMs, recordsBefore, samples, peakRssMiB } = circumstances
  const { startTime: from, endTime: to, chunks, records, errorCount, warningCount, report } = view
  const ms = workedMs ?? (from !== null && to !== null ? to - from : 0)
  // What others did before is no speed of ours.
  const worked = workedMs === null ? records : records - recordsBefore
  const { errorMessage } = view
  return {
    jobId: view.id,
    definition: view.definition,
    version: view.version,
    state: view.state,
    existing,
    chunks,
    records,
    recordsPerSecond: ms > 0 ? Math.round((worked * 1_000) / ms) : 0,
    errorCount,
    warningCount,
    seconds: Math.round(ms) / 1_000,
    peakRssMiB,
    report,
    ...(errorMessage === null ? {} : { error: plain(errorMessage, 2_000) }),
    ...(samples.length === 0 ? {} : { failures: samples }),
  }
}

/** The object for a job that was not started. */
export function refusalResult(error: string, peakRssMiB: number, faults?: readonly string[]): Result {
  return {
    ...{ jobId: null, definition: null, version: null, state: 'refused', existing: false },
    chunks: { total: 0, settled: 0, failed: 0 },
    ...{ records: 0, recordsPerSecond: 0, errorCount: 0, warningCount: 0, seconds: 0, peakRssMiB, report: null, error },
    ...(faults === undefined ? {} : { faults }),
  }
}

/** 0 completed, 1 cancelled, 2 failed or refused; also 2 for what is still open, as nothing can be built on it. */
export function exitOfState(state: string): number {
  return state === 'completed' ? 0 : state === 'cancelled' ? 1 : 2
}

/** The end of a run as a person wants to read it: what became of it, why, and what to type next. */
export function reportOf(view: JobView, result: Result, place: JobPlace, isOld: boolean): string {
  const { recordsPerSecond, seconds, peakRssMiB } = result
  const speed = recordsPerSecond > 0 ? `, ${countOf(recordsPerSecond)} records/s` : ''
  const memory = isOld ? '' : ` and at most ${peakRssMiB} MiB of memory`
  return [
    `${titleOf(view)}${isOld ? ' It had ended before; nothing was done now.' : ''}`,
    `It took ${durationOf(seconds * 1_000)}${speed}${memory}.`,
    '',
    ...detailsOf(view, result.failures ?? [], place),
    '',
  ].join('\n')
}

/** `Job 7 (nightly@2) is in progress.` */
export function titleOf(view: Pick<JobView, 'id' | 'definition' | 'version' | 'state'>): string {
  return `Job ${view.id} (${plain(nameOf(view), 120)}) is ${stateText(view.state)}.`
}

/** A state as it is read in a sentence. */
export function stateText(state: string): string {
  return state === 'finalize' ? 'finalizing' : state.replaceAll('_', ' ')
}

/** Steps, reasons, the report, and what to do next. */
export function detailsOf(view: JobView, samples: readonly FailureSample[], place: JobPlace): readonly string[] {
  const isFailed = view.state === 'failed' || view.state === 'cancelled'
  return [
    ...stepTable(view),
    ...section(
      view.state === 'cancelled' ? 'Why it ended' : 'Why it failed',
      isFailed && view.errorMessage !== null ? [`  ${plain(view.errorMessage, 2_000)}`] : [],
    ),
    ...section('Why chunks failed', reasonLines(view, samples)),
    ...section('Report', view.report === null ? [] : dataLines(view.report)),
    ...section('Notes', noteLines(view)),
    ...section('What to do next', nextLines(view, place)),
  ]
}

function stepTable({ steps }: JobView): readonly string[] {
  const isOpen = steps.some(({ total, settled }) => total > settled)
  const title = ['step', 'chunks', 'failed', ...(isOpen ? ['open'] : []), 'records', 'errors', 'warnings']
  const rows = steps.map(({ id, total, settled, failed, records, errors, warnings }) => [
    id,
    ...[total, failed, ...(isOpen ? [total - settled] : []), records, errors, warnings],
  ])
  return table([title, ...rows])
}

const reasonsMax = 12

/** By how often they came, each with its first example. */
function reasonLines({ reasons }: JobView, samples: readonly FailureSample[]): readonly string[] {
  const all = Object.entries(reasons).sort(([, one], [, other]) => other - one)
  const more = all.length - reasonsMax
  const rows = all.slice(0, reasonsMax).map(([reason, count]) => {
    const sample = samples.find((one) => one.reason === plain(reason, 100))
    const isMore = sample !== undefined && sample.message !== sample.reason
    return [count, plain(reason, 60), isMore ? `e.g. chunk ${sample.chunk}: ${plain(sample.message)}` : '']
  })
  return [...table(rows), ...(more > 0 ? [`  … and ${more} more reasons`] : [])]
}

function noteLines({ state, chunks, rerun, handler, generation }: JobView): readonly string[] {
  const tolerated = state === 'completed' && chunks.failed > 0
  return [
    ...(tolerated
      ? [
          `${countOf(chunks.failed)} failed ${chunks.failed === 1 ? 'chunk is' : 'chunks are'} within what the job tolerates.`,
        ]
      : []),
    ...(generation > 0 ? [`It was run again ${generation === 1 ? 'once' : `${generation} times`}.`] : []),
    ...(rerun && Object.keys(rerun).length > 0 ? [`The last rerun: ${countsText(rerun)}.`] : []),
    ...(handler?.error ? [`Its handler failed in all attempts: ${plain(handler.error)}`] : []),
  ].map((line) => `  ${line}`)
}

function countsText(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${countOf(count)} ${plain(name, 60)}`)
    .join(', ')
}

function nextLines(view: JobView, place: JobPlace): readonly string[] {
  const id = String(view.id)
  const failed = [lookCommand(place, 'chunks', id, '--state', 'failed'), 'to see what failed']
  const warnings = [lookCommand(place, 'warnings', id), 'to see the warnings']
  const rows = [
    ...(view.chunks.failed > 0 ? [failed] : []),
    ...(view.warningCount > 0 ? [warnings] : []),
    ...(view.state === 'failed' ? [[workCommand(place, 'rerun', id), 'to run the failed chunks again']] : []),
    ...(isOpen(view) ? [[workCommand(place, 'resume', id), 'to work on it until it has ended']] : []),
    ...(isOpen(view) ? [[lookCommand(place, 'cancel', id), 'to end it']] : []),
  ]
  return view.purged ? [] : table(rows)
}

function isOpen({ state }: JobView): boolean {
  return !['completed', 'failed', 'cancelled'].includes(state)
}
