import { SluiceError } from 'sluice'
import { z } from 'zod'

/** Where notices go. Both, either or none. These are the operator's settings: an uploader has no say in them. */
const timeoutMs = z.int().min(1).max(600_000).default(10_000)

const webhook = z.strictObject({
  url: z.string().transform((text, context) => urlOf(text, (message) => context.addIssue({ code: 'custom', message }))),
  /** Shared with the receiver, who checks the signature with it. */
  secret: z.string().min(16, 'a secret of at least 16 characters was expected').max(1_000),
  /** Hosts and networks of one's own that are not public: `127.0.0.1`, `10.1.2.0/24`, `hooks.example.org`. */
  allow: z.array(z.string().min(1).max(300)).max(100).default([]),
  timeoutMs,
})

/** One plain address. Names, groups and comments have surprised many a mail parser, and are not needed here. */
const address = z
  .string()
  .max(254)
  .regex(/^[^\s\p{Cc}<>()[\]\\,;:"@]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*$/u, 'a plain mail address was expected')

const mail = z
  .strictObject({
    host: z.string().regex(/^[A-Za-z0-9.:_-]{1,253}$/, 'a host name or an address was expected'),
    port: z.int().min(1).max(65_535),
    from: address,
    to: z.preprocess((to) => (typeof to === 'string' ? [to] : to), z.array(address).min(1).max(50)),
    user: z.string().min(1).max(1_000).optional(),
    password: z.string().min(1).max(1_000).optional(),
    /** Default: from the first byte on port 465, before a password elsewhere, otherwise if the server offers it. */
    tls: z.enum(['always', 'before_login', 'if_offered', 'never']).optional(),
    timeoutMs,
  })
  .refine(({ user, password }) => (user === undefined) === (password === undefined), {
    message: 'user and password go together',
    path: ['password'],
  })
  .refine(({ tls, password }) => password === undefined || (tls !== 'never' && tls !== 'if_offered'), {
    message: 'a password is never sent in the clear: always or before_login was expected',
    path: ['tls'],
  })

const settings = z.strictObject({ webhook: webhook.optional(), mail: mail.optional() })

export type NotificationSettings = z.input<typeof settings>
export type CheckedSettings = z.output<typeof settings>
export type WebhookSettings = z.output<typeof webhook>
export type MailSettings = z.output<typeof mail>

/** The settings with their defaults; anything wrong is refused, all of it at once. Secrets are not repeated in the message. */
export function checkedSettings(given: unknown): CheckedSettings {
  const result = settings.safeParse(given)
  if (result.success) return result.data
  const faults = result.error.issues.map(({ path, message }) => `${['notification', ...path].join('.')}: ${message}`)
  throw new SluiceError('invalid', `The notification settings do not fit: ${faults.join('; ')}.`, { faults })
}

function urlOf(text: string, refuse: (message: string) => void): URL {
  // The parser would drop line breaks without a word.
  const url = /[\p{Cc}\s]/u.test(text) ? null : URL.parse(text)
  if (!url || !['http:', 'https:'].includes(url.protocol)) refuse('an http or https address was expected')
  else if (url.username || url.password) refuse('an address without user and password was expected; the secret signs')
  return url ?? new URL('http://invalid.invalid')
}
