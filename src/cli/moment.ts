import { durationOf } from './figures.ts'
import type { Host } from './host.ts'

type Reader = Pick<Host, 'terminal' | 'clock'>
type Time = number | string | null | undefined

/** When something was: local and relative for a person at a terminal, ISO 8601 for whatever else reads the output. */
export function momentOf(time: Time, reader: Reader): string {
  const at = millisOf(time)
  if (at === null) return '–'
  return reader.terminal.isRead ? `${localOf(at)} (${relativeOf(at - reader.clock.now())})` : isoOf(at)
}

/** The same where there is little room: relative as long as that is clear, then the local minute. */
export function shortMomentOf(time: Time, reader: Reader): string {
  const at = millisOf(time)
  if (at === null) return '–'
  if (!reader.terminal.isRead) return isoOf(at)
  const distance = at - reader.clock.now()
  return Math.abs(distance) < 2 * dayMs ? relativeOf(distance) : localOf(at).slice(0, 16)
}

/** To the millisecond, where one event follows another. */
export function instantOf(at: number, reader: Reader): string {
  return reader.terminal.isRead ? `${localOf(at)}.${String(at % 1_000).padStart(3, '0')}` : isoOf(at)
}

/** The sentences of the API name times in ISO. */
export function withMoments(sentence: string, reader: Reader): string {
  if (!reader.terminal.isRead) return sentence
  return sentence.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (iso) => momentOf(iso, reader))
}

const dayMs = 86_400_000

function millisOf(time: Time): number | null {
  if (time === null || time === undefined) return null
  const at = new Date(time).getTime()
  return Number.isNaN(at) ? null : at
}

function isoOf(at: number): string {
  return new Date(at).toISOString()
}

/** `2026-11-18 20:03:05` where this machine is. */
export function localOf(at: number): string {
  const two = (part: number) => String(part).padStart(2, '0')
  const date = new Date(at)
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-')
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')}`
}

/** `3 min ago`, `in 2 h`. */
export function relativeOf(distanceMs: number): string {
  const ms = Math.abs(distanceMs)
  if (ms < 1_000) return 'now'
  const text = roughOf(ms)
  return distanceMs < 0 ? `${text} ago` : `in ${text}`
}

function roughOf(ms: number): string {
  if (ms < 60_000) return `${Math.floor(ms / 1_000)} s`
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min`
  if (ms < 2 * dayMs) return durationOf(Math.floor(ms / 60_000) * 60_000)
  return `${Math.floor(ms / dayMs)} days`
}
