import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { type Clock, systemClock } from 'sluice'
import { isPermanent, type Notice, NotificationError, notifierOf, verifySignature } from './index.ts'

const secret = 'correct horse battery'
const notice: Notice = {
  batchId: 7,
  state: 'completed',
  fileName: 'items.json',
  uploadedBy: 'ada',
  uploadedAt: 1_700_000_000_000,
  completedAt: 1_700_000_060_000,
  total: 3,
  completed: 3,
  failed: 0,
  skipped: 0,
  reasons: {},
}

/** A real server on the loopback interface, closed with all its connections at the end. */
async function serving<T>(listener: RequestListener, use: (url: string) => Promise<T>): Promise<T> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?token=hidden`)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

function send(url: string, options: { clock?: Clock; signal?: AbortSignal; key?: string } = {}): Promise<void> {
  const { clock, signal = new AbortController().signal, key = 'upload-1f-7:0:notify_completed' } = options
  return notifierOf({ webhook: { url, secret, allow: ['127.0.0.1'] } }, clock ? { clock } : {})!.send(notice, {
    key,
    signal,
  })
}

async function errorOf(promise: Promise<void>): Promise<NotificationError> {
  const error = await promise.then(
    () => null,
    (error: unknown) => error,
  )
  assert.ok(error instanceof NotificationError, String(error))
  return error
}

/** Time that passes when the test says so. */
function handClock() {
  const timers = new Set<() => void>()
  const clock: Clock = {
    ...systemClock(),
    now: () => 1_700_000_060_000,
    after(_delayMs, callback) {
      timers.add(callback)
      return () => timers.delete(callback)
    },
  }
  const ring = () => {
    for (const callback of timers) callback()
  }
  return { clock, timers, ring }
}

const answer =
  (status: number, headers = {}) =>
  (_: IncomingMessage, response: ServerResponse) => {
    response.writeHead(status, headers).end('whatever')
  }

test('a receiver gets the notice, its key and a signature that verifies', async () => {
  const { clock, timers } = handClock()
  const requests: { request: IncomingMessage; body: string }[] = []
  await serving(
    async (request, response) => {
      requests.push({ request, body: await text(request) })
      response.writeHead(204).end()
    },
    (url) => send(url, { clock }),
  )
  const [{ request, body } = assert.fail('nothing came'), ...more] = requests
  assert.deepEqual(more, [])
  assert.equal(request.method, 'POST')
  assert.equal(request.url, '/hook?token=hidden')
  assert.equal(request.headers['content-type'], 'application/json')
  assert.equal(request.headers['idempotency-key'], 'upload-1f-7:0:notify_completed')
  const header = String(request.headers['sluice-signature'])
  assert.match(header, /^t=1700000060,v1=/)
  assert.ok(verifySignature(body, header, secret, { now: clock.now() }))
  assert.equal(JSON.parse(body).batchId, 7)
  assert.equal(timers.size, 0, 'the timer of the deadline is cancelled')
})

test('the same notice is the same body and key on every attempt', async () => {
  const seen: string[] = []
  const listener: RequestListener = async (request, response) => {
    seen.push(`${request.headers['idempotency-key']} ${await text(request)}`)
    response.writeHead(seen.length === 1 ? 503 : 200).end()
  }
  await serving(listener, async (url) => {
    await errorOf(send(url))
    await send(url)
  })
  assert.equal(seen.length, 2)
  assert.equal(seen[0], seen[1])
})

for (const [status, permanent] of [
  [400, true],
  [401, true],
  [404, true],
  [410, true],
  [408, false],
  [429, false],
  [500, false],
  [503, false],
] as const) {
  test(`status ${status} means ${permanent ? 'never' : 'try again'}`, async () => {
    const error = await serving(answer(status), (url) => errorOf(send(url)))
    assert.equal(isPermanent(error), permanent)
    assert.match(error.message, new RegExp(`^The webhook at 127\\.0\\.0\\.1:\\d+ answered with status ${status}\\.$`))
    assert.doesNotMatch(error.message, /hidden/)
  })
}

test('a redirect is not followed', async () => {
  let others = 0
  const error = await serving(
    (_, response) => {
      others += 1
      response.end()
    },
    (target) => serving(answer(307, { location: target }), (url) => errorOf(send(url))),
  )
  assert.equal(others, 0)
  assert.match(error.message, /status 307\. Redirects are not followed\.$/)
  assert.equal(error.permanent, false)
})

test('an endless answer is not read', async () => {
  let closed: Promise<unknown> = Promise.resolve()
  await serving(
    (_, response) => {
      closed = once(response, 'close')
      response.writeHead(200)
      const pour = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      }
      response.on('drain', pour).on('error', () => {})
      pour()
    },
    async (url) => {
      await send(url)
      await closed
    },
  )
})

test('a server that never answers is given up when the time is over', async () => {
  const { clock, ring } = handClock()
  const error = await serving(
    () => ring(),
    (url) => errorOf(send(url, { clock })),
  )
  assert.match(error.message, /gave no answer in time\.$/)
  assert.equal(error.permanent, false)
})

test('a caller who stops waiting is obeyed at once', async () => {
  const stop = new AbortController()
  const error = await serving(
    () => stop.abort(),
    (url) => errorOf(send(url, { signal: stop.signal })),
  )
  assert.match(error.message, /the attempt was stopped\.$/)
  assert.equal(error.permanent, false)
})

test('a server that is not there is tried again later, and the reason is told', async () => {
  const url = await serving(answer(200), async (url) => url)
  const error = await errorOf(send(url))
  assert.match(error.message, /could not be reached: .*ECONNREFUSED/)
  assert.equal(error.permanent, false)
})

test('a key that cannot be a header is refused before anything is sent', async () => {
  const error = await serving(
    () => assert.fail('nothing must come'),
    (url) => errorOf(send(url, { key: 'a\r\nX: y' })),
  )
  assert.equal(error.permanent, true)
})

test('a receiver that is not public is refused where it is configured, unless it is allowed', () => {
  for (const url of ['http://127.0.0.1:8080/hook', 'http://169.254.169.254/', 'https://10.1.2.3/hook']) {
    assert.throws(() => notifierOf({ webhook: { url, secret } }), /notification\.webhook\.allow/)
    assert.ok(notifierOf({ webhook: { url, secret, allow: [new URL(url).hostname] } }))
  }
  const wrong = { webhook: { url: 'https://example.org/', secret, allow: ['10.0.0.0/99'] } }
  assert.throws(() => notifierOf(wrong), /notification settings do not fit: .*10\.0\.0\.0\/99/)
})

test('a name that leads to an address that is not public is not called, and never will be', async () => {
  let calls = 0
  const error = await serving(
    (_, response) => {
      calls += 1
      response.end()
    },
    async (url) => {
      const named = url.replace('127.0.0.1', 'hooks.example.org')
      const network = { resolve: async () => ['127.0.0.1'] }
      const notifier = notifierOf({ webhook: { url: named, secret } }, { network })!
      const sent = notifier.send(notice, { key: 'k', signal: new AbortController().signal })
      return errorOf(sent).finally(() => notifier.close?.())
    },
  )
  assert.equal(calls, 0)
  assert.equal(isPermanent(error), true)
  assert.match(error.message, /hooks\.example\.org:\d+ may not be reached: .*notification\.webhook\.allow\.$/)
  assert.doesNotMatch(error.message, /hidden/)
})
