import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { type Clock, systemClock } from 'sluice'
import { type Notice, NotificationError, type NotificationSettings, notifierOf } from './index.ts'

const notice: Notice = {
  batchId: 7,
  state: 'completed',
  fileName: 'Käse\r\nBcc: spy@example.org',
  uploadedBy: 'ada',
  uploadedAt: 1_700_000_000_000,
  completedAt: 1_700_000_060_000,
  total: 3,
  completed: 3,
  failed: 0,
  skipped: 0,
  reasons: {},
}

const politeness: Readonly<Record<string, string>> = { DATA: '354 go on', STARTTLS: '502 not here', QUIT: '221 bye' }

type Reply = (line: string) => string | null

/** A small SMTP server: it answers what the test wants (null: nothing at all), otherwise politely, and keeps what it took. */
class Sink {
  readonly lines: string[] = []
  readonly mails: string[] = []
  readonly #sockets = new Set<Socket>()
  readonly #server
  readonly #reply: Reply

  constructor(reply: Reply = () => '') {
    this.#reply = reply
    this.#server = createServer((socket) => this.#serve(socket))
  }

  async use<T>(act: (port: number) => Promise<T>): Promise<T> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    try {
      return await act((this.#server.address() as AddressInfo).port)
    } finally {
      for (const socket of this.#sockets) socket.destroy()
      this.#server.close()
    }
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket)
    socket.setEncoding('utf8').on('error', () => {})
    let rest = ''
    let mail: string[] | null = null
    this.#say(socket, 'greeting', '220 sink')
    socket.on('data', (text) => {
      const lines = (rest + text).split('\r\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (mail === null) {
          this.lines.push(line)
          if (line === 'DATA') mail = []
          this.#say(socket, line, politeness[line] ?? '250 fine')
        } else if (line === '.') {
          this.mails.push(mail.join('\n'))
          mail = null
          this.#say(socket, '.', '250 taken')
        } else mail.push(line)
      }
    })
  }

  #say(socket: Socket, line: string, polite: string): void {
    const reply = this.#reply(line)
    if (reply !== null) socket.write(`${reply || polite}\r\n`)
  }
}

type Mail = NonNullable<NotificationSettings['mail']>

function send(
  port: number,
  options: { mail?: Partial<Mail>; clock?: Clock; signal?: AbortSignal } = {},
): Promise<void> {
  const { clock, signal = new AbortController().signal } = options
  const mail = { host: '127.0.0.1', port, from: 'sluice@example.org', to: 'ops@example.org', ...options.mail }
  return notifierOf({ mail }, clock ? { clock } : {})!.send(notice, { key: '7:0:complete_batch', signal })
}

async function errorOf(promise: Promise<void>): Promise<NotificationError> {
  const error = await promise.then(
    () => null,
    (error: unknown) => error,
  )
  assert.ok(error instanceof NotificationError, String(error))
  return error
}

test('a letter arrives with plain headers, its text, and a Message-ID that is the same every time', async () => {
  const sink = new Sink()
  const clock = { ...systemClock(), now: () => 1_700_000_060_000 }
  await sink.use(async (port) => {
    await send(port, { clock, mail: { to: ['ops@example.org', 'ada@example.org'] } })
    await send(port, { clock, mail: { to: ['ops@example.org', 'ada@example.org'] } })
  })
  assert.equal(sink.mails.length, 2)
  assert.ok(sink.lines.includes('MAIL FROM:<sluice@example.org>'))
  assert.deepEqual(sink.lines.filter((line) => line.startsWith('RCPT')).slice(0, 2), [
    'RCPT TO:<ops@example.org>',
    'RCPT TO:<ada@example.org>',
  ])
  const [first, second] = sink.mails.map((mail) => mail.split('\n\n')[0]!)
  assert.equal(first, second, 'both attempts are the same letter')
  assert.match(first!, /^From: sluice@example\.org$/m)
  assert.match(first!, /^To: ops@example\.org, ada@example\.org$/m)
  assert.match(first!, /^Message-ID: <[0-9a-f]{40}@example\.org>$/m)
  assert.match(first!, /^Date: Tue, 14 Nov 2023 22:14:20 \+0000$/m)
  assert.match(first!, /^Auto-Submitted: auto-generated$/m)
  assert.doesNotMatch(first!, /^Bcc/m)
  assert.match(sink.mails[0]!, /Completed +3/)
})

