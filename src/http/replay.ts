import type { Clock } from '../clock.ts'
import type { Caller } from './access.ts'
import type { HttpLimits } from './http-limits.ts'
import type { IdempotencyStore } from './idempotency.ts'
import { HttpRefusal } from './problem.ts'
import { digestOf } from './secret.ts'

const keyRule = /^[!-~]{1,200}$/

/** The key of one request, if it has one: bound to its caller and path. */
export function replayKey(header: unknown, caller: Caller | null, method: string, path: string): string | null {
  if (header === undefined) return null
  if (typeof header !== 'string' || !keyRule.test(header)) {
    const message = 'must be 1 to 200 printable characters without spaces'
    throw new HttpRefusal('invalid', `The Idempotency-Key ${message}.`, {
      faults: [{ in: 'header', path: 'idempotency-key', message }],
    })
  }
  return digestOf(JSON.stringify([caller?.actor ?? null, method, path, header]))
}

export interface Outcome {
  readonly status: number
  /** JSON text. */
  readonly body: string
}

/** Does each request once per key, and gives its answer to whoever repeats it. */
export class Replay {
  readonly #store: IdempotencyStore
  readonly #clock: Clock
  readonly #limits: HttpLimits
  readonly #underWay = new Set<string>()

  constructor(store: IdempotencyStore, clock: Clock, limits: HttpLimits) {
    this.#store = store
    this.#clock = clock
    this.#limits = limits
  }

  /**
   * `fingerprint` is asked for after `run` too: that of a stream is known only once it was read. A failure is not kept: whoever repeats it
   * wants it tried again, and what was done before it failed is found by the key.
   */
  async once(
    key: string,
    fingerprint: () => Promise<string>,
    run: () => Promise<Outcome>,
  ): Promise<Outcome & { readonly isReplayed: boolean }> {
    if (this.#underWay.has(key)) {
      throw new HttpRefusal('in-progress', 'A request with this Idempotency-Key is under way. Ask again later.', {
        headers: { 'retry-after': '1' },
      })
    }
    this.#underWay.add(key)
    try {
      const kept = await this.#store.get(key)
      if (kept && this.#clock.now() - kept.at < this.#limits.replayMs) {
        if (kept.fingerprint !== (await fingerprint())) throw mismatch()
        return { status: kept.status, body: kept.body, isReplayed: true }
      }
      const outcome = await run()
      if (Buffer.byteLength(outcome.body) <= this.#limits.replayBytesMax) {
        await this.#store.put(key, { ...outcome, fingerprint: await fingerprint(), at: this.#clock.now() })
      }
      return { ...outcome, isReplayed: false }
    } finally {
      this.#underWay.delete(key)
    }
  }
}

function mismatch(): HttpRefusal {
  return new HttpRefusal(
    'idempotency-mismatch',
    'This Idempotency-Key was used for another request: its body was different. Use a new key; nothing was done.',
  )
}
