import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { isSluiceError } from '../errors.ts'
import { SimulatedClock } from '../testing/kit/simulated-clock.ts'
import type { Connect, Resolve } from './connection.ts'
import { dialErrorDetail } from './dial-error.ts'
import { type Dialer, type DialerSettings, openDialer } from './dialer.ts'
import { loopbackNetwork } from './loopback.ts'

const times = { timeoutMs: 10_000, idleMs: 5_000 }
const plain = { ...times, bytesMax: 100_000 }
const places: Record<string, (request: IncomingMessage, response: ServerResponse) => void> = {
  '/good': (_, response) => response.end('good'),
}
const asked: { readonly at: string; readonly headers: IncomingMessage['headers']; readonly method?: string }[] = []

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => server.close())
  return (server.address() as AddressInfo).port
}

function answering(request: IncomingMessage, response: ServerResponse): void {
  asked.push({ at: `${request.headers.host}${request.url}`, headers: request.headers, method: request.method ?? '' })
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

function redirecting(path: string, location: string | readonly string[], status = 302): void {
  places[path] = (_, response) => {
    response.writeHead(status, { location: location as string }).end('moved')
  }
}

// ---- Names ----

test('a name that is rebound to an inner address is refused at its next connection', async () => {
  let answers: readonly string[] = []
  const resolve: Resolve = async (host, signal) =>
    host === 'rebound.example' ? answers : network.resolve(host, signal)
  const dialer = dialerWith({ resolve })
  places['/once'] = (_, response) => response.setHeader('connection', 'close').end('once')
  answers = await network.resolve('a.example', new AbortController().signal)
  assert.equal(await textOf((await dialer.get('http://rebound.example/once', plain)).body), 'once')
  answers = ['127.0.0.1']
  await refuses(dialer.get('http://rebound.example/once', plain), 'address', 'forbidden')
  await control(dialer)
})

test('a name is resolved once for a connection, and this answer is dialed', async () => {
  const dialed: string[] = []
  let turns = 0
  const resolve: Resolve = async (host, signal) => (turns++ === 0 ? network.resolve(host, signal) : ['127.0.0.1'])
  const connect: Connect = (to, signal) => {
    dialed.push(to.address)
    return network.connect(to, signal)
  }
  const dialer = dialerWith({ resolve, connect })
  await control(dialer)
  await control(dialer)
  assert.deepEqual([turns, dialed], [1, ['93.184.215.14']])
})

test('one bad answer refuses the whole name, and nothing is dialed', async () => {
  const [good = ''] = await network.resolve('a.example', new AbortController().signal)
  const answers: Record<string, readonly string[]> = {
    'mixed.example': [good, '::1'],
    'last.example': [good, good, '10.0.0.1'],
    'metadata.example': ['169.254.169.254'],
    'mapped.example': ['::ffff:127.0.0.1'],
    'nat64.example': ['64:ff9b::7f00:1'],
    'zone.example': ['fe80::1%lo'],
    'odd.example': ['0x7f.1'],
    'text.example': [good, 'localhost'],
    'many.example': new Array(65).fill(good),
  }
  let dialed = 0
  const dialer = dialerWith({
    resolve: async (host, signal) => answers[host] ?? network.resolve(host, signal),
    connect: (to, signal) => {
      dialed += 1
      return network.connect(to, signal)
    },
  })
  for (const host of Object.keys(answers)) {
    await refuses(dialer.get(`http://${host}/?SECRET`, plain), 'address', 'forbidden')
    await refuses(dialer.head(`http://${host}/?SECRET`, plain), 'address', 'forbidden')
    await refuses(dialer.post(`http://${host}/?SECRET`, { ...times, body: '', contentType: 'text/plain' }), 'address')
  }
  assert.equal(dialed, 0)
  await control(dialer)
})

test('a connection that comes out elsewhere is refused', async () => {
  for (const remoteAddress of ['127.0.0.1', '93.184.215.99', undefined, 'nonsense']) {
    const elsewhere = dialerWith({
      connect: async (to, signal) => ({ ...(await network.connect(to, signal)), remoteAddress }),
    })
    await refuses(elsewhere.get('http://a.example/good', plain), 'address', 'forbidden')
  }
  const mapped = dialerWith({
    connect: async (to, signal) => ({ ...(await network.connect(to, signal)), remoteAddress: `::ffff:${to.address}` }),
  })
  await control(mapped)
})

test('names that cannot be resolved say whether to try again', async () => {
  const failing =
    (code: string): Resolve =>
    async () => {
      throw Object.assign(new Error('No.'), { code })
    }
  await assert.rejects(dialerWith({ resolve: failing('ENOTFOUND') }).get('http://x.example/', plain), {
    code: 'not_found',
    detail: { reason: 'name', url: 'http://x.example/', retryable: false },
  })
  await assert.rejects(dialerWith({ resolve: failing('EAI_AGAIN') }).get('http://x.example/', plain), {
    detail: { reason: 'name', url: 'http://x.example/', retryable: true },
  })
  await refuses(dialerWith({ resolve: async () => [] }).get('http://x.example/', plain), 'name')
})

test('if one address cannot be reached, the next is tried', async () => {
  const [good = ''] = await network.resolve('a.example', new AbortController().signal)
  const dialer = dialerWith({ resolve: async () => ['93.184.215.99', good] })
  await control(dialer)
  const none = dialerWith({ resolve: async () => ['93.184.215.98', '93.184.215.99'] })
  await assert.rejects(none.get('http://a.example/good', plain), (error) => dialErrorDetail(error)?.retryable === true)
})

test('a public address in a URL is dialed as it stands, without a resolver', async () => {
  const dialed: string[] = []
  const dialer = dialerWith({
    resolve: async () => assert.fail('There is no name to resolve.'),
    connect: async (to, signal) => {
      dialed.push(`${to.family} ${to.address} ${to.port}`)
      const { socket } = await network.connect({ ...to, address: '93.184.215.14' }, signal)
      return { socket, remoteAddress: to.address }
    },
  })
  asked.length = 0
  for (const host of ['93.184.215.14', '[2606:4700:0::1111]:8080']) {
    assert.equal(await textOf((await dialer.get(`http://${host}/good`, plain)).body), 'good')
  }
  assert.deepEqual(dialed, ['4 93.184.215.14 80', '6 2606:4700::1111 8080'])
  assert.deepEqual(
    asked.map(({ at }) => at),
    ['93.184.215.14/good', '[2606:4700::1111]:8080/good'],
  )
})

test('resolving and connecting have a time of their own', async () => {
  const clock = new SimulatedClock()
  const started = Promise.withResolvers<void>()
  const never = () => {
    started.resolve()
    return new Promise<never>(() => {})
  }
  const deaf = dialerWith({ clock, resolve: never }).get('http://a.example/', { ...plain, timeoutMs: 60_000 })
  await started.promise
  await Promise.all([refuses(deaf, 'timeout'), clock.advance(10_000)])
  const again = Promise.withResolvers<void>()
  const connect: Connect = () => {
    again.resolve()
    return new Promise<never>(() => {})
  }
  const mute = dialerWith({ clock, connect }).get('http://a.example/', { ...plain, timeoutMs: 60_000 })
  await again.promise
  await Promise.all([refuses(mute, 'timeout'), clock.advance(10_000)])
})

test('proxies of the environment are not asked', async () => {
  const names = ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'NODE_USE_ENV_PROXY']
  for (const name of names) process.env[name] = 'http://127.0.0.1:9/'
  try {
    await control(dialerWith())
  } finally {
    for (const name of names) delete process.env[name]
  }
})

