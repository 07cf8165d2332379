import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { z } from 'zod'
import { type Control, defineMachine, done, fail, implement, isSluiceError, retry } from '../src/index.ts'
import { type House, openHouse, storeKinds } from './http/house.ts'

/** Writes what its data tells it to, in the way that its data names. */
const scribe = defineMachine({
  name: 'scribe',
  version: 1,
  initial: ['ready', 'resting'],
  settled: ['written', 'refused'],
  final: ['written', 'refused'],
  states: { ready: 'About to write.', resting: 'Waits for a person.', written: 'Written.', refused: 'Not written.' },
  transitions: {
    write: { from: 'ready', to: 'written', on: 'done', processor: 'write' },
    refuse: { from: 'ready', to: 'refused', on: 'fail' },
    wake: { from: 'resting', to: 'written', on: 'action' },
  },
  policies: { write: { attemptsMax: 1 } },
  data: z.looseObject({ way: z.string().optional(), collection: z.string().optional() }),
  labels: ['collection'],
})

const odd = { NUL: 'a\u0000b', surrogate: '\ud83d' } as const

const writing = implement(scribe, {
  processors: {
    write: async ({ data, checkpoint }) => {
      const [way, which] = (data.way ?? '').split(' ') as [string, keyof typeof odd]
      const text = odd[which]
      if (way === 'data') return done({ ...data, deep: [{ text }] })
      if (way === 'label') return done({ ...data, collection: text })
      if (way === 'name') return done({ ...data, [text]: 1 })
      if (way === 'sum') return done(data, { [text]: 1 })
      if (way === 'cursor') await checkpoint({ text })
      if (way === 'reason') return fail(`odd ${text}`, `very odd ${text}`)
      if (way === 'retry') return retry(`again ${text}`)
      if (way === 'throw') throw new Error(`thrown ${text}`)
      return done()
    },
  },
})

const said = { NUL: /has a NUL character/, surrogate: /has half a surrogate pair/ } as const

