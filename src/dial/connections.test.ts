import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { isSluiceError } from '../errors.ts'
import type { Connect } from './connection.ts'
import { dialErrorDetail } from './dial-error.ts'
import { type Dialer, type DialerSettings, openDialer } from './dialer.ts'
import { loopbackNetwork } from './loopback.ts'
import type { GetOptions } from './request.ts'

const times = { timeoutMs: 10_000, idleMs: 5_000 }
const plain = { ...times, bytesMax: 100_000 }
const places: Record<string, (request: IncomingMessage, response: ServerResponse) => void> = {
  '/good': (_, response) => response.end('good'),
}
let asked = 0

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => server.close())
  return (server.address() as AddressInfo).port
}

function answering(request: IncomingMessage, response: ServerResponse): void {
  asked += 1
  const place = places[request.url?.split('?')[0] ?? '']
  if (place) place(request, response)
  else response.writeHead(404).end()
}

const network = loopbackNetwork({
  'a.example': await listening(createServer(answering)),
  'b.example': await listening(createServer(answering)),
})

function dialerWith(settings: DialerSettings = {}): Dialer {
  const dialer = openDialer({ ...network, ...settings })
  after(() => dialer.close())
  return dialer
}

async function chunksOf(body: AsyncIterable<Uint8Array>): Promise<readonly Uint8Array[]> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return chunks
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  return Buffer.concat(await chunksOf(body)).toString()
}

async function refuses(act: Promise<unknown>, reason: string, code?: string): Promise<void> {
  await assert.rejects(act, (error: Error) => {
    assert.equal(dialErrorDetail(error)?.reason, reason, error.message)
    if (code !== undefined) assert.ok(isSluiceError(error) && error.code === code, String(error))
    assert.doesNotMatch(error.message, /SECRET/)
    return true
  })
}

/** After every refusal: the same dialer still does what it should. */
async function control(dialer: Dialer): Promise<void> {
  const answer = await dialer.get('http://a.example/good', plain)
  assert.deepEqual([answer.status, answer.length, await textOf(answer.body)], [200, 4, 'good'])
}

// ---- Requests ----

test('options that make no sense are refused before anything is sent', async () => {
  const dialer = dialerWith()
  asked = 0
  const wrong: readonly Partial<GetOptions>[] = [
    { headers: { host: 'evil.example' } },
    { headers: { 'Content-Length': '5' } },
    { headers: { 'Transfer-Encoding': 'chunked' } },
    { headers: { 'Accept-Encoding': 'br' } },
    { headers: { 'x-a': 'SECRET\r\nHost: evil' } },
    { headers: { 'x-a': 'SECRET€' } },
    { headers: { 'x a': 'SECRET' } },
    { headers: { 'x-a': '1', 'X-A': '2' } },
    { headers: { 'x-a': 'a'.repeat(20_000) } },
    { bytesMax: -1 },
    { bytesMax: Number.NaN },
    { timeoutMs: 0 },
    { idleMs: 1.5 },
    { timeoutMs: 10 ** 12 },
    { acceptTypes: ['text'] },
    { acceptTypes: ['a/b\r\nx: y'] },
    { rangeFrom: 5 },
    { rangeFrom: 5, validator: 'W/"weak"' },
    { rangeFrom: 5, validator: '"a"\r\nx: y' },
    { rangeFrom: -1, validator: '"a"' },
    { rangeFrom: 200_000, validator: '"a"' },
  ]
  for (const options of wrong)
    await refuses(dialer.get('http://a.example/good', { ...plain, ...options }), 'request', 'invalid')
  assert.equal(asked, 0)
  await control(dialer)
})

test('a caller who goes away ends the request with his own reason, at every stage', async () => {
  const dialer = dialerWith()
  const reason = new Error('Cancelled.')
  await assert.rejects(dialer.get('http://a.example/good', { ...plain, signal: AbortSignal.abort(reason) }), reason)
  const silent = new AbortController()
  places['/silent'] = () => silent.abort(reason)
  await assert.rejects(dialer.get('http://a.example/silent', { ...plain, signal: silent.signal }), reason)
  const halfway = new AbortController()
  places['/half'] = (_, response) => void response.writeHead(200, { 'content-length': '10' }).write('12345')
  const answer = await dialer.get('http://a.example/half', { ...plain, signal: halfway.signal })
  await assert.rejects(async () => {
    for await (const _ of answer.body) halfway.abort(reason)
  }, reason)
  const resolving = new AbortController()
  const slow = dialerWith({
    resolve: () => {
      resolving.abort(reason)
      return new Promise(() => {})
    },
  })
  await assert.rejects(slow.get('http://a.example/good', { ...plain, signal: resolving.signal }), reason)
  await control(dialer)
})

