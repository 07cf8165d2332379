/** How a processor ends: a value. A throw is a retry. */
export type Outcome =
  | { readonly kind: 'done'; readonly data?: unknown; readonly sums?: Sums }
  | {
      readonly kind: 'retry'
      readonly error: string
      readonly delayMs?: number
      readonly data?: unknown
      /** The reason, should this have been the last attempt: a short stable phrase. Default: 'attempts spent'. */
      readonly reason?: string
    }
  | { readonly kind: 'poll'; readonly afterMs: number; readonly data?: unknown; readonly elsewhere?: true }
  | { readonly kind: 'fail'; readonly reason: string; readonly error?: string; readonly data?: unknown }

/** Named amounts that an entity adds to its lane: records, bytes. */
export type Sums = Readonly<Record<string, number>>

/** The work is done; `data` replaces the entity's data, if given. */
export function done(data?: unknown, sums?: Sums): Outcome {
  if (sums !== undefined) return data === undefined ? { kind: 'done', sums } : { kind: 'done', data, sums }
  return data === undefined ? { kind: 'done' } : { kind: 'done', data }
}

/** What the engine takes for a processor that said nothing: one for all of them. */
export const plainDone = Object.freeze({ kind: 'done' } as const satisfies Outcome)

/** It went wrong and is worth another attempt, after the policy's backoff or the given delay. `reason` is why it fails if there is none left. */
export function retry(error: string, delayMs?: number, reason?: string): Outcome {
  return {
    kind: 'retry',
    error,
    ...(delayMs === undefined ? {} : { delayMs }),
    ...(reason === undefined ? {} : { reason }),
  }
}

/** Nothing is wrong; ask again later. Never counted as an attempt. */
export function poll(afterMs: number, data?: unknown): Outcome {
  return { kind: 'poll', afterMs, ...(data === undefined ? {} : { data }) }
}

/**
 * This process cannot do it, another may: the worker does not claim children of the same parent again. For a root it is a poll and no
 * more.
 */
export function elsewhere(afterMs: number, data?: unknown): Outcome {
  return { kind: 'poll', afterMs, elsewhere: true, ...(data === undefined ? {} : { data }) }
}

/** It went wrong for good. `reason` is a short stable phrase: lanes count failures by it; `error` tells the rest. */
export function fail(reason: string, error?: string, data?: unknown): Outcome {
  return { kind: 'fail', reason, ...(error === undefined ? {} : { error }), ...(data === undefined ? {} : { data }) }
}