for (const store of storeKinds) {
  describe(`on the ${store} store, text that no store can keep`, () => {
    let house: House
    let control: Control
    let id: number
    let count = 0
    before(async () => {
      house = await openHouse({ store, implementations: [writing], hasFamilies: true })
      control = house.control
      id = (await control.submit('scribe', {}, { state: 'resting' })).id
      count = (await control.list({})).entities.length
    })
    after(() => house.close())

    const json = { 'content-type': 'application/json' }
    const things = async () => [(await control.list({})).entities.length, (await control.holds()).length]

    for (const which of ['NUL', 'surrogate'] as const) {
      const text = odd[which]

      test(`is refused by the control, with the field: ${which}`, async () => {
        const attempts: readonly (readonly [string, () => Promise<unknown>])[] = [
          ['deep.0.text', () => control.submit('scribe', { deep: [{ text }] }, { state: 'resting' })],
          ['collection', () => control.submit('scribe', { collection: text }, { state: 'resting' })],
          ['key', () => control.submit('scribe', {}, { key: text })],
          ['actor', () => control.submit('scribe', {}, { actor: text })],
          ['reason', () => control.act(id, 'wake', { reason: text })],
          ['actor', () => control.act(id, 'wake', { actor: text })],
          ['requestId', () => control.act(id, 'wake', { requestId: text })],
          ['note', () => control.act(id, 'wake', { input: { note: text } })],
          ['reason', () => control.actOnMany({ machine: 'scribe' }, 'wake', { reason: text, confirm: true })],
          ['reason', () => control.hold({ machine: 'scribe' }, { reason: text, owner: 'me' })],
          ['owner', () => control.hold({ machine: 'scribe' }, { reason: 'why', owner: text })],
          ['actor', () => control.hold({ machine: 'scribe' }, { reason: 'why', owner: 'me', actor: text })],
          [
            'scope.label.value',
            () => control.hold({ label: { name: 'collection', value: text } }, { reason: 'why', owner: 'me' }),
          ],
          ['reason', () => control.repair([id], { reason: text })],
        ]
        for (const [field, attempt] of attempts) {
          await assert.rejects(attempt, (error) => {
            assert.ok(isSluiceError(error, 'invalid'), `${field}: ${error}`)
            assert.match(error.message, said[which])
            assert.equal(error.detail.field, field, error.message)
            return true
          })
        }
        assert.deepEqual(await things(), [count, 0])
        assert.equal((await control.get(id)).state, 'resting')
      })

      test(`is refused over HTTP, with 400 and the field: ${which}`, async () => {
        const refusals: readonly (readonly [string, string, string, unknown])[] = [
          ['POST', '/api/entities', 'data.deep.0.text', { machine: 'scribe', data: { deep: [{ text }] } }],
          ['POST', '/api/entities', 'data.collection', { machine: 'scribe', data: { collection: text } }],
          ['POST', '/api/entities', 'key', { machine: 'scribe', data: {}, key: text }],
          ['POST', '/api/entities/batch', 'items.0.key', { machine: 'scribe', items: [{ data: {}, key: text }] }],
          ['POST', `/api/entities/${id}/actions/wake`, 'reason', { reason: text }],
          ['POST', `/api/entities/${id}/actions/wake`, 'input.note', { input: { note: text } }],
          ['POST', '/api/actions', 'filter.reason', { filter: { reason: text }, action: 'wake' }],
          ['POST', '/api/holds', 'reason', { scope: { machine: 'scribe' }, reason: text }],
          [
            'POST',
            '/api/holds',
            'scope.label.value',
            { scope: { label: { name: 'collection', value: text } }, reason: 'why' },
          ],
          ['POST', '/api/repair', 'reason', { parents: [id], reason: text }],
          ['POST', '/api/jobs', 'parameters.text', { definition: 'word-count', parameters: { text } }],
          ['POST', '/api/jobs', 'key', { definition: 'word-count', parameters: { text: 'a' }, key: text }],
          ['POST', '/api/tokens', 'collections.0', { name: 'x', role: 'admin', collections: [text] }],
        ]
        for (const [method, path, field, body] of refusals) {
          const answer = await house.ask(method, path, { text: JSON.stringify(body), headers: json })
          assert.equal(answer.status, 400, `${path} ${field}: ${answer.text}`)
          const [fault] = answer.body.faults
          assert.deepEqual([fault.in, fault.path], ['body', field])
          assert.match(fault.message, said[which])
        }
        assert.deepEqual(await things(), [count, 0])
      })

      test(`ends a run that writes it, and says so: ${which}`, async () => {
        for (const [way, error] of [
          ['data', /Data of scribe does not fit: deep\.0\.text has/],
          ['label', /Data of scribe does not fit: collection has/],
          ['name', /Data of scribe does not fit: .*the name has/],
          ['sum', /The name of a sum has/],
          ['cursor', /A checkpoint does not fit: text has/],
          ['reason', /^very odd a?\ufffdb?$/],
          ['retry', /again a?\ufffdb?/],
          ['throw', /thrown a?\ufffdb?/],
        ] as const) {
          const { id: run } = await control.submit('scribe', { way: `${way} ${which}` })
          const ended = await control.settled(run, 30_000)
          count += 1
          assert.equal(ended?.state, 'refused', way)
          assert.match(ended?.error ?? '', error, way)
        }
      })
    }

    test('is refused in a path and a query, where only NUL can be written', async () => {
      for (const [path, place, field] of [
        ['/api/entities?reason=a%00', 'query', 'reason'],
        ['/api/entities?label=collection&value=%00', 'query', 'value'],
        ['/api/machines/a%00/1', 'path', 'name'],
      ] as const) {
        const answer = await house.ask('GET', path)
        assert.equal(answer.status, 400, answer.text)
        assert.deepEqual([answer.body.faults[0].in, answer.body.faults[0].path], [place, field])
      }
    })

    test('is refused in a form', async () => {
      const boundary = 'the-boundary'
      const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` }
      const field = (name: string, value: string) =>
        `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
      const file = (name: string) =>
        `--${boundary}\r\nContent-Disposition: form-data; name="file"; ${name}\r\nContent-Type: application/json\r\n\r\n[{"id":1}]\r\n--${boundary}--\r\n`
      for (const [text, path] of [
        [field('collection', 'a\u0000') + file('filename="x.json"'), 'collection'],
        [file("filename*=utf-8''x%00.json"), 'file'],
      ] as const) {
        const answer = await house.ask('POST', '/api/uploads', { text, headers })
        assert.equal(answer.status, 400, answer.text)
        assert.equal(answer.body.faults[0].path, path, answer.text)
        assert.match(answer.body.detail, /NUL/)
      }
      assert.equal((await things())[0], count)
    })

    test('is no other text: what looks like it comes back as it was', async () => {
      const data = { text: '\ud83d\ude00 \\u0000 \\ud83d \u0001 \uffff', collection: 'a\u0001' }
      const escaped = JSON.stringify({ machine: 'scribe', data, state: 'resting' }).replace(
        '\ud83d\ude00',
        '\\ud83d\\ude00',
      )
      const made = await house.ask('POST', '/api/entities', { text: escaped, headers: json })
      assert.equal(made.status, 201, made.text)
      assert.deepEqual((await house.ask('GET', `/api/entities/${made.body.id}`)).body.data, data)
    })
  })
}

test('a hold on an entity that cannot be is refused, everywhere', async () => {
  const house = await openHouse()
  try {
    for (const part of ['entity', 'parent']) {
      for (const id of [0, -1, 1.5]) {
        const answer = await house.ask('POST', '/api/holds', { body: { scope: { [part]: id }, reason: 'why' } })
        assert.equal(answer.status, 400, `${part} ${id}`)
        assert.equal(answer.body.faults[0].path, `scope.${part}`)
        await assert.rejects(
          house.control.hold({ [part]: id }, { reason: 'why', owner: 'me' }),
          (error) => isSluiceError(error, 'invalid') && error.detail.field === `scope.${part}`,
        )
      }
    }
    assert.deepEqual(await house.control.holds(), [])
  } finally {
    await house.close()
  }
})

test('a token for collections with control characters is not made', async () => {
  const house = await openHouse()
  try {
    for (const collection of ['a\nb', '\u001b[31m', 'x\u007f', '\u0085']) {
      const body = { name: 'x', role: 'submitter', collections: ['fine', collection] }
      const answer = await house.ask('POST', '/api/tokens', { body })
      assert.equal(answer.status, 400, JSON.stringify(collection))
      assert.match(answer.body.detail, /collections\[1\] must be a text of .* without control characters/)
      await assert.rejects(house.token({ name: 'x', role: 'submitter', collections: [collection] }))
    }
    assert.deepEqual(await house.access.list(), [])
  } finally {
    await house.close()
  }
})
