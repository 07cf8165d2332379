import assert from 'node:assert/strict'
import { readFile, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { pino } from 'pino'
import { type Clock, systemClock } from '../src/index.ts'
import { askRaw, type House, openHouse, storeKinds } from './http/house.ts'

/** A clock that can be set forward by hand; what waits for a time is left to the machine's own. */
function movedClock(): Clock & { forward(ms: number): void } {
  const system = systemClock()
  let aheadMs = 0
  return {
    ...system,
    now: () => system.now() + aheadMs,
    forward(ms) {
      aheadMs += ms
    },
  }
}

describe('tokens', () => {
  const clock = movedClock()
  let house: House
  let secret: string
  before(async () => {
    house = await openHouse({ clock })
    secret = await house.token({ name: 'ops', role: 'operator' })
  })
  after(() => house.close())

  test('are kept as digests, in a file for the owner alone', async () => {
    const file = join(house.folder, 'tokens.json')
    assert.equal((await stat(file)).mode & 0o777, 0o600)
    const text = await readFile(file, 'utf8')
    assert.ok(!text.includes(secret) && !text.includes(secret.slice(4)))
    assert.match(text, /"digest": "[0-9a-f]{64}"/)
  })

  test('let in who has one, and nobody else', async () => {
    assert.equal((await house.ask('GET', '/api/session', { token: secret })).body.actor, 'ops')
    const wrong = [
      null,
      'null',
      '',
      secret.slice(0, -1),
      `${secret}x`,
      secret.toUpperCase(),
      'slc_',
      `slc_${'a'.repeat(43)}`,
    ]
    const texts = new Set<string>()
    for (const token of wrong) {
      const said = await house.ask('GET', '/api/entities', { token })
      assert.equal(said.status, 401, String(token))
      assert.equal(said.headers.get('www-authenticate'), 'Bearer realm="sluice"')
      texts.add(said.body.detail)
    }
    assert.equal(texts.size, 1, 'what was wrong is not told')
    for (const authorization of [`Basic ${secret}`, secret, `Bearer  ${secret}`, `Bearer ${secret} ${secret}`]) {
      const said = await house.ask('GET', '/api/entities', { headers: { authorization } })
      assert.equal(said.status, 401, authorization)
    }
  })

  test('are refused once revoked, within a second, by a server that runs', async () => {
    const made = await house.token({ name: 'short', role: 'admin' })
    clock.forward(1_000)
    const login = await house.ask('POST', '/api/session', { body: { token: made } })
    const headers = { cookie: String(login.headers.get('set-cookie')).split(';', 1)[0] as string }
    assert.equal((await house.ask('GET', '/api/session', { headers })).status, 200)
    await house.access.revoke('short')
    clock.forward(1_000)
    assert.equal((await house.ask('GET', '/api/session', { token: made })).status, 401)
    assert.equal((await house.ask('GET', '/api/session', { headers })).status, 401, 'its sessions end too')
  })

  test('expire', async () => {
    const made = await house.token({ name: 'brief', role: 'submitter', expiresAt: clock.now() + 60_000 })
    assert.equal((await house.ask('GET', '/api/session', { token: made })).status, 200)
    clock.forward(60_001)
    assert.equal((await house.ask('GET', '/api/session', { token: made })).status, 401)
  })

  test('of a name that is taken, or that makes no sense, are not made', async () => {
    const admin = await house.token({ name: 'root', role: 'admin' })
    const make = (body: object) => house.ask('POST', '/api/tokens', { token: admin, body })
    assert.equal((await make({ name: 'ops', role: 'admin' })).status, 409)
    for (const body of [
      { name: '', role: 'admin' },
      { name: 'local', role: 'admin' },
      { name: 'a b', role: 'admin' },
      { name: 'x', role: 'god' },
      { name: 'x', role: 'admin', collections: [] },
      { name: 'x', role: 'admin', expiresAt: 1 },
      { name: 'x', role: 'admin', digest: 'mine' },
    ]) {
      assert.equal((await make(body)).status, 400, JSON.stringify(body))
    }
  })

  test('do what their role may, and no more', async () => {
    const submitter = await house.token({ name: 'sub', role: 'submitter' })
    const { body } = await house.ask('POST', '/api/entities', {
      token: submitter,
      body: { machine: 'crate', data: {} },
    })
    const refusals: readonly [string, string, object?][] = [
      ['PUT', `/api/entities/${body.id}/priority`, { priority: 1 }],
      ['POST', '/api/actions', { filter: { machine: 'crate' }, action: 'pack' }],
      ['POST', '/api/holds', { scope: { machine: 'crate' }, reason: 'x' }],
      ['DELETE', '/api/holds/1'],
      ['GET', '/api/check'],
      ['POST', '/api/repair', { parents: [null] }],
      ['GET', '/api/tokens'],
      ['POST', '/api/tokens', { name: 'me', role: 'admin' }],
      ['DELETE', '/api/tokens/ops'],
      ['POST', `/api/entities/${body.id}/actions/pack`, {}],
    ]
    for (const [method, path, given] of refusals) {
      const said = await house.ask(method, path, { token: submitter, ...(given ? { body: given } : {}) })
      assert.equal(said.status, 403, `${method} ${path} ${said.text}`)
    }
    const looked = await house.ask('POST', `/api/entities/${body.id}/actions/look`, { token: submitter, body: {} })
    assert.equal(looked.status, 200, 'an action for submitters')
    assert.equal((await house.ask('GET', '/api/tokens', { token: secret })).status, 403)
    const sent = await house.ask('POST', '/api/entities', {
      token: submitter,
      body: { machine: 'crate', state: 'packed', data: {} },
    })
    await house.control.settled(sent.body.id, 5_000)
    const path = `/api/entities/${sent.body.id}/actions/reopen`
    assert.equal((await house.ask('POST', path, { token: secret, body: {} })).status, 403, 'an action for admins')
  })

  test('a role is not what a body says', async () => {
    const submitter = await house.token({ name: 'sly', role: 'submitter' })
    const { body } = await house.ask('POST', '/api/entities', {
      token: submitter,
      body: { machine: 'crate', data: {} },
    })
    for (const given of [{ role: 'admin' }, { actor: 'root' }, { requestId: 'mine' }]) {
      const path = `/api/entities/${body.id}/actions/pack`
      assert.equal((await house.ask('POST', path, { token: submitter, body: given })).status, 400)
    }
  })
})

describe('a request with a token that is refused', () => {
  test('is told in the log: one line for each address in ten seconds, with their number', async () => {
    const lines: { msg: string; times?: number; address?: string; level: number }[] = []
    const clock = movedClock()
    const log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) })
    const house = await openHouse({ clock, log })
    try {
      await house.token({ name: 'ops', role: 'operator' })
      const wrong = { token: `slc_${'a'.repeat(43)}` }
      for (let times = 0; times < 50; times += 1) {
        assert.equal((await house.ask('GET', '/api/entities', wrong)).status, 401)
      }
      assert.equal((await house.ask('GET', '/api/entities')).status, 401, 'without one nothing is told')
      const told = () => lines.filter(({ msg }) => /token that is not valid/.test(msg))
      assert.deepEqual(
        told().map(({ times, address, level }) => [times, address, level]),
        [[1, '127.0.0.1', 40]],
      )
      clock.forward(10_000)
      await house.ask('GET', '/api/session', wrong)
      assert.deepEqual(
        told().map(({ times }) => times),
        [1, 50],
      )
      assert.ok(!JSON.stringify(lines).includes('slc_'), 'no token is in the log')
    } finally {
      await house.close()
    }
  })

  test('or with two, is refused whichever is valid', async () => {
    const house = await openHouse()
    try {
      const secret = await house.token({ name: 'ops', role: 'operator' })
      const { hostname, port, host } = new URL(house.url)
      for (const pair of [
        [secret, secret],
        [secret, 'x'],
        ['x', secret],
      ]) {
        const lines = pair.map((one) => `Authorization: Bearer ${one}\r\n`).join('')
        const socket = connect(Number(port), hostname)
        socket.end(`GET /api/session HTTP/1.1\r\nHost: ${host}\r\n${lines}Connection: close\r\n\r\n`)
        const said = Buffer.concat(await socket.toArray()).toString()
        assert.match(said, /^HTTP\/1\.1 400/)
        const { faults } = JSON.parse(said.slice(said.indexOf('{'), said.lastIndexOf('}') + 1))
        assert.deepEqual(faults, [{ in: 'header', path: 'authorization', message: 'must be there once' }])
      }
    } finally {
      await house.close()
    }
  })
})