test('the machine itself is out of reach without any injected part, and opened only by its network', async () => {
  const server = createServer((_, response) => response.end('good'))
  const port = await listening(server)
  const guarded = openDialer({ rules: { ports: [port] } })
  after(() => guarded.close())
  await refuses(guarded.get(`http://127.0.0.1:${port}/`, plain), 'address')
  await refuses(guarded.get(`http://localhost:${port}/`, plain), 'address')
  const own = openDialer({ rules: { ports: [port], allow: ['127.0.0.1'] } })
  after(() => own.close())
  assert.equal(await textOf((await own.get(`http://127.0.0.1:${port}/`, plain)).body), 'good')
})

// ---- Redirects ----

test('every target of a redirect is checked from scratch', async () => {
  const resolve: Resolve = async (host, signal) =>
    host === 'inner.example' ? ['10.0.0.7'] : network.resolve(host, signal)
  const dialer = dialerWith({ resolve })
  const targets: readonly (readonly [location: string | readonly string[], reason: string])[] = [
    ['file:///etc/passwd', 'scheme'],
    ['gopher://a.example/', 'scheme'],
    ['http://127.0.0.1/?SECRET', 'address'],
    ['http://[::ffff:a9fe:a9fe]/', 'address'],
    ['http://0x7f.1/', 'address'],
    ['//169.254.169.254/latest', 'address'],
    ['http://inner.example/?SECRET', 'address'],
    ['http://user:SECRET@a.example/', 'userinfo'],
    ['http://a.example:22/', 'port'],
    ['http:\\\\127.0.0.1\\', 'url'],
    ['http://unknown.example/', 'name'],
    [['/good', 'http://127.0.0.1/'], 'url'],
    [`/${'x'.repeat(5_000)}`, 'url'],
  ]
  for (const status of [301, 302, 303, 307, 308]) {
    for (const [location, reason] of targets) {
      redirecting('/away', location, status)
      await refuses(dialer.get('http://a.example/away', plain), reason)
      await refuses(dialer.head('http://a.example/away', plain), reason)
    }
    await control(dialer)
  }
  places['/nowhere'] = (_, response) => response.writeHead(302).end()
  await refuses(dialer.get('http://a.example/nowhere', plain), 'redirect')
  await control(dialer)
})

