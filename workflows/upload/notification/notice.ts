import { createHash } from 'node:crypto'

/** What is told about a batch that has come to an end. */
export interface Notice {
  readonly batchId: number
  readonly state: string
  readonly fileName: string
  readonly uploadedBy: string
  /** Times in milliseconds. */
  readonly uploadedAt: number
  readonly completedAt: number
  readonly total: number
  readonly completed: number
  readonly failed: number
  readonly skipped: number
  /** How many items failed for which reason. */
  readonly reasons: Readonly<Record<string, number>>
}

/** A mail or a hook is no place for thousands of reasons: the most frequent ones are told. */
const reasonsMax = 20
const labelMax = 200

/**
 * The body of a webhook. It is the same text on every attempt, as the key is: a receiver may compare either.
 * Receivers ignore fields that they do not know, so that fields can be added.
 */
export function bodyOf(notice: Notice, key: string): string {
  return JSON.stringify({
    event: 'upload_batch.ended',
    key,
    batchId: notice.batchId,
    state: notice.state,
    fileName: notice.fileName,
    uploadedBy: notice.uploadedBy,
    uploadedAt: isoOf(notice.uploadedAt),
    completedAt: isoOf(notice.completedAt),
    total: notice.total,
    completed: notice.completed,
    failed: notice.failed,
    skipped: notice.skipped,
    reasons: Object.fromEntries(topReasons(notice.reasons)),
  })
}

export interface Letter {
  readonly subject: string
  readonly text: string
  readonly messageId: string
}

/** The same notice gives the same letter with the same Message-ID, so that mail systems can drop doubles. */
export function letterOf(notice: Notice, key: string, domain: string): Letter {
  const state = notice.state.replaceAll('_', ' ')
  const reasons = topReasons(notice.reasons)
  const lines = [
    `The upload of ${labelOf(notice.fileName)} by ${labelOf(notice.uploadedBy)} is ${labelOf(state)}.`,
    '',
    `Batch      ${notice.batchId}`,
    `Uploaded   ${isoOf(notice.uploadedAt)}`,
    `Ended      ${isoOf(notice.completedAt)}`,
    `Total      ${countOf(notice.total)}`,
    `Completed  ${countOf(notice.completed)}`,
    `Failed     ${countOf(notice.failed)}`,
    `Skipped    ${countOf(notice.skipped)}`,
    ...(reasons.length === 0
      ? []
      : ['', 'Why items failed:', ...reasons.map(([why, count]) => `  ${countOf(count)}  ${labelOf(why)}`)]),
    '',
  ]
  return {
    subject: `Upload of ${labelOf(notice.fileName)} is ${labelOf(state)}: ${countOf(notice.completed)} of ${countOf(notice.total)} items`,
    text: lines.join('\n'),
    messageId: messageIdOf(notice, key, domain),
  }
}

function messageIdOf({ uploadedAt }: Notice, key: string, domain: string): string {
  const digest = createHash('sha256').update(`${uploadedAt}.${key}`).digest('hex')
  return `<${digest.slice(0, 40)}@${domain}>`
}

function topReasons(reasons: Readonly<Record<string, number>>): readonly (readonly [string, number])[] {
  return Object.entries(reasons)
    .sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
    .slice(0, reasonsMax)
}

/** File names and reasons come from outside: they get one line, and no control characters. */
function labelOf(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()
  return line.length <= labelMax ? line : `${line.slice(0, labelMax - 1).toWellFormed()}…`
}

function isoOf(time: number): string {
  return new Date(time).toISOString()
}

function countOf(count: number): string {
  return count.toLocaleString('en')
}