describe('a browser', () => {
  let house: House
  let cookie: string
  let csrf: string
  before(async () => {
    house = await openHouse({ names: ['sluice.example.org'] })
    const token = await house.token({ name: 'web', role: 'admin' })
    const login = await house.ask('POST', '/api/session', { body: { token } })
    const set = String(login.headers.get('set-cookie'))
    assert.match(set, /^sluice_session=[\w-]{43}; .*Path=\/.*HttpOnly.*SameSite=Strict/)
    cookie = set.split(';', 1)[0] as string
    csrf = login.body.csrf
  })
  after(() => house.close())

  const submit = (headers: Readonly<Record<string, string>>) =>
    askRaw(`${house.url}/api/entities`, 'POST', { 'content-type': 'application/json', ...headers }, body)
  const body = JSON.stringify({ machine: 'crate', data: {} })

  test('with its session and its csrf token may act', async () => {
    const { host } = new URL(house.url)
    assert.equal((await submit({ cookie, 'x-csrf-token': csrf })).status, 201)
    assert.equal((await submit({ cookie, 'x-csrf-token': csrf, origin: `http://${host}` })).status, 201)
    assert.equal((await submit({ cookie, 'x-csrf-token': csrf, 'sec-fetch-site': 'same-origin' })).status, 201)
  })

  test('that was sent by another site may not', async () => {
    const { host, port } = new URL(house.url)
    const before = (await house.control.totals())[0]?.total
    const right = { cookie, 'x-csrf-token': csrf }
    const wrong: readonly Readonly<Record<string, string>>[] = [
      { cookie },
      { cookie, 'x-csrf-token': '' },
      { cookie, 'x-csrf-token': `${csrf}x` },
      { ...right, origin: 'http://evil.example' },
      { ...right, origin: 'null' },
      { ...right, origin: `http://${host}.evil.example` },
      { ...right, origin: `http://127.0.0.1:${Number(port) + 1}` },
      { ...right, 'sec-fetch-site': 'cross-site' },
      { ...right, 'sec-fetch-site': 'same-site' },
    ]
    for (const headers of wrong) {
      const said = await submit(headers)
      assert.equal(said.status, 403, JSON.stringify(headers))
      assert.match(said.text, /cross-site/)
    }
    assert.equal((await house.control.totals())[0]?.total, before)
  })

  test('that calls by a foreign name is turned away', async () => {
    const { port } = new URL(house.url)
    for (const host of ['evil.example', `evil.example:${port}`, 'localhost.evil.example', '10.0.0.1', 'a/b', '[::2]']) {
      const said = await askRaw(`${house.url}/api/session`, 'GET', { host, cookie })
      assert.ok([400, 421].includes(said.status), `${host}: ${said.status}`)
    }
    for (const host of ['localhost', `LOCALHOST:${port}`, `127.0.0.1:${port}`, 'sluice.example.org', 'localhost.']) {
      const said = await askRaw(`${house.url}/api/session`, 'GET', { host, cookie })
      assert.equal(said.status, 200, host)
    }
  })

  test('gets pages that run nothing foreign', async () => {
    for (const path of ['/health', '/nothing', '/docs', '/api/session', '/openapi.json']) {
      const { headers } = await house.ask('GET', path)
      const policy = headers.get('content-security-policy') ?? ''
      assert.match(policy, /default-src 'self'/, path)
      assert.match(policy, /frame-ancestors 'none'/)
      assert.doesNotMatch(policy, /unsafe/)
      assert.equal(headers.get('referrer-policy'), 'no-referrer')
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
      assert.equal(headers.get('access-control-allow-origin'), null)
    }
    const docs = await house.ask('GET', '/docs')
    assert.doesNotMatch(docs.text, /<script(?![^>]*\bsrc=)[^>]*>|<style/)
  })
})

