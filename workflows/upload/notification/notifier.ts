import { SluiceError } from 'sluice'
import type { Notice } from './notice.ts'

/** Sends a notice at least once. The key is the same on every attempt, so that the receiver can drop doubles. */
export interface Notifier {
  send(notice: Notice, options: SendOptions): Promise<void>
  /** Ends what it keeps open, if it keeps anything open. */
  close?(): Promise<void>
}

export interface SendOptions {
  readonly key: string
  readonly signal: AbortSignal
}

/** A notice that did not arrive. Permanent: the same attempt will fail again, and only a change of the settings helps. */
export class NotificationError extends SluiceError {
  readonly permanent: boolean

  constructor(message: string, permanent: boolean, cause?: unknown) {
    super(permanent ? 'invalid' : 'internal', message, { permanent }, cause)
    this.name = 'NotificationError'
    this.permanent = permanent
  }
}

export function isPermanent(error: unknown): boolean {
  return error instanceof NotificationError && error.permanent
}

/**
 * Sends to all. A failed channel does not keep the others from being tried; the whole is worth another attempt while any channel is.
 * A channel that got a notice is not given it again by this process, so that a broken mail server does not make the hook ring each time.
 */
export function allOf(channels: readonly Notifier[]): Notifier {
  const [only] = channels
  if (only && channels.length === 1) return only
  const sent = new Map<string, Set<Notifier>>()
  return {
    async send(notice, options) {
      const done = sent.get(options.key) ?? new Set()
      remember(sent, options.key, done)
      const ends = await Promise.allSettled(
        channels
          .filter((channel) => !done.has(channel))
          .map(async (channel) => {
            await channel.send(notice, options)
            done.add(channel)
          }),
      )
      const errors = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []))
      if (errors.length > 0) throw together(errors)
    },
    async close() {
      await Promise.all(channels.map((channel) => channel.close?.()))
    },
  }
}

function together(errors: readonly unknown[]): unknown {
  if (errors.length === 1) return errors[0]
  const messages = errors.map((error) => (error instanceof Error ? error.message : String(error)))
  return new NotificationError(messages.join(' '), errors.every(isPermanent), new AggregateError(errors))
}

const rememberedMax = 1_000

function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key)
  map.set(key, value)
  if (map.size > rememberedMax) map.delete(map.keys().next().value!)
}
