/** How the engine treats one processor: attempts, pauses between them, time, and how many run at once. */
export interface Policy {
  /** Runs that may end in an error before the entity takes its `fail` edge. */
  readonly attemptsMax: number
  readonly backoff: Backoff
  /** A run that takes longer is dropped: its result will be stale. */
  readonly timeoutMs: number
  /** How many run at once, over all processes. Null: no limit. */
  readonly concurrency: number | null
  /** How many run at once for each value of this label, over all processes. */
  readonly concurrencyPer: { readonly label: string; readonly max: number } | null
  /** How many run at once in one process. */
  readonly parallel: number
  /** Workers that name roles serve only processors of these roles. */
  readonly role: string | null
}

export interface Backoff {
  readonly firstMs: number
  readonly factor: number
  readonly maxMs: number
  /** Share of the delay that is left to chance, so that what failed together is not tried again together. */
  readonly jitter: number
}

export const defaultPolicy: Policy = {
  attemptsMax: 4,
  backoff: { firstMs: 1_000, factor: 2, maxMs: 5 * 60_000, jitter: 0.5 },
  timeoutMs: 10 * 60_000,
  concurrency: null,
  concurrencyPer: null,
  parallel: 100,
  role: null,
}

/** The pause after the attempt of this number (the first is 1). `random` is in [0, 1). */
export function backoffMs(backoff: Backoff, attempt: number, random: number): number {
  // A power beyond all numbers must not turn a first pause of 0 into NaN, which would never come due.
  const growth = Math.min(backoff.factor ** Math.max(0, attempt - 1), Number.MAX_VALUE)
  const full = Math.min(backoff.maxMs, backoff.firstMs * growth)
  return Math.round(full * (1 - backoff.jitter * random))
}