describe('without any token', () => {
  test('this machine is admin, but no page of another site is', async () => {
    const house = await openHouse()
    try {
      const json = { 'content-type': 'application/json' }
      const body = JSON.stringify({ machine: 'crate', data: {} })
      const submit = (headers: Readonly<Record<string, string>>) =>
        askRaw(`${house.url}/api/entities`, 'POST', { ...json, ...headers }, body)
      assert.equal((await submit({})).status, 201)
      assert.equal((await submit({ origin: 'http://evil.example' })).status, 403)
      assert.equal((await submit({ 'sec-fetch-site': 'cross-site' })).status, 403)
      assert.equal((await submit({ 'x-forwarded-for': '10.1.1.1' })).status, 401, 'a proxy asks for somebody else')
      assert.equal((await submit({ 'content-type': 'text/plain' })).status, 415)
      assert.equal((await askRaw(`${house.url}/metrics`, 'GET', {})).status, 200)
      const token = await house.token({ name: 'first', role: 'admin' })
      assert.equal((await submit({})).status, 401, 'from the first token on everybody needs one')
      const metrics = async (secret: string | null) => (await house.ask('GET', '/metrics', { token: secret })).status
      assert.equal(await metrics(null), 401, 'also from this machine')
      assert.equal(await metrics(token), 200)
      assert.equal(await metrics(await house.token({ name: 'scraper', role: 'submitter' })), 200)
      const limited = await house.token({ name: 'limited', role: 'admin', collections: ['a'] })
      assert.equal(await metrics(limited), 403, 'the figures are of all collections')
    } finally {
      await house.close()
    }
  })

  test('nothing listens beyond this machine', async () => {
    await assert.rejects(openHouse({ listen: { host: '0.0.0.0', port: 0 } }), /There is no token.*sluice token create/)
  })
})

