import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { pino } from 'pino'
import { z } from 'zod'
import { systemClock } from '../clock.ts'
import type { Change, Control } from '../control.ts'
import { Engine } from '../engine/engine.ts'
import { isSluiceError } from '../errors.ts'
import { type Access, idempotencyInMemory, openAccess, openServer, type Server } from '../http/index.ts'
import { implement } from '../implementation.ts'
import { defineMachine } from '../machine.ts'
import { done, fail } from '../outcome.ts'
import { memoryStore } from '../store/memory/index.ts'
import { type Client, type Fetch, openClient } from './index.ts'

const box = defineMachine({
  name: 'box',
  version: 1,
  initial: ['filling'],
  settled: ['full', 'broken', 'burnt'],
  final: ['burnt'],
  labels: ['collection'],
  data: z.object({ balls: z.number().int().min(0).max(1_000), collection: z.string().optional() }),
  states: {
    filling: 'Balls go in.',
    closing: 'Waits for them.',
    full: { purpose: 'All in.', outcome: 'success' },
    broken: { purpose: 'No.', outcome: 'failure' },
    burnt: { purpose: 'Gone.', outcome: 'neutral' },
  },
  transitions: {
    fill: { from: 'filling', to: 'closing', on: 'done', processor: 'fill' },
    tear: { from: 'filling', to: 'broken', on: 'fail' },
    close: { from: 'closing', to: 'full', on: 'children' },
    burn: { from: ['full', 'broken'], to: 'burnt', on: 'action', warning: 'It cannot be had back.' },
    refill: { from: 'broken', to: 'filling', on: 'action' },
    mend: { from: 'broken', to: 'filling', on: 'action', processor: 'mend' },
    fail_to_mend: { from: 'broken', to: 'broken', on: 'fail' },
  },
})
const ball = defineMachine({
  name: 'ball',
  version: 1,
  parent: 'box',
  initial: ['loose'],
  settled: ['in', 'lost'],
  final: ['in', 'lost'],
  data: z.object({ number: z.number() }),
  states: {
    loose: 'Rolls.',
    in: { purpose: 'Is in.', outcome: 'success' },
    lost: { purpose: 'Rolled away.', outcome: 'failure' },
  },
  transitions: {
    put: { from: 'loose', to: 'in', on: 'done', processor: 'put' },
    lose: { from: 'loose', to: 'lost', on: 'fail' },
  },
})
/** A test may keep the mending waiting. */
let mending: Promise<void> = Promise.resolve()

const implementations = [
  implement(box, {
    processors: {
      mend: async ({ data }) => {
        await mending
        return data.collection === undefined ? done({ ...data, balls: 1 }) : fail('no glue')
      },
      async fill({ data, spawn }) {
        if (data.balls === 13) return fail('unlucky')
        await spawn(Array.from({ length: data.balls }, (_, number) => ({ machine: 'ball', data: { number } })))
        return done()
      },
    },
  }),
  implement(ball, { processors: { put: ({ data }) => (data.number === 2 ? fail('too round') : done()) } }),
]

const clock = systemClock()
const folder = mkdtempSync(join(tmpdir(), 'sluice-client-'))
let local: Control
let server: Server
let access: Access
let client: Client
let stop = async () => {}

before(async () => {
  const store = memoryStore()
  const engine = new Engine({ store, implementations, log: pino({ level: 'silent' }) })
  await engine.start()
  local = engine.control
  access = openAccess({ file: join(folder, 'tokens.json'), clock })
  server = await serverOn(0)
  client = openClient({ url: server.url, limits: { retryFirstMs: 5, retryMaxMs: 20 } })
  stop = async () => {
    await server.close()
    await engine.stop()
    await store.close()
  }
})
after(async () => {
  await stop()
  rmSync(folder, { recursive: true, force: true })
})

function serverOn(port: number): Promise<Server> {
  return openServer({
    ...{ control: local, families: {}, access, idempotency: idempotencyInMemory(), clock },
    listen: { host: '127.0.0.1', port },
    log: pino({ level: 'silent' }),
  })
}

