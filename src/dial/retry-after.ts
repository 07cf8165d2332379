/** How long a server asks us to wait, in seconds or until a date; clamped, and null if it says nothing readable. */
export function retryAfterMs(value: string | undefined, now: number, maxMs: number): number | null {
  if (value === undefined) return null
  const seconds = /^\d{1,30}$/.test(value) ? Number(value) : null
  const wanted = seconds === null ? dateOf(value) - now : seconds * 1_000
  return Number.isNaN(wanted) ? null : Math.min(Math.max(0, wanted), maxMs)
}

/** The date format of HTTP only: other texts would be read in the machine's own time zone. */
function dateOf(value: string): number {
  return /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(value) ? Date.parse(value) : Number.NaN
}
