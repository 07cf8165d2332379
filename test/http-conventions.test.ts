import assert from 'node:assert/strict'
import { request as rawRequest } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { problems } from '../src/http/problem.ts'
import { errorCodes, errorStatus } from '../src/index.ts'
import { Ear } from './http/ear.ts'
import { askRaw, type House, openHouse } from './http/house.ts'

describe('by the conventions of HTTP', () => {
  let house: House
  let id: number
  before(async () => {
    house = await openHouse({ hasFamilies: true, hasDashboard: true })
    id = (await house.control.submit('crate', {})).id
  })
  after(() => house.close())

  test('a method that a path does not know is 405, and Allow names those that it knows', async () => {
    for (const [method, path, allow] of [
      ['DELETE', `/api/entities/${id}`, 'GET, HEAD, OPTIONS'],
      ['PUT', '/api/entities', 'GET, HEAD, OPTIONS, POST'],
      ['GET', '/api/entities/batch?x=1', null],
      ['GET', '/api/actions', 'OPTIONS, POST'],
      ['PATCH', '/api/holds/1', 'DELETE, GET, HEAD, OPTIONS'],
      ['QUERY', '/api/entities', 'GET, HEAD, OPTIONS, POST'],
      ['POST', '/api/events', 'GET, OPTIONS'],
      ['HEAD', '/api/events', 'GET, OPTIONS'],
      ['POST', '/', 'GET, HEAD, OPTIONS'],
      ['POST', '/health', 'GET, HEAD, OPTIONS'],
    ] as const) {
      const said = await house.ask(method, path)
      // As an id, `batch` is no number.
      assert.equal(said.status, allow === null ? 400 : 405, `${method} ${path} ${said.text}`)
      assert.equal(said.headers.get('allow'), allow, `${method} ${path}`)
      if (allow === null || method === 'HEAD') continue
      assert.deepEqual([said.body.type, said.body.status], ['urn:sluice:problem:wrong-method', 405])
    }
  })

  test('OPTIONS says what a path knows, and nothing to other sites', async () => {
    for (const [path, allow] of [
      ['/api/entities', 'GET, HEAD, OPTIONS, POST'],
      [`/api/entities/${id}/priority`, 'OPTIONS, PUT'],
    ] as const) {
      const said = await house.ask('OPTIONS', path, { headers: { 'access-control-request-method': 'POST' } })
      assert.deepEqual([said.status, said.text, said.headers.get('allow')], [204, '', allow])
      assert.equal(said.headers.get('access-control-allow-origin'), null)
      assert.equal(said.headers.get('access-control-allow-methods'), null)
    }
    for (const method of ['OPTIONS', 'GET', 'POST', 'QUERY']) {
      const said = await house.ask(method, '/api/nothing')
      assert.deepEqual([said.status, said.headers.get('allow')], [404, null], method)
    }
  })

  test('HEAD is GET without its body', async () => {
    for (const path of [`/api/entities/${id}`, '/api/entities', '/health', '/metrics', '/', '/openapi.json']) {
      const [head, get] = [await house.ask('HEAD', path), await house.ask('GET', path)]
      assert.deepEqual([head.status, head.text], [200, ''], path)
      assert.equal(head.headers.get('content-type'), get.headers.get('content-type'))
    }
    assert.equal((await house.ask('HEAD', '/api/entities/999999')).status, 404)
    assert.equal((await house.ask('HEAD', '/api/nothing')).status, 404)
  })

  test('what was made says where it is', async () => {
    const boundary = 'the-boundary'
    const form = {
      text: `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="x.json"\r\nContent-Type: application/json\r\n\r\n[{"id":1,"type":"story"}]\r\n--${boundary}--\r\n`,
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    }
    const key = { 'idempotency-key': 'one' }
    const submit = { body: { machine: 'crate', data: {} }, headers: key }
    const made: readonly (readonly [string, object, (body: { id: number }) => string])[] = [
      ['/api/entities', submit, ({ id }) => `/api/entities/${id}`],
      // A repeat is answered as the first time.
      ['/api/entities', submit, ({ id }) => `/api/entities/${id}`],
      ['/api/uploads', form, ({ id }) => `/api/uploads/${id}`],
      ['/api/jobs', { body: { definition: 'word-count', parameters: { text: 'a' } } }, ({ id }) => `/api/jobs/${id}`],
      ['/api/holds', { body: { scope: { machine: 'crate' }, reason: 'why' } }, ({ id }) => `/api/holds/${id}`],
      ['/api/samples', { body: {} }, () => '/api/entities?parent=none&newest=true'],
      ['/api/tokens', { body: { name: 'a@b', role: 'admin' } }, () => '/api/tokens/a%40b'],
    ]
    for (const [path, options, expected] of made) {
      const said = await house.ask('POST', path, options)
      assert.equal(said.status, 201, said.text)
      const location = said.headers.get('location')
      assert.equal(location, expected(said.body), path)
      const token = path === '/api/tokens' ? said.body.token : null
      const there = await house.ask('GET', location as string, { token })
      assert.equal(there.status, 200, there.text)
      if (path === '/api/holds') assert.deepEqual([there.body.id, there.body.reason], [said.body.id, 'why'])
      if (path === '/api/tokens') assert.deepEqual([there.body.name, there.body.token], ['a@b', undefined])
      if (path === '/api/holds') {
        await house.ask('DELETE', location as string, { body: {} })
        const past = await house.ask('GET', location as string)
        assert.equal(past.body.ended.by.actor, 'local', 'also when it has ended')
      }
      if (token !== null) await house.access.revoke('a@b')
    }
    const existing = await house.ask('POST', '/api/entities', { body: { machine: 'crate', data: {}, key: 'k' } })
    const again = await house.ask('POST', '/api/entities', { body: { machine: 'crate', data: {}, key: 'k' } })
    assert.deepEqual([existing.status, again.status, again.headers.get('location')], [201, 200, null])
    const dry = await house.ask('POST', '/api/actions', { body: { filter: { machine: 'crate' }, action: 'look' } })
    assert.equal(dry.headers.get('location'), null)
    const walk = await house.ask('POST', '/api/actions', { body: { confirmation: dry.body.confirmation } })
    assert.deepEqual([walk.status, walk.headers.get('location')], [202, `/api/actions/${walk.body.walk}`])
    assert.equal((await house.ask('GET', '/api/holds/999')).status, 404)
    assert.equal((await house.ask('GET', '/api/tokens/nobody')).status, 404)
  })

  test('every answer has the id of its request', async () => {
    const ids = new Set<string>()
    for (const [method, path] of [
      ['GET', '/health'],
      ['GET', '/'],
      ['GET', `/api/entities/${id}`],
      ['HEAD', '/api/totals'],
      ['OPTIONS', '/api/totals'],
      ['DELETE', '/api/totals'],
      ['GET', '/nothing'],
      ['GET', '/api/entities?limit=0'],
      ['DELETE', '/api/session'],
    ] as const) {
      const said = await house.ask(method, path)
      const told = said.headers.get('x-request-id') ?? ''
      assert.match(told, /^[\w-]{8,20}$/, `${method} ${path}`)
      if (said.body?.instance) assert.equal(said.body.instance, `urn:sluice:request:${told}`)
      ids.add(told)
    }
    assert.equal(ids.size, 9, 'each its own')
    const acted = await house.ask('POST', `/api/entities/${id}/actions/look`, {
      body: {},
      headers: { 'idempotency-key': 'two' },
    })
    const history = await house.control.history(id)
    assert.equal(history.at(-1)?.requestId, acted.headers.get('x-request-id'), 'the one that the history has')
    const ear = new Ear(`${house.url}/api/events`)
    await ear.message('ready')
    ear.close()
  })

  /** As it comes over the wire. */
  function wire(path: string, headers: Readonly<Record<string, string>>) {
    return new Promise<{ headers: Readonly<Record<string, unknown>>; status: number; bytes: Buffer }>(
      (resolve, reject) => {
        const asked = rawRequest(`${house.url}${path}`, { headers, agent: false }, async (response) => {
          const bytes = Buffer.concat(await response.toArray())
          resolve({ headers: response.headers, status: response.statusCode ?? 0, bytes })
        })
        asked.on('error', reject).end()
      },
    )
  }

  test('big answers are compressed for whoever takes it', async () => {
    const plain = await wire('/api/machines', {})
    assert.deepEqual([plain.headers['content-encoding'], plain.headers.vary], [undefined, 'accept-encoding'])
    for (const wanted of ['gzip', 'br, gzip;q=0.5', 'GZIP, deflate']) {
      const zipped = await wire('/api/machines', { 'accept-encoding': wanted })
      assert.equal(zipped.headers['content-encoding'], 'gzip', wanted)
      assert.equal(Number(zipped.headers['content-length']), zipped.bytes.length)
      assert.ok(zipped.bytes.length * 4 < plain.bytes.length)
      assert.deepEqual(gunzipSync(zipped.bytes), plain.bytes)
    }
    for (const refused of ['gzip;q=0', 'br', 'gzip; q=0.0, br', 'identity']) {
      const { headers, bytes } = await wire('/api/machines', { 'accept-encoding': refused })
      assert.deepEqual([headers['content-encoding'], bytes.length], [undefined, plain.bytes.length], refused)
    }
    const small = await wire('/health', { 'accept-encoding': 'gzip' })
    assert.deepEqual([small.headers['content-encoding'], small.bytes.toString()], [undefined, '{"status":"ok"}'])
    const session = await wire('/api/session', { 'accept-encoding': 'gzip' })
    assert.equal(session.headers['content-encoding'], undefined)
  })

  test('what does not change is sent once', async () => {
    for (const path of ['/api/machines', '/api/machines/crate/1', '/openapi.json']) {
      const first = await wire(path, {})
      const etag = String(first.headers.etag)
      assert.match(etag, /^W\/"[\w-]{22}"$/, path)
      assert.equal(first.headers['cache-control'], 'private, no-cache')
      for (const known of [etag, `"x", ${etag}`, etag.slice(2), '*']) {
        const again = await wire(path, { 'if-none-match': known })
        assert.deepEqual([again.status, again.bytes.length, again.headers.etag], [304, 0, etag], known)
      }
      assert.equal((await wire(path, { 'if-none-match': 'W/"x"' })).status, 200)
    }
    const moving = await wire('/api/totals', { 'if-none-match': '*' })
    assert.deepEqual(
      [moving.status, moving.headers.etag, moving.headers['cache-control']],
      [200, undefined, 'no-store'],
    )
  })

  describe('the document', () => {
    // Whatever was parsed: it is looked at by its paths.
    let paths: ReturnType<typeof JSON.parse>
    let schemas: ReturnType<typeof JSON.parse>
    let text: string
    before(async () => {
      const said = await house.ask('GET', '/openapi.json')
      text = said.text
      paths = said.body.paths
      schemas = said.body.components.schemas
    })
    const parameter = (path: string, name: string) =>
      paths[path].get.parameters.find((one: { name: string }) => one.name === name)
    const bodyOf = (path: string, method = 'post', type = 'application/json') =>
      paths[path][method].requestBody.content[type].schema.properties

    test('says parameters as they are sent', async () => {
      assert.deepEqual(parameter('/api/entities', 'parent'), {
        ...{ name: 'parent', in: 'query', required: false, description: 'Children of this entity; `none`: roots.' },
        schema: {
          anyOf: [
            { type: 'integer', minimum: 0 },
            { type: 'string', const: 'none' },
          ],
        },
      })
      assert.equal((await house.ask('GET', '/api/entities?parent=none')).status, 200)
      const parents = parameter('/api/check', 'parent').schema
      assert.deepEqual([parents.type, parents.maxItems, parents.items.anyOf.length], ['array', 500, 2])
      assert.deepEqual(parameter('/api/entities', 'settled').schema, { type: 'boolean' })
      const { type, minimum, maximum } = parameter('/api/entities', 'limit').schema
      assert.deepEqual([type, minimum, maximum], ['integer', 1, 1_000])
    })

    test('promises only as many ids as an address can hold', async () => {
      for (const path of ['/api/check?parent', '/api/entities?spawnedBy']) {
        const [route, name] = path.split('?') as [string, string]
        const { maxItems } = parameter(route, name).schema
        const query = (count: number) => Array.from({ length: count }, () => `${name}=9007199254740991`).join('&')
        const fits = await house.ask('GET', `${route}?${query(maxItems)}`)
        assert.ok([200, 404].includes(fits.status), fits.text)
        assert.equal((await house.ask('GET', `${route}?${query(maxItems + 1)}`)).status, 400)
      }
    })

    test('tells the limits that are kept', async () => {
      const priority = { type: 'integer', minimum: -1_000, maximum: 1_000 }
      assert.deepEqual(bodyOf('/api/entities').priority, priority)
      assert.deepEqual(bodyOf('/api/jobs').priority, priority)
      assert.deepEqual(bodyOf('/api/entities/{id}/priority', 'put').priority, priority)
      for (const value of [-1_001, 1_001]) {
        const said = await house.ask('PUT', `/api/entities/${id}/priority`, { body: { priority: value } })
        assert.deepEqual([said.status, said.body.faults[0].path], [400, 'priority'])
      }
      assert.equal((await house.ask('PUT', `/api/entities/${id}/priority`, { body: { priority: -1_000 } })).status, 200)
      assert.equal(schemas.HoldScope.minProperties, 1)
      assert.equal(bodyOf('/api/tokens').name.pattern, '^[A-Za-z0-9][A-Za-z0-9._@-]{0,79}$')
      assert.equal(bodyOf('/api/tokens').collections.anyOf[0].minItems, 1)
    })

    test('says what a form holds', () => {
      const form = 'multipart/form-data'
      assert.deepEqual(Object.keys(bodyOf('/api/uploads', 'post', form)).slice(0, 3), [
        'collection',
        'force',
        'fileName',
      ])
      assert.equal(bodyOf('/api/uploads', 'post', form).file.format, 'binary')
      assert.equal(bodyOf('/api/jobs', 'post', form).files.items.format, 'binary')
      assert.equal(bodyOf('/api/jobs', 'post', form).job.type, 'string')
    })

    test('names what is worth a name', () => {
      for (const name of [
        'Entity',
        'ListedEntity',
        'Event',
        'Lane',
        'Hold',
        'HoldScope',
        'Worker',
        'Problem',
        'Machine',
      ]) {
        assert.equal(schemas[name].type, 'object', name)
        assert.ok(text.includes(`"$ref":"#/components/schemas/${name}"`), `${name} is used`)
      }
      const operations = Object.values<object>(paths).flatMap((one) =>
        Object.values<{ operationId: string }>(one as never),
      )
      for (const { operationId } of operations) {
        assert.match(operationId, /^[a-z][A-Za-z]{3,40}$/)
        assert.doesNotMatch(operationId, /Api/)
      }
    })

    test('tells of each operation what may come instead of its answer', async () => {
      const submit = paths['/api/entities'].post.responses
      assert.deepEqual(Object.keys(submit), [
        '200',
        '201',
        '400',
        '401',
        '403',
        '409',
        '413',
        '415',
        '422',
        '429',
        'default',
      ])
      assert.ok(
        submit[429].headers['Retry-After'] && submit[201].headers.Location && submit[201].headers['X-Request-Id'],
      )
      assert.ok(submit[201].headers['Idempotent-Replayed'])
      assert.ok(paths['/api/entities/{id}'].get.responses[404])
      assert.deepEqual(Object.keys(paths['/health'].get.responses), ['200', 'default'])
    })
  })

  test('every kind of problem has one status and one code, and the document names them', async () => {
    for (const code of errorCodes) {
      const { status, code: own } = problems[code.replace('_', '-') as keyof typeof problems]
      assert.deepEqual([status, own], [errorStatus[code].http, code], 'the kinds that all of Sluice knows')
    }
    const { body } = await house.ask('GET', '/openapi.json')
    const { properties } = body.components.schemas.Problem
    assert.deepEqual(properties.code.enum, errorCodes)
    assert.deepEqual(
      properties.type.enum,
      Object.keys(problems).map((type) => `urn:sluice:problem:${type}`),
    )
    const strange = await askRaw(`${house.url}/health`, 'GET', { host: 'evil.example' })
    assert.deepEqual([strange.status, JSON.parse(strange.text).code], [421, 'forbidden'])
  })
})