const refusals: readonly [what: string, reply: Reply, permanent: boolean][] = [
  ['a refused sender', (line) => (line.startsWith('MAIL') ? '550 not you' : ''), true],
  ['the only address refused', (line) => (line.startsWith('RCPT') ? '550 nobody' : ''), true],
  ['the only address greylisted', (line) => (line.startsWith('RCPT') ? '450 later' : ''), false],
  ['a refused letter', (line) => (line === '.' ? '554 spam' : ''), true],
  ['a full disk over there', (line) => (line === '.' ? '452 full' : ''), false],
  ['a server that is closed today', (line) => (line === 'greeting' ? '421 closed' : ''), false],
  ['no encryption where it is demanded', () => '', true],
]

for (const [what, reply, permanent] of refusals) {
  test(`${what} means ${permanent ? 'never' : 'try again'}`, async () => {
    const mail = what.startsWith('no encryption') ? ({ tls: 'before_login' } as const) : {}
    const error = await new Sink(reply).use((port) => errorOf(send(port, { mail })))
    assert.equal(error.permanent, permanent, error.message)
    assert.match(error.message, /^The mail server 127\.0\.0\.1:\d+ did not take the mail: /)
  })
}

test('one refused address among others is told; a greylisted one is tried again', async () => {
  const to = ['ops@example.org', 'gone@example.org']
  for (const [status, permanent] of [
    [550, true],
    [450, false],
  ] as const) {
    const sink = new Sink((line) => (line.includes('gone@') ? `${status} no` : ''))
    const error = await sink.use((port) => errorOf(send(port, { mail: { to } })))
    assert.match(error.message, /refused these addresses: gone@example\.org\.$/)
    assert.equal(error.permanent, permanent)
    assert.equal(sink.mails.length, 1)
  }
})

test('a password is not sent without encryption', async () => {
  const sink = new Sink((line) => (line.startsWith('EHLO') ? '250 AUTH PLAIN LOGIN' : ''))
  await sink.use((port) => errorOf(send(port, { mail: { user: 'ada', password: 'lovelace' } })))
  assert.deepEqual(
    sink.lines.filter((line) => line.startsWith('AUTH')),
    [],
  )
})

for (const silent of ['greeting', 'DATA', '.']) {
  test(`a server that falls silent at ${silent} is given up: when time is over, and when the caller stops`, async () => {
    let ring = () => {}
    const clock: Clock = {
      ...systemClock(),
      after(_delayMs, callback) {
        ring = callback
        return () => {}
      },
    }
    const mute = (end: () => void) =>
      new Sink((line) => {
        if (line !== silent) return ''
        end()
        return null
      })
    const late = await mute(() => ring()).use((port) => errorOf(send(port, { clock })))
    assert.match(late.message, /gave no answer in time\.$/)
    assert.equal(late.permanent, false)

    const stop = new AbortController()
    const stopped = await mute(() => stop.abort()).use((port) => errorOf(send(port, { signal: stop.signal })))
    assert.match(stopped.message, /the attempt was stopped\.$/)
  })
}

test('no server, or a stop before the beginning: tried again later', async () => {
  const port = await new Sink().use(async (port) => port)
  const error = await errorOf(send(port))
  assert.match(error.message, /ECONNREFUSED/)
  assert.equal(error.permanent, false)
  const stopped = await errorOf(send(port, { signal: AbortSignal.abort() }))
  assert.match(stopped.message, /was stopped/)
})
