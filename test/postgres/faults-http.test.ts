import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { House } from '../http/house.ts'
import { skipOwn, startPostgres } from './server.ts'

test('while the server is away the API says so, in problem documents that ask to come again', {
  skip: skipOwn,
  timeout: 60_000,
}, async () => {
  await using server = await startPostgres({ own: true })
  process.env.SLUICE_TEST_STORE = await server.database()
  // Looked at when it is loaded: which store a house stands on.
  const { openHouse } = await import('../http/house.ts')
  const house: House = await openHouse()
  try {
    const body = { machine: 'crate', state: 'packed', data: { collection: 'a', parcels: [{ to: 'x', broken: false }] } }
    const first = await house.ask('POST', '/api/entities', { body: { ...body, key: 'first' } })
    assert.equal(first.status, 201)
    assert.equal((await house.ask('GET', '/ready')).status, 200)

    await server.stop('immediate')
    assert.equal((await house.ask('GET', '/health')).status, 200, 'The process itself is well.')
    const ready = await house.ask('GET', '/ready')
    assert.deepEqual([ready.status, ready.body.type], [503, 'urn:sluice:problem:not-ready'])
    for (const [method, path, options] of [
      ['GET', `/api/entities/${first.body.id}`, {}],
      ['GET', '/api/entities', {}],
      ['GET', '/api/workers', {}],
      ['POST', '/api/entities', { body: { ...body, key: 'second' } }],
    ] as const) {
      const said = await house.ask(method, path, options)
      assert.match(said.headers.get('content-type') ?? '', /problem\+json/, `${method} ${path}`)
      assert.deepEqual([said.status, said.body.status], [503, 503], `${method} ${path}: ${said.text}`)
      assert.ok(Number(said.headers.get('retry-after')) >= 1, `${method} ${path} says when to come again.`)
      assert.doesNotMatch(said.text, /127\.0\.0\.1|postgres:/, 'Where the store is, is nobody’s business.')
    }

    await server.start()
    const again = await house.ask('POST', '/api/entities', { body: { ...body, key: 'second' } })
    assert.equal(again.status, 201, again.text)
    assert.equal((await house.ask('GET', '/ready')).status, 200)
    assert.ok(await house.control.settled(first.body.id, 20_000))
    assert.ok(await house.control.settled(again.body.id, 20_000))
  } finally {
    await house.close()
  }
})
