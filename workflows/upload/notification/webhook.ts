import { type Clock, messageOf } from 'sluice'
import { Deadline } from './deadline.ts'
import { bodyOf } from './notice.ts'
import { NotificationError, type Notifier } from './notifier.ts'
import type { WebhookSettings } from './settings.ts'
import { signatureHeader, signatureOf } from './signature.ts'

/** These answers of the 4xx kind speak of the moment, not of the request. */
const temporary = new Set([408, 429])

export interface WebhookPorts {
  readonly fetch: typeof fetch
  readonly clock: Clock
}

/** POSTs the notice, signed. Any 2xx is a receipt; nothing else of the answer is read. */
export function webhookNotifier({ url, secret, timeoutMs }: WebhookSettings, ports: WebhookPorts): Notifier {
  // A path or a query may hold a token: people are told the host only.
  const name = `The webhook at ${url.host}`
  return {
    async send(notice, { key, signal }) {
      if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
        throw new NotificationError(`${name} was not called: the key is not 1 to 255 visible ASCII characters.`, true)
      }
      const body = bodyOf(notice, key)
      const deadline = new Deadline(ports.clock, timeoutMs, signal)
      try {
        const response = await ports.fetch(url, {
          method: 'POST',
          headers: {
            'Content-Type': 'application/json',
            'User-Agent': 'sluice',
            'Idempotency-Key': key,
            [signatureHeader]: signatureOf(body, secret, ports.clock.now()),
          },
          body,
          // Wherever a redirect leads, it is not the receiver that the operator named.
          redirect: 'manual',
          signal: deadline.signal,
        })
        await ignoreBody(response)
        judge(name, response.status)
      } catch (error) {
        if (error instanceof NotificationError) throw error
        const why = deadline.ended ?? `could not be reached: ${reasonOf(error)}`
        throw new NotificationError(`${name} ${why}.`, false, error)
      } finally {
        deadline.clear()
      }
    },
  }
}

function judge(name: string, status: number): void {
  if (status >= 200 && status < 300) return
  const isPermanent = status >= 400 && status < 500 && !temporary.has(status)
  const hint = status >= 300 && status < 400 ? ' Redirects are not followed.' : ''
  throw new NotificationError(`${name} answered with status ${status}.${hint}`, isPermanent)
}

/** An answer may be endless. Its status was all we wanted. */
async function ignoreBody(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => {})
}

/** fetch says only "fetch failed"; the reason is its cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  return messageOf(cause, 200).replace(/\.$/, '')
}
