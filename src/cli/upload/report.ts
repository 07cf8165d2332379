import type { UploadBatchView } from 'sluice/upload'
import { countOf, durationOf } from '../figures.ts'
import { commandAt } from '../place.ts'
import { plain, section, table } from '../text.ts'
import type { Place } from './place.ts'

/** What a command that works on a batch says about it to a program: exactly one object. */
export interface Result {
  /** Null: no batch was made. */
  readonly batchId: number | null
  readonly state: string
  readonly existing: boolean
  readonly total: number
  readonly completed: number
  readonly failed: number
  readonly skipped: number
  readonly pending: number
  readonly itemsPerSecond: number
  readonly seconds: number
  readonly peakRssMiB: number
  readonly error?: string
}

export interface Circumstances {
  readonly existing: boolean
  /** How long this command worked on it; null: it did not have to. */
  readonly workedMs: number | null
  readonly peakRssMiB: number
}

export function resultOf(view: UploadBatchView, { existing, workedMs, peakRssMiB }: Circumstances): Result {
  const { uploadedAt: from, processingCompletedAt: to } = view
  const ms = workedMs ?? (from && to ? to - from : 0)
  const total = view.totalItemsInFile
  // A retry works on the items that had failed, not on the whole file again.
  const worked = workedMs !== null && view.itemRetry ? view.itemRetry.retried : total
  return {
    batchId: view.id,
    state: view.state,
    existing,
    total,
    completed: view.itemsProcessed,
    failed: view.itemsErrored,
    skipped: view.itemsSkipped,
    pending: view.itemsPending,
    itemsPerSecond: ms > 0 ? Math.round((worked / ms) * 1_000) : 0,
    seconds: Math.round(ms) / 1_000,
    peakRssMiB,
    ...(view.state === 'failed' ? { error: plain(whyFailed(view), 2_000) } : {}),
  }
}

/** The object for a file that did not become a batch. */
export function refusalResult(error: string, peakRssMiB: number): Result {
  const none = { total: 0, completed: 0, failed: 0, skipped: 0, pending: 0, itemsPerSecond: 0, seconds: 0 }
  return { batchId: null, state: 'refused', existing: false, ...none, peakRssMiB, error }
}

/** 0 completed, 1 partially completed, 2 failed or refused; also 2 for what is still open, as nothing can be built on it. */
export function exitOfState(state: string): number {
  return state === 'completed' ? 0 : state === 'partially_completed' ? 1 : 2
}

/** The end of a run as a person wants to read it: what became of it, why, and what to type next. */
export function reportOf(view: UploadBatchView, result: Result, place: Place): string {
  const state = view.state.replaceAll('_', ' ')
  const speed = `${durationOf(result.seconds * 1_000)}, ${countOf(result.itemsPerSecond)} items/s`
  const known = ' This file was uploaded before; it is not uploaded again.'
  return [
    `Batch ${view.id} (${plain(view.fileName, 100)}) is ${state}.${result.existing ? known : ''}`,
    `It took ${speed}${result.existing ? '' : ` and at most ${result.peakRssMiB} MiB of memory`}.`,
    '',
    ...detailsOf(view, place),
    '',
  ].join('\n')
}

/** Counts, reasons, and what to do next. */
export function detailsOf(view: UploadBatchView, place: Place): readonly string[] {
  return [
    ...table([
      ['total', view.totalItemsInFile],
      ['completed', view.itemsProcessed],
      ['failed', view.itemsErrored],
      ['skipped', view.itemsSkipped],
      ...(view.itemsPending > 0 ? [['pending', view.itemsPending] as const] : []),
    ]),
    ...section('Why it failed', view.state === 'failed' ? [`  ${plain(whyFailed(view), 2_000)}`] : []),
    ...section('Why items failed', reasonLines(view)),
    ...section('Notes', noteLines(view)),
    ...section(
      'Needs attention',
      view.attention.map((line) => `  ${plain(line, 1_000)}`),
    ),
    ...section('What to do next', nextLines(view, place)),
  ]
}

function whyFailed({ failure, sentence }: UploadBatchView): string {
  if (!failure) return sentence
  const { reason, error } = failure
  return error && error !== reason ? `${reason}: ${error}` : reason
}

const reasonsMax = 12

/** By how often they came, each with its first example. */
function reasonLines({ errorSummary }: UploadBatchView): readonly string[] {
  const reasons = errorSummary?.byReason ?? []
  const rows = reasons.slice(0, reasonsMax).map(({ reason, count, samples: [sample] }) => {
    const example = sample ? `e.g. item ${sample.itemIndex}: ${plain(sample.message)}` : ''
    return [count, plain(reason, 60), example]
  })
  const more = reasons.length - rows.length
  return [...table(rows), ...(more > 0 ? [`  … and ${more} more reasons`] : [])]
}

function noteLines({ resultSummary, itemRetry, notification }: UploadBatchView): readonly string[] {
  const { merged = 0, unresolvedLinks = 0 } = resultSummary ?? {}
  return [
    ...(merged > 0 ? [`${countOf(merged)} items were newer versions of known ones, and were merged.`] : []),
    ...(unresolvedLinks > 0 ? [`${countOf(unresolvedLinks)} items name a parent that has not come yet.`] : []),
    ...(itemRetry ? [plain(itemRetry.sentence)] : []),
    ...(notification?.waiting ? [waitingText(notification)] : []),
  ].map((line) => `  ${line}`)
}

function waitingText({ error, attempts = 0 }: NonNullable<UploadBatchView['notification']>): string {
  const why = error === null ? '' : `: ${plain(error)}`
  return `The notification has not been sent yet${attempts > 0 ? ` after ${attempts} attempts` : ''}${why === '' ? '.' : why} Another attempt is made while a process works on this store.`
}

function nextLines(view: UploadBatchView, place: Place): readonly string[] {
  const command = (name: string, ...words: readonly string[]) => commandFor(place, 'upload', name, ...words)
  const id = String(view.id)
  const rows: (readonly [command: string, what: string])[] = []
  switch (view.state) {
    case 'completed':
      break
    case 'partially_completed':
    case 'failed':
      if (view.itemsErrored > 0) rows.push([command('errors', id), 'to see what failed'])
      rows.push(...retryRows(view, command))
      break
    default:
      rows.push([command('show', id), 'to see how far it is'])
  }
  const settings = place.server === undefined ? ['--notify', 'FILE'] : []
  if (view.attention.length > 0) rows.push([command('notify', id, ...settings), 'to send the notification again'])
  return table(rows)
}

/** A retry that is refused or cannot help is not advised: what helps instead is. */
function retryRows(
  { id, state, retry }: UploadBatchView,
  command: (name: string, ...words: readonly string[]) => string,
): readonly (readonly [string, string])[] {
  const why = retry?.refusal ?? ''
  switch (retry?.instead) {
    case 'mended_file':
      return [[command('run', 'FILE'), `with a mended file; a retry cannot help: ${why}`]]
    case 'json_content_type':
      return [[command('run', 'FILE', '--content-type', 'application/json'), 'if it is JSON']]
    case 'new_batch':
      return [
        [command('run', 'FILE', '--force'), `to begin a new batch of the same file; a retry is refused: ${plain(why)}`],
      ]
    default:
      return [
        [
          command('retry', String(id)),
          state === 'failed' ? 'to try the whole batch again' : 'to try the failed items again',
        ],
      ]
  }
}

export function commandFor(place: Place, ...words: readonly string[]): string {
  return commandAt(place, ...words)
}
