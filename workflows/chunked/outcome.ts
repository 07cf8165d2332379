/**
 * How a step ends: a value, returned or thrown. Anything else that is thrown is an error worth another attempt; a step that returns
 * nothing is done.
 */
export type StepOutcome =
  | { readonly kind: 'done'; readonly records?: number }
  | { readonly kind: 'retry'; readonly error: string; readonly delayMs?: number; readonly reason?: string }
  | { readonly kind: 'poll'; readonly afterMs: number | null }
  | { readonly kind: 'fail'; readonly reason: string; readonly error?: string; readonly report?: unknown }

/** The work is done; so many records were processed. */
export function done(records?: number): StepOutcome {
  return records === undefined ? { kind: 'done' } : { kind: 'done', records }
}

/** It went wrong and is worth another attempt, after the step's backoff or the given delay. */
export function retry(error: string, delayMs?: number): StepOutcome {
  return delayMs === undefined ? { kind: 'retry', error } : { kind: 'retry', error, delayMs }
}

/** Nothing is wrong; look again later: after the step's own interval (one minute by default) or after so long. Never an error. */
export function retryLater(afterMs?: number): StepOutcome {
  return { kind: 'poll', afterMs: afterMs ?? null }
}

/** It went wrong for good. `reason` is a short stable phrase by which failures are counted; `error` tells the rest. */
export function fail(reason: string, error?: string): StepOutcome {
  return error === undefined ? { kind: 'fail', reason } : { kind: 'fail', reason, error }
}

/** For a reducer to throw: the job fails, and carries this report. Any other step fails as with `fail`. */
export function failWithReport(report: unknown, reason: string, error?: string): StepOutcome {
  return { ...fail(reason, error), report } as StepOutcome
}

const kinds = new Set(['done', 'retry', 'poll', 'fail'])

export function isOutcome(value: unknown): value is StepOutcome {
  return typeof value === 'object' && value !== null && kinds.has((value as { kind?: unknown }).kind as string)
}