// ---- Connections ----

test('connections are kept, bounded, and waited for', async () => {
  let [open, most, made] = [0, 0, 0]
  const connect: Connect = async (to, signal) => {
    const dialed = await network.connect(to, signal)
    made += 1
    most = Math.max(most, ++open)
    dialed.socket.once('close', () => {
      open -= 1
    })
    return dialed
  }
  const dialer = dialerWith({ connect, limits: { connectionsMax: 3 } })
  const one = async (index: number): Promise<void> => {
    const host = index % 2 === 0 ? 'a.example' : 'b.example'
    assert.equal(await textOf((await dialer.get(`http://${host}/good`, plain)).body), 'good')
  }
  await Promise.all(Array.from({ length: 40 }, (_, index) => one(index)))
  assert.equal(most, 3)
  const before = made
  for (let index = 0; index < 20; index += 2) await one(index)
  assert.ok(made - before <= 1, `${made - before} new connections for ten requests in a row`)
  const held = await Promise.all([1, 2, 3].map(() => dialer.get('http://a.example/good', plain)))
  const gone = new AbortController()
  const waiting = dialer.get('http://a.example/good', { ...plain, signal: gone.signal })
  const next = control(dialer)
  gone.abort(new Error('Gone.'))
  await assert.rejects(waiting, /Gone/)
  held[0]!.discard()
  await next
  for (const { discard } of held) discard()
  await control(dialer)
})

test('a kept connection that the server has closed meanwhile costs nothing but a new one', async () => {
  let requests = 0
  const server = createTcpServer((socket) => {
    let turns = 0
    socket.on('error', () => {})
    socket.on('data', () => {
      requests += 1
      turns += 1
      // The second request on each connection finds it closing.
      if (turns === 2) socket.destroy()
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => server.close())
  const dialer = dialerWith(loopbackNetwork({ 'a.example': (server.address() as AddressInfo).port }))
  await control(dialer)
  await control(dialer)
  assert.equal(requests, 3)
  // What may not be repeated begins on a connection of its own.
  await dialer.post('http://a.example/', { ...times, body: '', contentType: 'text/plain' })
  assert.equal(requests, 4)
})

test('a place that becomes free for somebody who goes away at that moment is passed on', async () => {
  const gone = new AbortController()
  const sockets: Socket[] = []
  const connect: Connect = async (to, signal) => {
    const dialed = await network.connect(to, signal)
    sockets.push(dialed.socket)
    return dialed
  }
  const dialer = dialerWith({ connect, limits: { connectionsMax: 1 } })
  const held = await dialer.get('http://a.example/good', plain)
  const first = dialer.get('http://a.example/good', { ...plain, signal: gone.signal })
  const second = control(dialer)
  sockets[0]!.once('close', () => gone.abort(new Error('Gone.')))
  held.discard()
  await Promise.all([assert.rejects(first, /Gone/), second])
})

test('a body is read once', async () => {
  const answer = await dialerWith().get('http://a.example/good', plain)
  assert.equal(await textOf(answer.body), 'good')
  await assert.rejects(textOf(answer.body), { code: 'conflict' })
})

test('close ends what is under way, and what comes later', async () => {
  const dialer = openDialer(network)
  places['/endless'] = (_, response) => void response.writeHead(200).write('x')
  const answer = await dialer.get('http://a.example/endless', plain)
  const reading = textOf(answer.body)
  const asking = dialer.get('http://a.example/silent-for-ever', plain)
  places['/silent-for-ever'] = () => {}
  await Promise.all([dialer.close(), refuses(reading, 'closed'), refuses(asking, 'closed')])
  await refuses(dialer.get('http://a.example/good', plain), 'closed', 'conflict')
  await dialer.close()
})
