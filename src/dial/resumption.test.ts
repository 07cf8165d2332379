import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { dialErrorDetail } from './dial-error.ts'
import { openDialer } from './dialer.ts'
import { loopbackNetwork } from './loopback.ts'

const plain = { timeoutMs: 10_000, idleMs: 5_000, bytesMax: 1_000_000 }
const url = 'http://a.example/file'
const content = Buffer.from(Array.from({ length: 10_000 }, (_, index) => index % 251))

type Handler = (request: IncomingMessage, response: ServerResponse) => void
let handler: Handler = () => {}
const server = createServer((request, response) => handler(request, response))
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const dialer = openDialer(loopbackNetwork({ 'a.example': (server.address() as AddressInfo).port }))
after(async () => {
  await dialer.close()
  server.close()
})

/** A server as it should be: the rest of the version that is asked for, else all of the present one. */
function serving(etag: string, bytes: Uint8Array, cutAfter = Number.POSITIVE_INFINITY): Handler {
  return (request, response) => {
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0)
    const isPart = from > 0 && request.headers['if-range'] === etag
    const part = isPart ? bytes.subarray(from) : bytes
    response.setHeader('etag', etag)
    if (isPart && from >= bytes.length) {
      response.writeHead(416, { 'content-range': `bytes */${bytes.length}` }).end()
      return
    }
    if (isPart) response.setHeader('content-range', `bytes ${from}-${bytes.length - 1}/${bytes.length}`)
    response.writeHead(isPart ? 206 : 200, { 'content-length': part.length })
    if (cutAfter >= part.length) response.end(part)
    else response.write(part.subarray(0, cutAfter), () => response.destroy())
  }
}

function reasonIs(reason: string): (error: Error) => boolean {
  return (error) => {
    assert.equal(dialErrorDetail(error)?.reason, reason, error.message)
    return true
  }
}

test('a reader that goes on after every cut has read the file, whatever the cuts', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 6_000 }), { maxLength: 4 }), async (cuts) => {
      const chunks: Uint8Array[] = []
      let at = 0
      let validator: string | undefined
      for (const cutAfter of [...cuts, Number.POSITIVE_INFINITY]) {
        handler = serving('"v1"', content, cutAfter)
        try {
          const answer = await dialer.get(url, {
            ...plain,
            rangeFrom: at,
            ...(at > 0 ? { validator: validator! } : {}),
          })
          assert.deepEqual(
            [answer.offset, answer.length, answer.status],
            [at, 10_000, at > 0 ? (at === 10_000 ? 416 : 206) : 200],
          )
          validator = answer.validator!
          for await (const chunk of answer.body) {
            chunks.push(chunk)
            at += chunk.length
          }
        } catch (error) {
          assert.ok(['length', 'connection'].includes(dialErrorDetail(error as Error)?.reason ?? ''), String(error))
        }
      }
      assert.deepEqual(Buffer.concat(chunks), content)
    }),
    { numRuns: 20 },
  )
})

test('a new version is read from its beginning, and the answer says so', async () => {
  handler = serving('"v2"', content)
  const answer = await dialer.get(url, { ...plain, rangeFrom: 100, validator: '"v1"' })
  assert.deepEqual([answer.status, answer.offset, answer.etag, answer.length], [200, 0, '"v2"', 10_000])
  answer.discard()
})

test('a server that knows no ranges is said to begin at 0', async () => {
  handler = (_, response) => response.end(content)
  const answer = await dialer.get(url, { ...plain, rangeFrom: 100, validator: '"v1"' })
  assert.deepEqual([answer.status, answer.offset], [200, 0])
  answer.discard()
})

test('a reader that stopped at the very end finds nothing more', async () => {
  handler = serving('"v1"', content)
  const answer = await dialer.get(url, { ...plain, rangeFrom: 10_000, validator: '"v1"' })
  assert.deepEqual([answer.offset, answer.length], [10_000, 10_000])
  for await (const chunk of answer.body) assert.equal(chunk.length, 0)
})

