import { type Clock, systemClock } from 'sluice'
import { type MailPorts, mailNotifier, smtpTransport } from './mail.ts'
import { allOf, type Notifier } from './notifier.ts'
import { checkedSettings, type NotificationSettings } from './settings.ts'
import { type WebhookPorts, webhookNotifier } from './webhook.ts'

export type { Mail, MailTransport, Receipt } from './mail.ts'
export type { Notice } from './notice.ts'
export { isPermanent, NotificationError, type Notifier, type SendOptions } from './notifier.ts'
export { checkedSettings, type NotificationSettings } from './settings.ts'
export { signatureHeader, signatureOf, type VerifyOptions, verifySignature } from './signature.ts'

/** What a notifier reaches the world with. */
export interface NotifierPorts {
  readonly clock?: Clock
  /** How names are resolved and connections made; default: as the system does. */
  readonly network?: WebhookPorts['network']
  readonly transport?: MailPorts['transport']
}

/** The notifier that the settings ask for; null if they ask for none. */
export function notifierOf(settings: NotificationSettings | undefined, ports: NotifierPorts = {}): Notifier | null {
  const { clock = systemClock(), transport = smtpTransport, network = {} } = ports
  const { webhook, mail } = checkedSettings(settings ?? {})
  const channels = [
    ...(webhook ? [webhookNotifier(webhook, { clock, network })] : []),
    ...(mail ? [mailNotifier(mail, { transport, clock })] : []),
  ]
  return channels.length === 0 ? null : allOf(channels)
}
