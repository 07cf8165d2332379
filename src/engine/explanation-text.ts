/**
 * Times, durations and counts as sentences of explanations have them. A time is told in UTC, in the one form that the command line and
 * the dashboard find in a sentence and show as local time.
 */
export function timeText(at: number): string {
  // A time that no calendar has must not turn an explanation into a fault.
  return Math.abs(at) <= 8.64e15 ? new Date(at).toISOString() : `time ${at}`
}

/** `at 2026-11-18T19:00:00.000Z (in 9 s)` */
export function dueText(at: number, now: number): string {
  return `at ${timeText(at)} (${at > now ? `in ${durationText(at - now)}` : 'now'})`
}

export function durationText(durationMs: number): string {
  const seconds = Math.max(0, durationMs) / 1_000
  if (seconds < 1) return `${Math.max(0, Math.round(durationMs))} ms`
  if (seconds < 120) return `${Math.round(seconds)} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  return `${Math.round(seconds / 3_600)} h`
}

export function countText(count: number): string {
  return count.toLocaleString('en')
}

/** For the middle of a sentence: without its full stop. */
export function clauseOf(text: string): string {
  return text.trim().replace(/\.+$/, '')
}