test('another part than the one asked for is refused', async () => {
  const parts: readonly (readonly [headers: Record<string, string>, reason: string])[] = [
    [{ 'content-range': 'bytes 0-3/10' }, 'range'],
    [{ 'content-range': 'bytes 101-104/1000' }, 'range'],
    [{ 'content-range': 'bytes 100-99/1000' }, 'range'],
    [{ 'content-range': 'bytes 100-103/50' }, 'range'],
    [{ 'content-range': 'bytes 100-200/1000', 'content-length': '4' }, 'range'],
    [{ 'content-range': 'items 100-103/1000' }, 'range'],
    [{ 'content-type': 'multipart/byteranges; boundary=x' }, 'range'],
    [{ 'content-range': 'bytes 100-103/1000', etag: '"v2"' }, 'range'],
    [{ 'content-range': 'bytes 100-103/5368709120' }, 'too_big'],
  ]
  for (const [headers, reason] of parts) {
    handler = (_, response) => response.writeHead(206, headers).end('four')
    await assert.rejects(
      dialer.get(url, { ...plain, rangeFrom: 100, validator: '"v1"' }),
      reasonIs(reason),
      JSON.stringify(headers),
    )
  }
  handler = (_, response) => response.writeHead(416, { 'content-range': 'bytes */50' }).end()
  await assert.rejects(
    dialer.get(url, { ...plain, rangeFrom: 100, validator: '"v1"' }),
    (error) => dialErrorDetail(error)?.status === 416,
  )
})

test('a time of the last change serves as validator too', async () => {
  const [before, now] = ['Thu, 01 Jan 2026 11:00:00 GMT', 'Thu, 01 Jan 2026 12:00:00 GMT']
  let ifRange: unknown
  handler = (request, response) => {
    ifRange = request.headers['if-range']
    response.writeHead(206, { 'content-range': 'bytes 100-103/104', 'last-modified': before }).end('four')
  }
  const answer = await dialer.get(url, { ...plain, rangeFrom: 100, validator: before })
  answer.discard()
  assert.deepEqual([answer.offset, ifRange], [100, before])
  await assert.rejects(dialer.get(url, { ...plain, rangeFrom: 100, validator: now }), reasonIs('range'))
})

test('a part that ends before the whole does is a body to go on with', async () => {
  handler = (_, response) => response.writeHead(206, { 'content-range': 'bytes 100-103/1000' }).end('four')
  const answer = await dialer.get(url, { ...plain, rangeFrom: 100, validator: '"v1"' })
  assert.deepEqual([answer.offset, answer.length], [100, 1_000])
  await assert.rejects(
    async () => {
      for await (const _ of answer.body);
    },
    (error) => dialErrorDetail(error)?.retryable === true && reasonIs('length')(error as Error),
  )
})

test('bytesMax is about the whole resource', async () => {
  handler = (_, response) => response.writeHead(206, { 'content-range': 'bytes 100-199/*' }).end(Buffer.alloc(100))
  const read = async (bytesMax: number): Promise<number> => {
    let bytes = 0
    const answer = await dialer.get(url, { ...plain, bytesMax, rangeFrom: 100, validator: '"v1"' })
    for await (const chunk of answer.body) bytes += chunk.length
    return bytes
  }
  assert.equal(await read(200), 100)
  await assert.rejects(read(199), reasonIs('too_big'))
})

test('only what names one version is a validator', async () => {
  const rows: readonly (readonly [headers: Record<string, string>, validator: string | null])[] = [
    [{ etag: '"a"' }, '"a"'],
    [{ etag: 'W/"a"' }, null],
    [{}, null],
    [
      { 'last-modified': 'Thu, 01 Jan 2026 11:00:00 GMT', date: 'Thu, 01 Jan 2026 12:00:00 GMT' },
      'Thu, 01 Jan 2026 11:00:00 GMT',
    ],
    [{ 'last-modified': 'Thu, 01 Jan 2026 12:00:00 GMT', date: 'Thu, 01 Jan 2026 12:00:30 GMT' }, null],
    [{ 'last-modified': 'yesterday', date: 'Thu, 01 Jan 2026 12:00:30 GMT' }, null],
    [{ etag: 'no quotes' }, null],
  ]
  for (const [headers, validator] of rows) {
    handler = (_, response) => {
      response.sendDate = false
      response.writeHead(200, headers).end()
    }
    const answer = await dialer.head(url, plain)
    assert.equal(answer.validator, validator, JSON.stringify(headers))
    assert.equal(answer.etag, headers.etag ?? null)
  }
})
