import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { type AskOptions, type House, openHouse, type Said } from './http/house.ts'

describe('bad input gets a clear problem, and nothing happens', () => {
  let house: House
  let id: number
  before(async () => {
    house = await openHouse({ limits: { receiveMs: 300, strangersMax: 20, windowMs: 60_000 } })
    id = (await house.control.submit('crate', { collection: 'a' })).id
  })
  after(() => house.close())

  const json = { 'content-type': 'application/json' }

  /** The problem, checked as a document; the store is as it was, and the next request is answered. */
  async function refused(status: number, method: string, path: string, options: AskOptions = {}): Promise<Said> {
    const count = async () => (await house.control.totals()).map(({ total, counts }) => [total, counts])
    const before = await count()
    const said = await house.ask(method, path, options)
    const shown = `${method} ${path.slice(0, 100)} ${String(options.text ?? JSON.stringify(options.body)).slice(0, 100)}`
    assert.equal(said.status, status, `${shown}: ${said.text.slice(0, 300)}`)
    assert.match(said.headers.get('content-type') ?? '', /^application\/problem\+json/, shown)
    const { type, title, status: told, detail, instance, code } = said.body
    assert.match(type, /^urn:sluice:problem:[a-z-]+$/)
    assert.ok(title.length > 0 && detail.length > 5 && code.length > 0)
    assert.equal(told, status)
    assert.match(instance, /^urn:sluice:request:[\w-]+$/)
    assert.doesNotMatch(said.text, /node_modules|\bat .*\.ts:\d+|\/tmp\//, 'nothing of the inside is told')
    assert.deepEqual(await count(), before, shown)
    assert.equal((await house.ask('GET', `/api/entities/${id}`)).status, 200)
    return said
  }

  test('malformed JSON', async () => {
    for (const text of ['{', '{"machine":}', 'null x', '{"a":1,}', "{'a':1}", '\u0000', '[', '"', '{"a":NaN}', '01']) {
      await refused(400, 'POST', '/api/entities', { text, headers: json })
    }
    const broken = new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])
    const said = await refused(400, 'POST', '/api/entities', { text: broken, headers: json })
    assert.match(said.body.detail, /UTF-8/)
  })

  test('JSON that would break its readers', async () => {
    const deep = `{"machine":"crate","data":{"note":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`
    assert.match((await refused(400, 'POST', '/api/entities', { text: deep, headers: json })).body.detail, /nested/)
    for (const text of [
      '{"machine":"crate","data":{"__proto__":{"isAdmin":true}}}',
      '{"machine":"crate","data":{"\\u005f_proto__":{"isAdmin":true}}}',
      '{"machine":"crate","data":{"note":{"constructor":{"prototype":{"x":1}}}}}',
      '{"__proto__":{"machine":"crate"},"data":{}}',
    ]) {
      assert.match((await refused(400, 'POST', '/api/entities', { text, headers: json })).body.detail, /not allowed/)
    }
    for (const number of ['9007199254740993', '-9007199254740993', '1e999', '123456789012345678901234567890']) {
      const text = `{"machine":"crate","data":{"note":${number}}}`
      assert.match((await refused(400, 'POST', '/api/entities', { text, headers: json })).body.detail, /exactly/)
    }
    assert.equal(({} as { isAdmin?: boolean }).isAdmin, undefined)
  })

  test('wrong types and unknown fields, all told at once', async () => {
    for (const body of [
      [],
      'x',
      7,
      null,
      [null, 1, 'x', []],
      { machine: 7, data: {} },
      { machine: 'crate', data: 'x' },
    ]) {
      await refused(400, 'POST', '/api/entities', { text: JSON.stringify(body), headers: json })
    }
    const said = await refused(400, 'POST', '/api/entities?force=1', {
      body: { machine: '', data: {}, priority: 'high', at: -1, color: 'red' },
    })
    assert.deepEqual(
      said.body.faults.map(({ in: place, path }: { in: string; path: string }) => `${place} ${path}`).sort(),
      ['body ', 'body at', 'body machine', 'body priority', 'query '],
    )
    assert.match(said.body.detail, /color/)
    await refused(400, 'PUT', `/api/entities/${id}/priority`, { body: { priority: 1.5 } })
    await refused(400, 'PUT', `/api/entities/${id}/priority`, { body: {} })
    await refused(400, 'POST', '/api/holds', { body: { scope: {}, reason: 'x' } })
    await refused(400, 'POST', '/api/holds', { body: { scope: { machine: 'crate', colour: 1 }, reason: 'x' } })
    await refused(400, 'POST', '/api/holds', { body: { scope: { machine: 'crate' }, reason: '' } })
    await refused(400, 'POST', '/api/actions', { body: { filter: { machine: 'crate' }, action: 'fly', reason: 'x' } })
    await refused(400, 'POST', '/api/actions', { body: { filter: { colour: 1 }, action: 'pack' } })
    await refused(409, 'POST', '/api/actions', { body: { confirmation: 'mine' } })
    await refused(400, 'POST', '/api/repair', { body: { parents: [] } })
    await refused(404, 'POST', '/api/entities', { body: { machine: 'nothing', data: {} } })
    await refused(400, 'POST', '/api/entities', { body: { machine: 'crate', state: 'sent', data: {} } })
    await refused(400, 'POST', '/api/entities/batch', {
      body: { machine: 'crate', items: [{ data: {} }, { data: { parcels: 7 } }] },
    })
  })

  test('queries that ask for too much, or for nonsense', async () => {
    for (const query of [
      'limit=1000000000',
      'limit=0',
      'limit=-1',
      'limit=1e3',
      'limit=',
      'limit=10&limit=20',
      'after=x',
      'after=9007199254740993',
      'settled=yes',
      'state=nowhere&machine=crate',
      'sort=asc,(select%20pg_sleep(5))',
      'label=collection',
      'label=nothing&value=x',
      'parent=null',
      '__proto__=1',
      'machine[$ne]=x',
      `machine=${'x'.repeat(300)}`,
      'machine=crate&machine=parcel',
    ]) {
      await refused(400, 'GET', `/api/entities?${query}`)
    }
    await refused(400, 'GET', `/api/entities/${id}/history?limit=5000`)
    await refused(400, 'GET', '/api/events?after=-1')
    await refused(400, 'GET', '/api/events', { headers: { 'last-event-id': 'x\u00e4' } })
    await refused(400, 'GET', `/api/events?${'ids=1&'.repeat(101)}`)
  })

  test('paths with tricks', async () => {
    for (const path of [
      '/api/entities/..%2f..%2fetc%2fpasswd',
      '/api/entities/1%00',
      '/api/entities/1e3',
      '/api/entities/-1',
    ]) {
      await refused(400, 'GET', path)
    }
    await refused(400, 'GET', '/api/entities/99999999999999999999')
    await refused(400, 'GET', `/api/entities/${id}%2fhistory`)
    await refused(404, 'GET', '/API/entities')
    await refused(400, 'GET', '/api/entities/')
    await refused(404, 'GET', '//api/entities')
    for (const method of ['PATCH', 'DELETE', 'PUT', 'POST', 'QUERY', 'PROPFIND']) {
      const said = await refused(405, method, `/api/entities/${id}`)
      assert.equal(said.headers.get('allow'), 'GET, HEAD, OPTIONS', method)
      assert.deepEqual([said.body.type, said.body.code], ['urn:sluice:problem:wrong-method', 'unsupported'])
    }
    await refused(404, 'GET', '/.env')
    await refused(404, 'GET', '/docs/static/..%2f..%2fpackage.json')
    for (const path of ['/../../etc/passwd', '/api/%zz', '/%']) {
      const said = await rawStatus(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n`)
      assert.match(said, /^HTTP\/1.1 40[04]/, path)
      assert.match(said, /application\/problem\+json/)
    }
  })

  /** What the server says to these bytes. */
  function rawStatus(head: string, rest = 'Connection: close\r\n\r\n'): Promise<string> {
    const { hostname, port } = new URL(house.url)
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => socket.write(head + rest))
      let text = ''
      socket.on('data', (data) => {
        text += data.toString()
      })
      socket.on('close', () => resolve(text))
      socket.on('error', reject)
    })
  }

  test('HTTP that is none', async () => {
    const post = 'POST /api/entities HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
    const twoLengths = await rawStatus(post, 'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n')
    assert.match(twoLengths, /^HTTP\/1.1 400/)
    assert.match(await rawStatus('GET / HTTP/1.1\r\n', '\r\n'), /^HTTP\/1.1 400/, 'no Host')
    assert.match(await rawStatus('nonsense\r\n\r\n'), /^HTTP\/1.1 400[\s\S]*problem\+json/)
    const long = await rawStatus(`GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: ${'x'.repeat(20_000)}\r\n`)
    assert.match(long, /^HTTP\/1.1 431/)
    assert.match(await rawStatus('GET /health HTTP/1.1\r\nHost: localhost\r\nX: a\u0000b\r\n'), /^HTTP\/1.1 400/)
  })

  test('a body of the wrong kind, too big, or too slow', async () => {
    const text = JSON.stringify({ machine: 'crate', data: {} })
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/xml', 'application/jsonx']) {
      await refused(415, 'POST', '/api/entities', { text, headers: { 'content-type': type } })
    }
    for (const charset of ['utf-7', 'iso-8859-1', '"utf-16"', 'UTF-32']) {
      const headers = { 'content-type': `application/json; charset=${charset}` }
      const said = await refused(415, 'POST', '/api/entities', { text, headers })
      assert.equal(said.body.type, 'urn:sluice:problem:wrong-content-type')
    }
    for (const charset of ['utf-8', 'UTF-8', '"utf8"']) {
      const headers = { 'content-type': `application/json; charset=${charset}` }
      const dry = JSON.stringify({ filter: { machine: 'crate' }, action: 'pack' })
      assert.equal((await house.ask('POST', '/api/actions', { text: dry, headers })).status, 200, charset)
    }
    await refused(415, 'POST', '/api/entities', {
      text: '--x\r\n\r\n--x--',
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
    })
    await refused(413, 'POST', '/api/entities', {
      body: { machine: 'crate', data: { note: 'x'.repeat(1_100_000) } },
    })
    const slow = await rawStatus(
      'POST /api/entities HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n',
      'Content-Length: 100\r\n\r\n{"machine"',
    ).catch(() => '')
    assert.doesNotMatch(slow, /^HTTP\/1.1 2/)
  })

  test('an Idempotency-Key that is none', async () => {
    for (const key of ['a b', 'x'.repeat(201), 'ä']) {
      await refused(400, 'POST', '/api/entities', {
        body: { machine: 'crate', data: {} },
        headers: { 'idempotency-key': key },
      })
    }
  })

  test('hostile names are data and nothing else', async () => {
    const names = [
      '<script>alert(1)</script>',
      '"><img src=x onerror=alert(1)>',
      '\u001b]0;x\u0007',
      '=HYPERLINK("x")',
      'x\n\nevent: admin',
    ]
    for (const note of names) {
      const said = await house.ask('POST', '/api/entities', {
        body: { machine: 'crate', data: { collection: note, note } },
      })
      const { body, headers } = await house.ask('GET', `/api/entities/${said.body.id}`)
      assert.equal(body.data.note, note)
      assert.match(headers.get('content-type') ?? '', /^application\/json/)
      const listed = await house.ask('GET', `/api/entities?label=collection&value=${encodeURIComponent(note)}`)
      assert.equal(listed.body.entities[0].id, said.body.id)
    }
    const told = await house.ask('GET', `/api/entities?machine=crate&state=${encodeURIComponent(names[0] as string)}`)
    assert.equal(told.status, 400)
    assert.match(told.headers.get('content-type') ?? '', /^application\/problem\+json/)
    const { text } = await house.ask('GET', '/metrics')
    assert.doesNotMatch(text, /^event: admin/m)
  })

  test('who asks too often without a token has to wait', async () => {
    const token = await house.token({ name: 'somebody', role: 'admin' })
    let last = 0
    for (let times = 0; times < 40 && last !== 429; times += 1) {
      last = (await house.ask('GET', '/api/entities', { token: `slc_${'x'.repeat(43)}` })).status
    }
    assert.equal(last, 429)
    const said = await house.ask('GET', '/api/entities')
    assert.equal(said.status, 429)
    assert.equal(said.body.type, 'urn:sluice:problem:rate-limited')
    assert.ok(Number(said.headers.get('retry-after')) > 0)
    assert.equal((await house.ask('GET', '/api/entities', { token })).status, 200, 'whoever has one does not')
  })
})