test('five redirects are followed, a sixth is not', async () => {
  const dialer = dialerWith()
  for (let hop = 1; hop <= 6; hop += 1) redirecting(`/hop${hop}`, hop === 6 ? '/good?SECRET' : `/hop${hop + 1}`)
  const answer = await dialer.get('http://a.example/hop2', plain)
  assert.deepEqual([await textOf(answer.body), answer.url], ['good', 'http://a.example/good?…'])
  await refuses(dialer.get('http://a.example/hop1', plain), 'redirect', 'forbidden')
  redirecting('/round', '/round')
  await refuses(dialer.get('http://a.example/round', plain), 'redirect')
  await control(dialer)
})

test('keys stay at the origin they were given for', async () => {
  const dialer = dialerWith()
  const headers = { Authorization: 'SECRET', Cookie: 'SECRET', 'X-Api-Key': 'SECRET', 'User-Agent': 'sluice' }
  redirecting('/same', '/there')
  redirecting('/there', 'http://b.example/back')
  redirecting('/back', 'http://a.example/good')
  asked.length = 0
  await textOf((await dialer.get('http://a.example/same', { ...plain, headers })).body)
  assert.deepEqual(
    asked.map(({ at, headers }) => [
      at,
      headers.authorization,
      headers.cookie,
      headers['x-api-key'],
      headers['user-agent'],
    ]),
    [
      ['a.example/same', 'SECRET', 'SECRET', 'SECRET', 'sluice'],
      ['a.example/there', 'SECRET', 'SECRET', 'SECRET', 'sluice'],
      ['b.example/back', undefined, undefined, undefined, 'sluice'],
      // Having been away, they do not come back either.
      ['a.example/good', undefined, undefined, undefined, 'sluice'],
    ],
  )
  assert.deepEqual([...new Set(asked.map(({ headers }) => headers['accept-encoding']))], ['identity'])
})

test('what a HEAD has shown does not bind the GET', async () => {
  const dialer = dialerWith()
  places['/two-faced'] = (request, response) => {
    if (request.method === 'HEAD') response.setHeader('content-length', 1_024).end()
    else response.writeHead(302, { location: 'http://127.0.0.1/' }).end()
  }
  const head = await dialer.head('http://a.example/two-faced', plain)
  assert.deepEqual([head.status, head.length], [200, 1_024])
  await refuses(dialer.get('http://a.example/two-faced', plain), 'address')
  await control(dialer)
})

// ---- Callbacks ----

test('a post sends its body, returns the answer, and follows no redirect', async () => {
  const dialer = dialerWith()
  places['/hook'] = async (request, response) => {
    const body = Buffer.concat(await chunksOf(request)).toString()
    response.writeHead(202, { 'x-seen': String(request.headers['content-type']) }).end(`${request.method} ${body}`)
  }
  const options = { ...times, body: '{"a":1}', contentType: 'application/json', headers: { 'x-id': '7' } }
  const answer = await dialer.post('http://a.example/hook', options)
  assert.deepEqual([answer.status, answer.headers['x-seen']], [202, 'application/json'])
  assert.equal(Buffer.from(answer.body).toString(), 'POST {"a":1}')
  asked.length = 0
  redirecting('/hook-away', 'http://a.example/good', 307)
  await assert.rejects(
    dialer.post('http://a.example/hook-away', options),
    (error) => dialErrorDetail(error)?.status === 307,
  )
  assert.deepEqual(
    asked.map(({ at }) => at),
    ['a.example/hook-away'],
  )
  places['/hook-busy'] = (_, response) => response.writeHead(503, { 'retry-after': '7' }).end()
  await assert.rejects(
    dialer.post('http://a.example/hook-busy', options),
    (error) => dialErrorDetail(error)?.retryAfterMs === 7_000,
  )
  await control(dialer)
})

test('of the answer to a post only the beginning is read', async () => {
  const dialer = dialerWith()
  places['/talkative'] = (_, response) => {
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(50_000)));
    }
    response.on('drain', more)
    more()
  }
  const options = { ...times, body: Buffer.from('x'), contentType: 'text/plain' }
  assert.equal((await dialer.post('http://a.example/talkative', options)).body.length, 65_536)
  await refuses(dialer.post('http://a.example/good', { ...options, body: Buffer.alloc(1_048_577) }), 'request')
  await control(dialer)
})