describe('a token that is limited to collections', () => {
  test('is told that a key is taken, and nothing of what has it', async () => {
    const house = await openHouse({ hasFamilies: true })
    try {
      const own = await house.token({ name: 'ann', role: 'submitter', collections: ['a'] })
      const other = await house.token({ name: 'bob', role: 'submitter', collections: ['b'] })
      const chief = await house.token({ name: 'chief', role: 'admin' })
      const post = (token: string, path: string, body: object) => house.ask('POST', path, { token, body })
      const assertTaken = ({ status, text }: { status: number; text: string }, id: number) => {
        assert.equal(status, 409, text)
        assert.match(text, /key .*is taken/)
        assert.doesNotMatch(text.replaceAll(/urn:sluice:request:[\w-]+/g, ''), new RegExp(`\\b${id}\\b`))
      }
      const crate = { machine: 'crate', data: { parcels: [] }, key: 'key-of-a-crate' }
      const job = { definition: 'word-count', parameters: { text: 'x' }, key: 'key-of-a-job' }
      for (const [path, body] of [
        ['/api/entities', crate],
        ['/api/jobs', job],
      ] as const) {
        const made = await post(own, path, body)
        assert.equal(made.status, 201, made.text)
        assert.deepEqual((await post(own, path, body)).body, { ...made.body, existing: true })
        assertTaken(await post(other, path, body), made.body.id)
        if (path !== '/api/jobs') continue
        assertTaken(await post(other, path, { ...body, parameters: { text: 'y' } }), made.body.id)
        const elsewhere = await post(chief, path, { ...body, collection: 'b' })
        assert.equal(elsewhere.status, 409, 'another collection is another request')
        assert.match(elsewhere.text, /was used for job/)
      }
      const items = [{ data: { parcels: [] } }, { data: { parcels: [] }, key: crate.key }]
      const batch = await post(other, '/api/entities/batch', { machine: 'crate', items })
      assert.equal(batch.status, 409, batch.text)
      assert.match(batch.text, /key of item 1 is taken/)
    } finally {
      await house.close()
    }
  })

  for (const store of storeKinds) {
    test(`sees nothing of others, on ${store}`, async () => {
      const house = await openHouse({ store })
      try {
        const own = await house.token({ name: 'ann', role: 'operator', collections: ['a', 'b'] })
        const chief = await house.token({ name: 'chief', role: 'admin' })
        const make = async (collection: string) => {
          const body = { machine: 'crate', state: 'packed', data: { collection, parcels: [{ to: collection }] } }
          const said = await house.ask('POST', '/api/entities', { token: chief, body })
          await house.control.settled(said.body.id, 5_000)
          return said.body.id as number
        }
        const [a, foreign, b] = [await make('a'), await make('c'), await make('b')]
        const childOf = async (id: number) => (await house.control.list({ parent: id })).entities[0]?.id as number
        const child = await childOf(foreign)
        const unknown = 999_999
        const plain = (text: string, id: number) =>
          text.replaceAll(new RegExp(`\\b${id}\\b`, 'g'), 'ID').replaceAll(/urn:sluice:request:[\w-]+/g, 'REQUEST')
        const asks: readonly [string, (id: number) => string, object?][] = [
          ['GET', (id) => `/api/entities/${id}`],
          ...['history', 'lanes', 'progress', 'explain', 'children', 'report'].map(
            (part): [string, (id: number) => string] => ['GET', (id) => `/api/entities/${id}/${part}`],
          ),
          ['POST', (id) => `/api/entities/${id}/actions/burn`, { confirmed: true }],
          ['POST', (id) => `/api/entities/${id}/actions/search`, {}],
          ['PUT', (id) => `/api/entities/${id}/priority`, { priority: 1 }],
          ['GET', (id) => `/api/entities?parent=${id}`],
          ['GET', (id) => `/api/check?parent=${id}`],
          ['GET', (id) => `/api/actions/${id}`],
        ]
        for (const [method, path, body] of asks) {
          const options = { token: own, ...(body ? { body } : {}) }
          const none = await house.ask(method, path(unknown), options)
          assert.equal(none.status, 404, path(unknown))
          for (const id of [foreign, child]) {
            const said = await house.ask(method, path(id), options)
            assert.equal(said.status, 404, path(id))
            assert.equal(plain(said.text, id), plain(none.text, unknown), path(id))
          }
        }
        assert.equal((await house.control.get(foreign)).state, 'sent')

        const ask = (method: string, path: string, body?: object) =>
          house.ask(method, path, { token: own, ...(body ? { body } : {}) })
        const idsOf = (said: { body: { entities: readonly { id: number }[] } }) =>
          said.body.entities.map(({ id }) => id)
        assert.equal((await ask('GET', `/api/entities/${a}`)).status, 200)
        assert.equal((await ask('GET', `/api/entities/${await childOf(b)}`)).status, 200, 'by its root')
        assert.deepEqual(idsOf(await ask('GET', '/api/entities?machine=crate')), [a, b])
        assert.deepEqual(idsOf(await ask('GET', '/api/entities?newest=true')), [b, a])
        assert.deepEqual(idsOf(await ask('GET', '/api/entities?machine=parcel')), [await childOf(a), await childOf(b)])
        assert.deepEqual(idsOf(await ask('GET', '/api/entities?label=collection&value=c')), [])
        const first = await ask('GET', '/api/entities?machine=crate&limit=1')
        assert.deepEqual([idsOf(first), first.body.next], [[a], a])
        assert.deepEqual(idsOf(await ask('GET', `/api/entities?machine=crate&limit=1&after=${a}`)), [b])
        const totals = await ask('GET', '/api/totals')
        assert.deepEqual(totals.body.lanes[0].counts, { sent: 2 })

        const submit = (data: object) => ask('POST', '/api/entities', { machine: 'crate', data })
        assert.equal((await submit({ collection: 'a' })).status, 201)
        assert.equal((await submit({ collection: 'c' })).status, 403)
        assert.equal((await submit({})).status, 403, 'which of both?')
        assert.equal((await ask('POST', '/api/entities', { machine: 'parcel', data: { to: 'x' } })).status, 403)

        const hold = (scope: object) => ask('POST', '/api/holds', { scope, reason: 'x' })
        const label = (value: string) => ({ label: { name: 'collection', value } })
        assert.equal((await hold(label('c'))).status, 403)
        assert.equal((await hold({ machine: 'crate' })).status, 403)
        assert.equal((await hold({ entity: foreign })).status, 404)
        assert.equal((await hold(label('a'))).status, 201)
        const body = { scope: label('c'), reason: 'y' }
        const theirs = await house.ask('POST', '/api/holds', { token: chief, body })
        assert.equal((await ask('GET', '/api/holds')).body.holds.length, 1)
        assert.equal((await ask('DELETE', `/api/holds/${theirs.body.id}`)).status, 404)

        const act = (filter: object) => ask('POST', '/api/actions', { filter, action: 'burn', reason: 'x' })
        assert.equal((await act({ parent: foreign })).status, 404)
        assert.equal((await act({ machine: 'crate' })).status, 403)
        assert.equal((await act({ ...label('c') })).status, 403)
        const many = await act({ machine: 'crate', ...label('a') })
        assert.deepEqual([many.status, many.body.matching], [200, 2])
        const walk = await ask('POST', '/api/actions', { confirmation: many.body.confirmation })
        assert.equal((await ask('GET', `/api/actions/${walk.body.walk}`)).status, 200, 'its own walk')
        for (const path of ['/api/check', '/api/tokens']) assert.equal((await ask('GET', path)).status, 403, path)
      } finally {
        await house.close()
      }
    })
  }
})