async function settledBox(balls: number, collection?: string): Promise<number> {
  const { id } = await client.submit('box', collection === undefined ? { balls } : { balls, collection })
  assert.ok(await client.settled(id, 20_000))
  return id
}

describe('what a client answers is what the engine answers', () => {
  test('looking', async () => {
    const id = await settledBox(5, 'red')
    const same = async <T>(ask: (control: Control) => Promise<T>) => {
      assert.deepEqual(await ask(client), JSON.parse(JSON.stringify(await ask(local))))
    }
    await same((control) => control.get(id))
    await same((control) => control.list({ parent: id, limit: 3 }))
    await same((control) => control.list({ parent: null, newestFirst: true, limit: 2 }))
    await same((control) => control.list({ machine: 'ball', states: ['in', 'lost'], settled: true, upTo: id + 3 }))
    await same((control) => control.find(String(id)))
    await same((control) => control.list({ key: 'no such key' }))
    await same((control) => control.list({ parent: id, outcomes: ['failure', 'neutral'] }))
    await same((control) => control.list({ label: { name: 'collection', value: 'red' } }))
    await same((control) => control.list({ spawnedBy: { sources: [id], after: { source: id, ordinal: 1 } }, limit: 2 }))
    await same((control) => control.list({ reason: 'too round', lane: 'ball' }))
    await same((control) => control.history(id))
    await same((control) => control.history(id, { afterSeq: 0, limit: 1 }))
    await same((control) => control.lanes(id))
    await same((control) => control.totals())
    await same((control) => control.explain(id))
    await same(async (control) => ({ ...(await control.report(id)), progress: null }))
    await same((control) => control.check([null, id]))
    await same((control) => control.repair([id]))
    const [one, other] = [await client.progress(id), await local.progress(id)]
    assert.deepEqual(
      { ...one, ratePerSecond: 0, etaMs: 0 },
      JSON.parse(JSON.stringify({ ...other, ratePerSecond: 0, etaMs: 0 })),
    )
    const machines = await client.machines()
    assert.deepEqual(
      machines.map(({ name, version, digest, edges }) => [name, version, digest, edges.length]),
      (await local.machines()).map(({ name, version, digest, edges }) => [name, version, digest, edges.length]),
    )
    assert.equal((await client.workers())[0]?.name, (await local.workers())[0]?.name)
  })

  test('submitting many: in groups, each with its key', async () => {
    const items = Array.from({ length: 1_500 }, (_, index) => ({ data: { balls: 0 }, key: `many-${index}` }))
    const submitted = await client.submitMany('box', items)
    assert.equal(submitted.length, 1_500)
    assert.equal(new Set(submitted.map(({ id }) => id)).size, 1_500)
    const again = await client.submitMany('box', items.slice(700, 702))
    assert.deepEqual(again, [
      { id: submitted[700]?.id, existing: true },
      { id: submitted[701]?.id, existing: true },
    ])
  })

  test('holding', async () => {
    const hold = await client.hold({ label: { name: 'collection', value: 'blue' } }, { reason: 'wait', owner: 'x' })
    assert.equal(hold.owner, 'local')
    const { id } = await client.submit('box', { balls: 0, collection: 'blue' })
    assert.equal(await client.settled(id, 50), null)
    assert.equal((await client.explain(id)).kind, 'held')
    assert.deepEqual(await client.holds(), JSON.parse(JSON.stringify(await local.holds())))
    await client.release(hold.id, { reason: 'now' })
    assert.equal((await client.settled(id, 20_000))?.state, 'full')
    assert.equal((await client.pastHolds(1))[0]?.ended?.by?.reason, 'now')
  })

  test('acting, on one and on many', async () => {
    const id = await settledBox(13)
    const refused = await client.act(id, 'burn').catch((error: unknown) => error)
    assert.ok(isSluiceError(refused, 'conflict'))
    assert.equal(refused.detail.warning, 'It cannot be had back.')
    assert.equal(refused.detail.confirm, true)
    assert.deepEqual(await client.act(id, 'burn', { confirmed: true, reason: 'cold' }), {
      id,
      kind: 'done',
      state: 'burnt',
    })
    assert.equal((await client.history(id)).at(-1)?.reason, 'cold')

    const { id: other } = await client.submit('box', { balls: 13, collection: 'green' })
    await client.settled(other)
    const filter = { machine: 'box', states: ['broken'], label: { name: 'collection', value: 'green' }, limit: 7 }
    const counted = await client.actOnMany(filter, 'burn')
    assert.deepEqual(counted, { matching: 1, exact: true, warnings: ['It cannot be had back.'], walk: null })
    assert.equal((await client.get(other)).state, 'broken')
    const { walk } = await client.actOnMany(filter, 'burn', { confirm: true })
    assert.equal((await client.settled(walk as number, 20_000))?.state, 'completed')
    assert.equal((await client.get(other)).state, 'burnt')
  })

  test('priorities', async () => {
    const hold = await client.hold({ label: { name: 'collection', value: 'slow' } }, { reason: 'wait', owner: 'x' })
    const { id } = await client.submit('box', { balls: 0, collection: 'slow' }, { priority: 7 })
    await client.prioritise(id, -3)
    assert.equal((await client.get(id)).priority, -3)
    await client.release(hold.id)
  })
})

