/** Figures as people read them. */
export function countOf(count: number): string {
  return Math.round(count).toLocaleString('en')
}

/** `1 worker`, `2 workers`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${countOf(count)} ${count === 1 ? one : many}`
}

export function percentOf(done: number, total: number): string {
  // Rounded down: 100 % means that nothing is left.
  return `${total <= 0 ? 0 : Math.min(100, Math.floor((done / total) * 100))} %`
}

/** `850 ms`, `12.4 s`, `3 min 5 s`, `2 h 10 min`. */
export function durationOf(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  const seconds = ms / 1_000
  if (seconds < 99.95) return `${seconds.toFixed(1)} s`
  const whole = Math.round(seconds)
  if (whole < 3_600) return `${Math.floor(whole / 60)} min ${whole % 60} s`
  const minutes = Math.round(seconds / 60)
  return `${countOf(Math.floor(minutes / 60))} h ${minutes % 60} min`
}

/** A wait is a guess: whole seconds will do. */
export function waitOf(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1_000))
  return seconds < 100 ? `${seconds} s` : durationOf(seconds * 1_000)
}
