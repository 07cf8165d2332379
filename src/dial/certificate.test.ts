import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { createServer as createPlainServer } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo, Server as NetServer } from 'node:net'
import { after, test } from 'node:test'
import { dialErrorDetail } from './dial-error.ts'
import { type DialerSettings, openDialer } from './dialer.ts'
import { loopbackNetwork } from './loopback.ts'

const plain = { timeoutMs: 10_000, idleMs: 5_000, bytesMax: 1_000 }

// ---- A certificate for a name, made here: none lies in the repository, and none runs out ----

function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Uint8Array.from([tag, ...size]), content])
}

const text = (tag: number, value: string): Buffer => der(tag, Buffer.from(value))
const oid = (...bytes: readonly number[]): Buffer => der(0x06, Uint8Array.from(bytes))

function certificateFor(host: string, until = '491231235959Z'): { readonly key: string; readonly cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = der(0x30, oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2))
  const name = der(0x30, der(0x31, der(0x30, oid(0x55, 4, 3), text(0x0c, host))))
  const alternative = der(0x30, oid(0x55, 0x1d, 17), der(0x04, der(0x30, text(0x82, host))))
  const body = der(
    0x30,
    der(0xa0, der(0x02, Uint8Array.of(2))),
    der(0x02, Uint8Array.of(1)),
    algorithm,
    name,
    der(0x30, text(0x17, '200101000000Z'), text(0x17, until)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(0x30, alternative)),
  )
  const signature = der(0x03, Uint8Array.of(0), sign('sha256', body, privateKey))
  const base64 = der(0x30, body, algorithm, signature).toString('base64')
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
  }
}

async function portOf(server: NetServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => server.close())
  return (server.address() as AddressInfo).port
}

const own = certificateFor('a.example')
const others = certificateFor('other.example')
const expired = certificateFor('old.example', '210101000000Z')
const answering = (certificate: { key: string; cert: string }): Server =>
  createServer(certificate, (request, response) => {
    if (request.url === '/down') response.writeHead(302, { location: 'http://plain.example/' }).end()
    else response.end(`good ${(request.socket as { alpnProtocol?: string }).alpnProtocol}`)
  })
const network = loopbackNetwork({
  'a.example': await portOf(answering(own)),
  'b.example': await portOf(answering(others)),
  'old.example': await portOf(answering(expired)),
  'plain.example': await portOf(createPlainServer((_, response) => response.end('plain'))),
})

async function read(url: string, settings: DialerSettings): Promise<string> {
  const dialer = openDialer({ ...network, ...settings })
  try {
    const chunks: Uint8Array[] = []
    for await (const chunk of (await dialer.get(url, plain)).body) chunks.push(chunk)
    return Buffer.concat(chunks).toString()
  } finally {
    await dialer.close()
  }
}

const authorities = [own.cert, others.cert, expired.cert]

function reasonIs(reason: string): (error: Error) => boolean {
  return (error) => {
    assert.equal(dialErrorDetail(error)?.reason, reason, error.message)
    return true
  }
}

test('a certificate of a known authority for this very name is taken', async () => {
  assert.equal(await read('https://a.example/', { authorities }), 'good http/1.1')
})

test('an unknown authority, another name and a past date are refused', async () => {
  await assert.rejects(read('https://a.example/', {}), reasonIs('certificate'))
  await assert.rejects(read('https://b.example/', { authorities }), reasonIs('certificate'))
  await assert.rejects(read('https://old.example/', { authorities }), reasonIs('certificate'))
  assert.equal(await read('https://a.example/', { authorities }), 'good http/1.1')
})

test('no variable of the environment turns the check off', async () => {
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  try {
    await assert.rejects(read('https://a.example/', {}), reasonIs('certificate'))
  } finally {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
  }
})

test('a server without TLS is no server for https, and https never leads to http', async () => {
  await assert.rejects(read('https://plain.example/', { authorities }), reasonIs('connection'))
  await assert.rejects(read('https://a.example/down', { authorities }), reasonIs('redirect'))
  assert.equal(await read('http://plain.example/', {}), 'plain')
})