describe('errors keep their code and their words', () => {
  const cases: readonly [string, (control: Control) => Promise<unknown>][] = [
    ['an unknown entity', (control) => control.get(987_654)],
    ['an unknown machine', (control) => control.submit('nothing', {})],
    ['an unknown state', (control) => control.list({ machine: 'box', states: ['odd'] })],
    ['an unknown action', (control) => control.act(1, 'fly')],
    ['an unknown hold', (control) => control.release(4_711)],
  ]
  for (const [name, ask] of cases) {
    test(name, async () => {
      const [here, there] = await Promise.all(
        [ask(local), ask(client)].map((asked) => asked.catch((error: unknown) => error)),
      )
      assert.ok(isSluiceError(here) && isSluiceError(there), `${there}`)
      assert.deepEqual([there.code, there.message], [here.code, here.message])
    })
  }

  test('ids that are no numbers never reach a path', async () => {
    const evil = '1/actions/burn' as unknown as number
    await assert.rejects(client.get(evil), (error) => isSluiceError(error, 'invalid'))
    await assert.rejects(client.release(evil), (error) => isSluiceError(error, 'invalid'))
  })

  test('a server that is not there, an address that is none, an answer that is no JSON', async () => {
    const none = openClient({ url: 'http://127.0.0.1:9', limits: { retriesMax: 1, retryFirstMs: 1 } })
    await assert.rejects(none.totals(), /The server at http:\/\/127\.0\.0\.1:9\/ cannot be reached/)
    for (const url of ['', 'ftp://x', 'http://a:b@c', 'nothing']) {
      assert.throws(
        () => openClient({ url }),
        (error) => isSluiceError(error, 'invalid'),
      )
    }
    assert.throws(() => openClient({ url: server.url, token: 'two words' }), /The token must be one word/)
    const odd = openClient({ url: server.url, fetch: async () => new Response('<html>') })
    await assert.rejects(odd.totals(), /is not JSON; is .* a Sluice server\?/)
  })
})

