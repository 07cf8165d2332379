import assert from 'node:assert/strict'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { SimulatedClock } from '../testing/kit/simulated-clock.ts'
import { dialErrorDetail } from './dial-error.ts'
import { type Answer, type Dialer, type DialerSettings, openDialer } from './dialer.ts'
import { loopbackNetwork } from './loopback.ts'
import type { GetOptions } from './request.ts'

const plain = { timeoutMs: 10_000, idleMs: 5_000, bytesMax: 1_000_000 }
const ok = 'HTTP/1.1 200 OK\r\n'
const good = `${ok}Content-Length: 4\r\n\r\ngood`

/** What the server does with a connection once it was asked for a path. */
type Play = string | ((socket: Socket) => void)
const plays = new Map<string, Play>([['/good', good]])

const server = createServer((socket) => {
  socket.on('error', () => {})
  socket.on('data', (request) => {
    const play = plays.get(/^\S+ (\S+) /.exec(request.toString())?.[1] ?? '') ?? ''
    if (typeof play === 'function') play(socket)
    else socket.write(play)
  })
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
after(() => server.close())

function dialerWith(settings: DialerSettings = {}): Dialer {
  const network = loopbackNetwork({ 'a.example': (server.address() as AddressInfo).port })
  const dialer = openDialer({ ...network, ...settings })
  after(() => dialer.close())
  return dialer
}

async function bytesOf(answer: Answer): Promise<number> {
  let bytes = 0
  for await (const chunk of answer.body) bytes += chunk.length
  return bytes
}

/** Asks for a path and reads all of it. */
async function read(dialer: Dialer, path: string, options: Partial<GetOptions> = {}): Promise<number> {
  return bytesOf(await dialer.get(`http://a.example${path}`, { ...plain, ...options }))
}

function reasonIs(reason: string): (error: Error) => boolean {
  return (error) => {
    assert.equal(dialErrorDetail(error)?.reason, reason, error.message)
    return true
  }
}

/** Writes for as long as somebody listens. */
function endless(text: string, head = ''): Play {
  return (socket) => {
    socket.write(head)
    const more = () => {
      while (!socket.destroyed && socket.write(text));
    }
    socket.on('drain', more)
    more()
  }
}

const closing =
  (text: string): Play =>
  (socket) =>
    socket.end(text)
const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`

const hostile: readonly (readonly [what: string, play: Play, reason: string])[] = [
  ['an infinite chunked body', endless(chunk, chunked), 'too_big'],
  ['an infinite body without length', endless('x'.repeat(10_000), `${ok}\r\n`), 'too_big'],
  ['a length of 5 GB', `${ok}Content-Length: 5368709120\r\n\r\nx`, 'too_big'],
  ['a length beyond all numbers', `${ok}Content-Length: 99999999999999999999999\r\n\r\nx`, 'protocol'],
  ['a negative length', `${ok}Content-Length: -5\r\n\r\nhello`, 'protocol'],
  ['two lengths', `${ok}Content-Length: 4\r\nContent-Length: 5\r\n\r\ngood`, 'protocol'],
  [
    'a length and chunks',
    `${ok}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ngood\r\n0\r\n\r\n`,
    'protocol',
  ],
  ['a body that ends early', closing(`${ok}Content-Length: 50\r\n\r\nshort`), 'length'],
  ['a body that goes on', `${ok}Content-Length: 4\r\n\r\ngood and more`, 'length'],
  ['a long body that goes on', `${ok}Content-Length: 500000\r\n\r\n${'x'.repeat(500_100)}`, 'length'],
  ['a second response that nobody asked for', good + good, 'length'],
  ['chunks that break off', closing(`${chunked}4\r\ngo`), 'length'],
  ['a chunk of absurd size', `${chunked}ffffffffffffffffff\r\nx`, 'protocol'],
  ['a gzip body, unasked', `${ok}Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\ngood`, 'encoding'],
  [
    'gzip, a thousand times',
    `${ok}Content-Encoding: ${'gzip, '.repeat(999)}gzip\r\nContent-Length: 4\r\n\r\ngood`,
    'encoding',
  ],
  ['gzip in many headers', `${ok}${'Content-Encoding: gzip\r\n'.repeat(99)}Content-Length: 4\r\n\r\ngood`, 'encoding'],
  ['brotli', `${ok}Content-Encoding: br\r\nContent-Length: 4\r\n\r\ngood`, 'encoding'],
  ['gzip as transfer', `${ok}Transfer-Encoding: gzip, chunked\r\n\r\n4\r\ngood\r\n0\r\n\r\n`, 'encoding'],
  ['headers that are too big', `${ok}X: ${'a'.repeat(20_000)}\r\n\r\n`, 'protocol'],
  ['endless headers', endless('X-A: b\r\n'.repeat(1_000), ok), 'protocol'],
  ['endless trailers', endless('X-A: b\r\n'.repeat(1_000), `${chunked}4\r\ngood\r\n0\r\n`), 'protocol'],
  [
    'a part, though the whole was asked for',
    `HTTP/1.1 206 Part\r\nContent-Range: bytes 0-3/9\r\nContent-Length: 4\r\n\r\ngood`,
    'range',
  ],
  ['another protocol', closing('SSH-2.0-OpenSSH_9.6\r\n'), 'protocol'],
  ['line feeds alone', `HTTP/1.1 200 OK\nContent-Length: 4\n\ngood`, 'protocol'],
  ['a folded header', `${ok}X: a\r\n b\r\nContent-Length: 4\r\n\r\ngood`, 'protocol'],
  ['an upgrade', `HTTP/1.1 101 Switch\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n`, 'protocol'],
  ['a connection that closes at once', (socket) => socket.destroy(), 'connection'],
  ['silence and a closed door', closing(''), 'connection'],
]

test('a hostile server gets an error of its own, and the next request is served', async () => {
  assert.ok(hostile.length >= 20)
  const dialer = dialerWith()
  for (const [what, play, reason] of hostile) {
    plays.set('/hostile', play)
    await assert.rejects(read(dialer, '/hostile'), reasonIs(reason), what)
    assert.equal(await read(dialer, '/good'), 4, `control after ${what}`)
  }
})

test('HEAD may promise a kilobyte; the GET is counted as it comes', async () => {
  const dialer = dialerWith()
  plays.set('/liar', (socket) => socket.write(`${ok}Content-Length: 1024\r\n\r\n`))
  assert.equal((await dialer.head('http://a.example/liar', plain)).length, 1024)
  plays.set('/liar', endless(chunk, chunked))
  await assert.rejects(read(dialer, '/liar', { bytesMax: 1_024 }), reasonIs('too_big'))
  plays.set('/liar', `${ok}Content-Length: 5368709120\r\n\r\n`)
  await assert.rejects(dialer.head('http://a.example/liar', plain), reasonIs('too_big'))
  assert.equal(await read(dialer, '/good'), 4)
})

test('exactly bytesMax bytes may come', async () => {
  const dialer = dialerWith()
  assert.equal(await read(dialer, '/good', { bytesMax: 4 }), 4)
  await assert.rejects(read(dialer, '/good', { bytesMax: 3 }), reasonIs('too_big'))
  plays.set('/chunks', `${chunked}4\r\ngood\r\n0\r\n\r\n`)
  assert.equal(await read(dialer, '/chunks', { bytesMax: 4 }), 4)
  await assert.rejects(read(dialer, '/chunks', { bytesMax: 3 }), reasonIs('too_big'))
})

test('gzip comes undone only by whoever asked for it', async () => {
  const dialer = dialerWith()
  const packed = gzipSync('x'.repeat(100_000))
  plays.set('/packed', (socket) => {
    socket.write(`${ok}Content-Encoding: gzip\r\nContent-Length: ${packed.length}\r\n\r\n`)
    socket.write(packed)
  })
  const answer = await dialer.get('http://a.example/packed', { ...plain, acceptGzip: true })
  assert.deepEqual([answer.encoding, await bytesOf(answer)], ['gzip', packed.length])
  plays.set('/packed', `${ok}Content-Encoding: gzip, gzip\r\nContent-Length: 4\r\n\r\ngood`)
  await assert.rejects(read(dialer, '/packed', { acceptGzip: true }), reasonIs('encoding'))
})

test('a response of another type is refused', async () => {
  const dialer = dialerWith()
  const typed = (type: string): Play => `${ok}Content-Type: ${type}\r\nContent-Length: 4\r\n\r\ngood`
  const acceptTypes = ['application/fhir+ndjson', 'text/*']
  for (const [type, fits] of [
    ['application/fhir+ndjson', true],
    ['Application/FHIR+ndjson; charset=utf-8', true],
    ['text/plain', true],
    ['text/html', true],
    ['application/json', false],
    ['textual/plain', false],
    ['', false],
  ] as const) {
    plays.set('/typed', typed(type))
    if (fits) assert.equal(await read(dialer, '/typed', { acceptTypes }), 4, type)
    else await assert.rejects(read(dialer, '/typed', { acceptTypes }), reasonIs('media_type'), type)
  }
  await assert.rejects(read(dialer, '/good', { acceptTypes: ['text/plain'] }), reasonIs('media_type'))
  assert.equal(await read(dialer, '/good', { acceptTypes: ['application/octet-stream'] }), 4)
})

test('a status says what it means for whoever asks again', async () => {
  const dialer = dialerWith({ clock: new SimulatedClock(Date.UTC(2026, 0, 1, 12)) })
  const rows: readonly (readonly [
    status: number,
    headers: string,
    code: string,
    retryable: boolean,
    waitMs?: number,
  ])[] = [
    [404, '', 'not_found', false],
    [401, '', 'forbidden', false],
    [405, '', 'unsupported', false],
    [400, '', 'invalid', false],
    [304, '', 'invalid', false],
    [429, 'Retry-After: 120\r\n', 'internal', true, 120_000],
    [503, 'Retry-After: 99999999999\r\n', 'internal', true, 3_600_000],
    [503, 'Retry-After: Thu, 01 Jan 2026 12:00:09 GMT\r\n', 'internal', true, 9_000],
    [503, 'Retry-After: never\r\n', 'internal', true],
    [500, '', 'internal', true],
  ]
  for (const [status, headers, code, retryable, waitMs] of rows) {
    plays.set('/status', `HTTP/1.1 ${status} Status\r\n${headers}Content-Length: 0\r\n\r\n`)
    const url = 'http://a.example/status'
    const wait = waitMs === undefined ? {} : { retryAfterMs: waitMs }
    await assert.rejects(dialer.get(url, plain), {
      code,
      detail: { reason: 'status', url, retryable, status, ...wait },
    })
    assert.equal(await read(dialer, '/good'), 4)
  }
})

test('early hints are passed over; a body may end with its connection', async () => {
  const dialer = dialerWith()
  plays.set('/hints', `HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${good}`)
  assert.equal(await read(dialer, '/hints'), 4)
  plays.set('/old', closing('HTTP/1.0 200 OK\r\n\r\ngood'))
  assert.equal(await read(dialer, '/old'), 4)
  plays.set('/empty', `HTTP/1.1 204 Nothing\r\n\r\n`)
  assert.equal(await read(dialer, '/empty'), 0)
})

// ---- Time ----

/** A server that was asked; the clock stands still until the test moves it. */
function asked(path: string, play: Play): Promise<Socket> {
  const { promise, resolve } = Promise.withResolvers<Socket>()
  plays.set(path, (socket) => {
    if (typeof play === 'string') socket.write(play)
    else play(socket)
    resolve(socket)
  })
  return promise
}

test('a server that says nothing is left after idleMs', async () => {
  const clock = new SimulatedClock()
  const dialer = dialerWith({ clock })
  for (const play of ['', 'HTTP/1.1 200', ok, `HTTP/1.1 103 Early Hints\r\n\r\n`]) {
    const isAsked = asked('/silent', play)
    const reading = read(dialer, '/silent')
    await isAsked
    await Promise.all([assert.rejects(reading, reasonIs('idle')), clock.advance(5_000)])
    assert.equal(await read(dialer, '/good'), 4)
  }
})

test('a body that drips is left after idleMs, one that flows is not', async () => {
  const clock = new SimulatedClock()
  const dialer = dialerWith({ clock })
  const isAsked = asked('/drip', `${chunked}1\r\nx\r\n`)
  const answer = await dialer.get('http://a.example/drip', { ...plain, timeoutMs: 600_000 })
  const socket = await isAsked
  const chunks = answer.body[Symbol.asyncIterator]()
  await chunks.next()
  // A kilobyte in every five seconds is a flow.
  for (let turn = 0; turn < 10; turn += 1) {
    const next = chunks.next()
    await clock.advance(4_000)
    socket.write(`400\r\n${'x'.repeat(1_024)}\r\n`)
    assert.equal((await next).done, false)
  }
  // A byte in every two seconds is none.
  const drip = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn += 1) {
      const next = Promise.allSettled([chunks.next()])
      await clock.advance(2_000)
      socket.write('1\r\nx\r\n')
      const [end] = await next
      if (end?.status === 'rejected') throw end.reason
    }
  }
  await assert.rejects(drip(), reasonIs('idle'))
  assert.equal(await read(dialer, '/good'), 4)
})

test('patience begins anew with the body', async () => {
  const clock = new SimulatedClock()
  const dialer = dialerWith({ clock })
  const isAsked = asked('/slow', '')
  const asking = dialer.get('http://a.example/slow', plain)
  const socket = await isAsked
  await clock.advance(4_000)
  socket.write(`${ok}Content-Length: 4\r\n\r\n`)
  const reading = bytesOf(await asking)
  await clock.advance(4_000)
  socket.write('good')
  assert.equal(await reading, 4)
})

test('the time of a slow reader is not held against the server, but all of it counts', async () => {
  const clock = new SimulatedClock()
  const dialer = dialerWith({ clock })
  plays.set('/long', `${chunked}4\r\ngood\r\n4\r\ngood\r\n0\r\n\r\n`)
  const patient = await dialer.get('http://a.example/long', { ...plain, timeoutMs: 600_000 })
  await clock.advance(60_000)
  assert.equal(await bytesOf(patient), 8)
  const late = await dialer.get('http://a.example/long', { ...plain, timeoutMs: 10_000 })
  await clock.advance(10_000)
  await assert.rejects(bytesOf(late), reasonIs('timeout'))
  // A body that nobody reads ends too, and gives its place free.
  await dialer.get('http://a.example/long', { ...plain, timeoutMs: 10_000 })
  await clock.advance(10_000)
  assert.equal(await read(dialer, '/good'), 4)
})

test('redirects share the time of the whole request', async () => {
  const clock = new SimulatedClock()
  const dialer = dialerWith({ clock })
  plays.set('/first', `HTTP/1.1 302 Found\r\nLocation: /second\r\nContent-Length: 0\r\n\r\n`)
  const isAsked = asked('/second', '')
  const reading = read(dialer, '/first', { timeoutMs: 3_000 })
  await isAsked
  await Promise.all([assert.rejects(reading, reasonIs('timeout')), clock.advance(3_000)])
  assert.equal(await read(dialer, '/good'), 4)
})
