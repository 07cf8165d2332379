import type { Clock } from '../clock.ts'

/** An answer that was given under an Idempotency-Key. */
export interface KeptAnswer {
  /** Of the request's body: the key stands for this request alone. */
  readonly fingerprint: string
  readonly status: number
  /** JSON text. */
  readonly body: string
  readonly at: number
}

/** Where answers are kept, for as long as they are replayed. Keys are digests over caller, path and key. */
export interface IdempotencyStore {
  get(key: string): Promise<KeptAnswer | null>
  put(key: string, answer: KeptAnswer): Promise<void>
  /** Forgets what was kept before this time. */
  sweep(before: number): Promise<void>
  close(): Promise<void>
}

/** For tests, and for servers that need not remember after a restart. */
export function idempotencyInMemory({ answersMax = 100_000 }: { readonly answersMax?: number } = {}): IdempotencyStore {
  const answers = new Map<string, KeptAnswer>()
  return {
    async get(key) {
      return answers.get(key) ?? null
    },
    async put(key, answer) {
      for (const oldest of answers.keys()) {
        if (answers.size < answersMax) break
        answers.delete(oldest)
      }
      answers.set(key, answer)
    },
    async sweep(before) {
      for (const [key, { at }] of answers) if (at < before) answers.delete(key)
    },
    async close() {},
  }
}

/** Sweeps now and then, until it is stopped. */
export function sweepNowAndThen(
  store: IdempotencyStore,
  clock: Clock,
  keptMs: number,
  failed: (error: unknown) => void,
) {
  const pauseMs = Math.max(1_000, Math.min(keptMs / 4, 60 * 60 * 1_000))
  let cancel = () => {}
  const again = () => {
    cancel = clock.after(pauseMs, () => {
      store.sweep(clock.now() - keptMs).catch(failed)
      again()
    })
  }
  again()
  return () => cancel()
}