describe('settled() after act() waits for the new end', () => {
  for (const [where, controlOf] of [
    ['in the process', () => local],
    ['over HTTP', () => client],
  ] as const) {
    test(where, async () => {
      const control: Control = controlOf()
      const { id } = await control.submit('box', { balls: 13 })
      assert.equal((await control.settled(id, 20_000))?.state, 'broken')
      const { promise, resolve } = Promise.withResolvers<void>()
      mending = promise
      assert.equal((await control.act(id, 'mend')).kind, 'requested')
      assert.equal(await control.settled(id, 0), null, 'the old end is no answer')
      const end = control.settled(id, 20_000)
      resolve()
      const detail = await end
      assert.deepEqual([detail?.state, detail?.generation, detail?.request], ['full', 1, null])
      assert.equal((await control.report(id)).outcome, 'success')
    })

    test(`${where}: also if what was asked fails, and nothing has changed`, async () => {
      const control: Control = controlOf()
      const { id } = await control.submit('box', { balls: 13, collection: 'no glue' })
      await control.settled(id, 20_000)
      await control.act(id, 'mend')
      const detail = await control.settled(id, 20_000)
      assert.deepEqual([detail?.state, detail?.generation, detail?.reason], ['broken', 0, 'no glue'])
    })
  }
})

describe('when connections break', () => {
  /** Does what is asked, and loses the answer. */
  const losing = (times: number, method: string): Fetch => {
    let left = times
    return async (url, init) => {
      const response = await fetch(url, init)
      if (init.method !== method || left === 0) return response
      left -= 1
      await response.arrayBuffer()
      throw new TypeError('fetch failed', { cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }) })
    }
  }
  const limits = { retryFirstMs: 1, retryMaxMs: 5 }

  test('a lost answer does nothing twice', async () => {
    const shaky = openClient({ url: server.url, fetch: losing(2, 'POST'), limits })
    const before = (await local.list({ parent: null, newestFirst: true, limit: 1 })).entities[0]?.id ?? 0
    const { id, existing } = await shaky.submit('box', { balls: 0 })
    assert.equal(existing, false)
    const { entities } = await local.list({ parent: null, after: before, limit: 10 })
    assert.deepEqual(
      entities.map((entity) => entity.id),
      [id],
    )
  })

  test('requests are repeated a few times only; one that removes something is not', async () => {
    const shaky = openClient({ url: server.url, fetch: losing(100, 'GET'), limits: { ...limits, retriesMax: 2 } })
    await assert.rejects(shaky.totals(), /ECONNRESET/)
    const hold = await client.hold({ machine: 'ball', state: 'loose' }, { reason: 'x', owner: 'x' })
    const forgetful = openClient({ url: server.url, fetch: losing(1, 'DELETE'), limits })
    await assert.rejects(forgetful.release(hold.id), /ECONNRESET/)
    assert.deepEqual(await client.holds(), [])
  })

  test('a watch goes on where it was: nothing is missed, nothing is heard twice', async () => {
    let streams = 0
    const breaking: Fetch = async (url, init) => {
      const response = await fetch(url, init)
      if (!url.includes('/api/events') || !response.body) return response
      streams += 1
      return new Response(cutAfter(response.body as AsyncIterable<Uint8Array>, 3) as unknown as BodyInit, response)
    }
    const shaky = openClient({ url: server.url, fetch: breaking, limits })
    const stopping = new AbortController()
    const heard: Change[] = []
    const begun = Promise.withResolvers<number>()
    const boxes: number[] = []
    let marker = -1
    const seen = (async () => {
      for await (const change of shaky.watch({ signal: stopping.signal, begun: begun.resolve })) {
        heard.push(change)
        if (change.events.some(({ entity, to }) => entity === marker && to === 'full')) break
      }
    })()
    await begun.promise
    for (let number = 0; number < 30; number += 1) boxes.push(await settledBox(1))
    const hold = await client.hold({ label: { name: 'collection', value: 'last' } }, { reason: 'wait', owner: 'x' })
    marker = (await client.submit('box', { balls: 0, collection: 'last' })).id
    await client.release(hold.id)
    await seen
    const events = heard.flatMap((change) => change.events)
    const moves = events.map(({ entity, seq, hop }) => `${entity}:${seq}:${hop}`)
    assert.equal(new Set(moves).size, moves.length)
    for (const id of boxes) {
      const own = events.filter(({ entity }) => entity === id).map(({ seq }) => seq)
      const seqs = (await local.history(id, { afterSeq: 0 })).map(({ seq }) => seq)
      assert.deepEqual(own, seqs)
    }
    assert.ok(streams > 3, `${streams} streams`)
  })

  test('a watch that is dropped goes on behind what the server had come to, however often', async () => {
    const asked: (string | null)[] = []
    const dropping: Fetch = async (url, init) => {
      if (!url.includes('/api/events')) return fetch(url, init)
      asked.push(new URL(url).searchParams.get('after'))
      const position = asked.length * 10
      const end =
        position <= 60
          ? `event: resync\ndata: ${JSON.stringify({ position: 1_000, passed: position, reason: 'behind' })}\n\n`
          : `event: change\ndata: ${JSON.stringify({ position, events: [], births: [1] })}\n\n`
      return new Response(`event: ready\ndata: {"position":1}\n\n${end}`)
    }
    const dropped = openClient({ url: server.url, fetch: dropping, limits })
    for await (const { births } of dropped.watch({ after: 1 })) {
      assert.deepEqual(births, [1])
      break
    }
    assert.deepEqual(asked, ['1', '10', '20', '30', '40', '50', '60'])
  })

  test('a watch outlives a restart of the server, and ends with its signal', async () => {
    const stopping = new AbortController()
    const begun = Promise.withResolvers<number>()
    const patient = openClient({ url: server.url, limits: { ...limits, retriesMax: 200, retryMaxMs: 20 } })
    const watching = patient.watch({ signal: stopping.signal, begun: begun.resolve })[Symbol.asyncIterator]()
    const next = watching.next()
    await begun.promise
    const port = Number(new URL(server.url).port)
    await server.close()
    server = await serverOn(port)
    const { id } = await client.submit('box', { balls: 0 })
    assert.ok((await next).value)
    assert.ok(await client.settled(id, 20_000))
    stopping.abort()
    for (let end = await watching.next(); !end.done; end = await watching.next());
  })

  async function* cutAfter(body: AsyncIterable<Uint8Array>, blocks: number): AsyncGenerator<Uint8Array> {
    let count = 0
    for await (const block of body) {
      yield block
      // A message that takes more than so many blocks is heard all the same.
      if (block.at(-1) === 10 && block.at(-2) === 10) count += 1
      if (count >= blocks) throw new Error('cut')
    }
  }
})

