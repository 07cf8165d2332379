import { type Clock, messageOf, SluiceError } from 'sluice'
import { type Dialer, type DialerSettings, type DialReason, dialErrorDetail, openDialer } from 'sluice/dial'
import { bodyOf } from './notice.ts'
import { NotificationError, type Notifier } from './notifier.ts'
import type { WebhookSettings } from './settings.ts'
import { signatureHeader, signatureOf } from './signature.ts'

/** These answers of the 4xx kind speak of the moment, not of the request. */
const temporary = new Set([408, 425, 429])
/** Only other settings help against these. */
const refusals: ReadonlySet<DialReason> = new Set(['request', 'url', 'scheme', 'userinfo', 'port', 'address'])

export interface WebhookPorts {
  readonly clock: Clock
  readonly network: Pick<DialerSettings, 'resolve' | 'connect' | 'authorities'>
}

/** POSTs the notice, signed, through the guarded dialer. Any 2xx is a receipt; nothing else of the answer counts. */
export function webhookNotifier({ url, secret, timeoutMs, allow }: WebhookSettings, ports: WebhookPorts): Notifier {
  const { clock, network } = ports
  const dialer = dialerFor(url, allow, clock, network)
  // A path or a query may hold a token: people are told the host only.
  const name = `The webhook at ${url.host}`
  return {
    async send(notice, { key, signal }) {
      if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
        throw new NotificationError(`${name} was not called: the key is not 1 to 255 visible ASCII characters.`, true)
      }
      const body = bodyOf(notice, key)
      const headers = {
        'User-Agent': 'sluice',
        'Idempotency-Key': key,
        [signatureHeader]: signatureOf(body, secret, clock.now()),
      }
      const times = { timeoutMs, idleMs: timeoutMs, signal }
      try {
        await dialer.post(url.href, { body, contentType: 'application/json', headers, ...times })
      } catch (error) {
        throw failureOf(name, error, signal)
      }
    },
    close: () => dialer.close(),
  }
}

/** An address that the guard refuses is refused where it is configured, and not when the first batch has ended. */
function dialerFor(url: URL, allow: readonly string[], clock: Clock, network: WebhookPorts['network']): Dialer {
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  try {
    const dialer = openDialer({ clock, rules: { allow, ports: [port] }, ...network })
    dialer.check(url.href)
    return dialer
  } catch (error) {
    const hint = dialErrorDetail(error)?.reason === 'address' ? ' Name it in notification.webhook.allow.' : ''
    throw new SluiceError('invalid', `The notification settings do not fit: ${messageOf(error)}${hint}`, {}, error)
  }
}

function failureOf(name: string, error: unknown, signal: AbortSignal): NotificationError {
  const { reason, status } = dialErrorDetail(error) ?? {}
  if (status !== undefined) {
    const isPermanent = status >= 400 && status < 500 && !temporary.has(status)
    const hint = status >= 300 && status < 400 ? ' Redirects are not followed.' : ''
    return new NotificationError(`${name} answered with status ${status}.${hint}`, isPermanent, error)
  }
  const isPermanent = reason !== undefined && refusals.has(reason)
  return new NotificationError(`${name} ${whyNot(error, reason, signal)}.`, isPermanent, error)
}

function whyNot(error: unknown, reason: DialReason | undefined, signal: AbortSignal): string {
  if (signal.aborted) return 'was not waited for: the attempt was stopped'
  if (reason === 'timeout' || reason === 'idle') return 'gave no answer in time'
  if (reason === 'address')
    return 'may not be reached: it leads to an address that is not public; see notification.webhook.allow'
  return `could not be reached: ${causeOf(error, reason)}`
}

/** The dialer's own message names the whole URL, whose path may hold a token. */
function causeOf(error: unknown, reason: DialReason | undefined): string {
  const { failure } = error instanceof SluiceError ? error.detail : {}
  if (typeof failure === 'string') return failure
  switch (reason) {
    case undefined:
      return messageOf(error, 200).replace(/\.$/, '')
    case 'name':
      return 'its name cannot be resolved'
    case 'certificate':
      return 'its certificate was refused'
    default:
      return reason
  }
}
