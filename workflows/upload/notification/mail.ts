import { type Clock, messageOf } from 'sluice'
import { Deadline } from './deadline.ts'
import { letterOf } from './notice.ts'
import { NotificationError, type Notifier } from './notifier.ts'
import type { MailSettings } from './settings.ts'

/** What is needed of a mail library. */
export interface MailTransport {
  send(mail: Mail): Promise<Receipt>
  /** Ends also what is under way. */
  close(): void
}

export interface Mail {
  readonly from: string
  readonly to: readonly string[]
  readonly subject: string
  readonly text: string
  readonly messageId: string
  readonly date: Date
}

/** Some addresses may be refused while the others are accepted; a status below 500 means for the moment. */
export interface Receipt {
  readonly refused: readonly { readonly address: string; readonly status: number }[]
}

export interface MailPorts {
  readonly transport: (settings: MailSettings) => Promise<MailTransport>
  readonly clock: Clock
}

export function mailNotifier(settings: MailSettings, { transport, clock }: MailPorts): Notifier {
  const name = `The mail server ${settings.host}:${settings.port}`
  return {
    async send(notice, { key, signal }) {
      // One connection for one letter: batches end rarely, and servers close what idles.
      const connection = await transport(settings)
      const deadline = new Deadline(clock, settings.timeoutMs, signal)
      const close = () => connection.close()
      deadline.signal.addEventListener('abort', close, { once: true })
      try {
        if (deadline.signal.aborted) throw deadline.signal.reason
        const { from, to } = settings
        const letter = letterOf(notice, key, from.slice(from.lastIndexOf('@') + 1))
        judge(name, await connection.send({ from, to, ...letter, date: new Date(clock.now()) }))
      } catch (error) {
        if (error instanceof NotificationError) throw error
        const why = deadline.ended ?? `did not take the mail: ${messageOf(error, 200).replace(/\.$/, '')}`
        throw new NotificationError(`${name} ${why}.`, deadline.ended === null && isRefusal(error), error)
      } finally {
        deadline.signal.removeEventListener('abort', close)
        deadline.clear()
        close()
      }
    },
  }
}

/** Who was refused for the moment is worth another try: those who have the mail know it by its Message-ID. */
function judge(name: string, { refused }: Receipt): void {
  if (refused.length === 0) return
  const addresses = refused.map(({ address }) => address).join(', ')
  throw new NotificationError(
    `${name} took the mail, but refused these addresses: ${addresses}.`,
    refused.every(({ status }) => isForGood(status)),
  )
}

/** SMTP statuses from 500 on mean "never", those below "not now". Without a status it was the network. */
function isRefusal(error: unknown): boolean {
  return isForGood((error as { responseCode?: unknown })?.responseCode)
}

function isForGood(status: unknown): boolean {
  return typeof status === 'number' && status >= 500 && status < 600
}

/** The real thing, over SMTP. The library is loaded when a letter is to be sent: it takes 23 MiB, which most processes can keep. */
export async function smtpTransport(settings: MailSettings): Promise<MailTransport> {
  const { createTransport } = await import('nodemailer')
  const { host, port, user, password, timeoutMs } = settings
  const tls = settings.tls ?? (port === 465 ? 'always' : password === undefined ? 'if_offered' : 'before_login')
  const transporter = createTransport({
    // Only a pool can be closed in the middle of a letter.
    pool: true,
    maxConnections: 1,
    maxRequeues: 0,
    host,
    port,
    secure: tls === 'always',
    requireTLS: tls === 'before_login',
    ignoreTLS: tls === 'never',
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    // A letter is text that we wrote: nothing in it is to be read from a file or an address.
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(user !== undefined && password !== undefined ? { auth: { user, pass: password } } : {}),
  })
  return {
    async send({ from, to, subject, text, messageId, date }) {
      const info = await transporter.sendMail({
        from: { name: '', address: from },
        to: to.map((address) => ({ name: '', address })),
        subject,
        text,
        messageId,
        date,
        // Keeps holiday answers away.
        headers: { 'Auto-Submitted': 'auto-generated' },
      })
      return { refused: (info.rejectedErrors ?? []).map(refusalOf) }
    },
    close: () => transporter.close({ force: true }),
  }
}

function refusalOf(error: { recipient?: unknown; responseCode?: unknown }): Receipt['refused'][number] {
  return { address: String(error.recipient), status: Number(error.responseCode) }
}