describe('tokens', () => {
  test('who has none, a wrong one, or too small a role is refused; a foreign collection is not there', async () => {
    const { token } = await client.tokens.create({ name: 'root', role: 'admin' })
    const admin = openClient({ url: server.url, token })
    try {
      await assert.rejects(client.totals(), (error) => isSluiceError(error, 'forbidden'))
      const wrong = openClient({ url: server.url, token: `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}` })
      await assert.rejects(wrong.totals(), (error) => isSluiceError(error, 'forbidden'))
      const red = await admin.tokens.create({ name: 'red', role: 'submitter', collections: ['red'] })
      const reds = openClient({ url: server.url, token: red.token })
      assert.deepEqual(
        await reds.session().then(({ actor, role, collections, kind }) => ({ actor, role, collections, kind })),
        { actor: 'red', role: 'submitter', collections: ['red'], kind: 'token' },
      )
      await assert.rejects(reds.hold({ machine: 'box' }, { reason: 'x', owner: 'x' }), (error) =>
        isSluiceError(error, 'forbidden'),
      )
      const { id } = await admin.submit('box', { balls: 0, collection: 'blue' })
      await assert.rejects(
        reds.get(id),
        (error) => isSluiceError(error, 'not_found') && error.message === `There is no entity ${id}.`,
      )
      assert.deepEqual((await admin.tokens.list()).map(({ name }) => name).sort(), ['red', 'root'])
      await admin.tokens.revoke('red')
    } finally {
      await admin.tokens.revoke('root')
    }
  })
})
