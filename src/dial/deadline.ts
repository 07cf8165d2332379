import type { Clock } from '../clock.ts'
import { dialError } from './dial-error.ts'

export interface DeadlineSettings {
  readonly clock: Clock
  /** For messages. */
  readonly url: string
  readonly timeoutMs: number
  readonly idleMs: number
  readonly idleBytesMin: number
  /** Whoever may end the request from outside: the caller, and the dialer when it is closed. */
  readonly signals: readonly (AbortSignal | undefined)[]
}

/** One signal for all that ends a request early: the caller, the whole time, and a server that is silent or drips. */
export class Deadline {
  readonly #settings: DeadlineSettings
  readonly #controller = new AbortController()
  readonly #undo: (() => void)[] = []
  #waitedMs = 0
  #bytes = 0

  constructor(settings: DeadlineSettings) {
    this.#settings = settings
    const { clock, timeoutMs, url, signals } = settings
    const late = () =>
      this.#controller.abort(dialError('timeout', url, `${url} took more than ${timeoutMs} ms in all.`))
    this.#undo.push(clock.after(timeoutMs, late))
    for (const signal of signals) if (signal) this.#undo.push(onAbort(signal, (why) => this.#controller.abort(why)))
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Waits for the server. Only this time counts as idle, never that of a slow reader. */
  async waiting<T>(act: () => Promise<T>): Promise<T> {
    const { clock, idleMs, idleBytesMin, url } = this.#settings
    const startedAt = clock.now()
    const silent = () => {
      const message = `${url} sent less than ${idleBytesMin} bytes in ${idleMs} ms of waiting.`
      this.#controller.abort(dialError('idle', url, message))
    }
    const cancel = clock.after(Math.max(1, idleMs - this.#waitedMs), silent)
    try {
      return await orAborted(act(), this.signal)
    } finally {
      cancel()
      this.#waitedMs += clock.now() - startedAt
    }
  }

  received(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes >= this.#settings.idleBytesMin) this.restart()
  }

  /** A step was done: patience begins anew. */
  restart(): void {
    this.#bytes = 0
    this.#waitedMs = 0
  }

  stop(): void {
    for (const undo of this.#undo.splice(0)) undo()
  }
}

/** Calls back once, at once if it is too late. Returns a function that ends the listening. */
export function onAbort(signal: AbortSignal, callback: (reason: unknown) => void): () => void {
  const listener = () => callback(signal.reason)
  if (signal.aborted) listener()
  else signal.addEventListener('abort', listener, { once: true })
  return () => signal.removeEventListener('abort', listener)
}

/**
 * Runs an act that may not take longer, and may not heed its signal. What it yields after the end is handed to `late`, to be closed.
 */
export async function within<T>(
  { clock, delayMs, signal, why }: { clock: Clock; delayMs: number; signal: AbortSignal; why: () => Error },
  act: (signal: AbortSignal) => Promise<T>,
  late: (value: T) => void = () => {},
): Promise<T> {
  const own = new AbortController()
  const cancel = clock.after(delayMs, () => own.abort(why()))
  const deaf = onAbort(signal, (reason) => own.abort(reason))
  try {
    own.signal.throwIfAborted()
    const acting = act(own.signal)
    acting.then((value) => own.signal.aborted && late(value)).catch(() => {})
    return await orAborted(acting, own.signal)
  } finally {
    cancel()
    deaf()
  }
}

/** An act, or the end of patience, whichever is first: not everything that is waited for heeds its signal. */
async function orAborted<T>(acting: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const deaf = onAbort(signal, aborted.reject)
  try {
    return await Promise.race([acting, aborted.promise])
  } finally {
    deaf()
  }
}
