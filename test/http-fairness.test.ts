import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { type House, openHouse } from './http/house.ts'

describe('requests of one token', () => {
  let house: House
  let greedy: string
  let modest: string
  const sockets: Socket[] = []
  before(async () => {
    house = await filled(150)
  })
  after(async () => {
    for (const socket of sockets) socket.destroy()
    await house.close()
  })

  async function filled(waitingMax: number): Promise<House> {
    const opened = await openHouse({ store: 'sqlite', limits: { waitingMax } })
    greedy = await opened.token({ name: 'greedy', role: 'operator' })
    modest = await opened.token({ name: 'modest', role: 'submitter' })
    const items = Array.from({ length: 1_000 }, () => ({ data: {} }))
    await opened.control.submitMany('crate', items)
    return opened
  }

  async function connected(): Promise<Socket> {
    const socket = connect(Number(new URL(house.url).port), '127.0.0.1')
    sockets.push(socket)
    await once(socket, 'connect')
    return socket
  }

  /** Sends one request over each socket, in this order; gives the answers' status lines in the order in which they come. */
  function flood(requests: readonly (readonly [Socket, string, string])[], path: string) {
    const { host } = new URL(house.url)
    const answers: { readonly name: string; readonly head: string }[] = []
    return new Promise<typeof answers>((resolve, reject) => {
      for (const [socket, name, token] of requests) {
        let head = ''
        socket.on('data', (block: Buffer) => {
          const isFirst = head === ''
          head += block.toString('latin1')
          if (isFirst) answers.push({ name, head: head.slice(0, 1_000) })
          if (answers.length === requests.length) resolve(answers)
        })
        socket.on('error', reject)
        socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n\r\n`)
      }
    })
  }

  test('do not stand before those of another', async () => {
    const all = await Promise.all(Array.from({ length: 151 }, connected))
    const own = all.pop() as Socket
    // Both have been here within the last second: nobody is alone.
    await house.ask('GET', '/api/session', { token: modest })
    await house.ask('GET', '/api/session', { token: greedy })
    const answers = await flood(
      [...all.map((socket) => [socket, 'greedy', greedy] as const), [own, 'modest', modest]],
      '/api/entities?limit=100',
    )
    for (const { head } of answers) assert.match(head, /^HTTP\/1\.1 200/)
    const place = answers.findIndex(({ name }) => name === 'modest')
    // First come, first served would answer it last.
    assert.ok(place < 50, `${place} were answered before it`)
  })

  test('that are too many at once are refused, and told when to come again; others are not', async () => {
    await house.close()
    house = await filled(10)
    const all = await Promise.all(Array.from({ length: 301 }, connected))
    const own = all.pop() as Socket
    await house.ask('GET', '/api/session', { token: modest })
    await house.ask('GET', '/api/session', { token: greedy })
    const answers = await flood(
      [...all.map((socket) => [socket, 'greedy', greedy] as const), [own, 'modest', modest]],
      '/api/entities?limit=1',
    )
    const refused = answers.filter(({ head }) => head.startsWith('HTTP/1.1 429'))
    assert.ok(refused.length > 0, 'none was refused')
    for (const { name, head } of refused) {
      assert.equal(name, 'greedy')
      assert.match(head, /\r\nretry-after: 1\r\n/i)
      assert.match(head, /urn:sluice:problem:rate-limited/)
    }
  })
})

test('a token that asks more often than a server can answer has to wait, and others do not', async () => {
  const house = await openHouse({ limits: { requestsMax: 20, windowMs: 60_000 } })
  try {
    const greedy = await house.token({ name: 'greedy', role: 'operator' })
    const modest = await house.token({ name: 'modest', role: 'submitter' })
    for (let times = 0; times < 20; times += 1) {
      assert.equal((await house.ask('GET', '/api/workers', { token: greedy })).status, 200)
    }
    const said = await house.ask('GET', '/api/workers', { token: greedy })
    assert.deepEqual([said.status, said.body.code], [429, 'conflict'])
    const seconds = Number(said.headers.get('retry-after'))
    assert.ok(seconds > 0 && seconds <= 60, String(seconds))
    assert.equal((await house.ask('GET', '/api/workers', { token: modest })).status, 200)
  } finally {
    await house.close()
  }
})
