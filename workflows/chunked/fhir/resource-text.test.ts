import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { idOfLine, servedText, storedText } from './resource-text.ts'
import { idPattern } from './validation.ts'

const stored = (text: string, id = 'given') => storedText(text, JSON.parse(text) as Record<string, unknown>, id)
const at = Date.UTC(2020, 1, 3, 4, 5, 6, 7)

test('what needs no change keeps every character', () => {
  const text = '{ "resourceType":"Observation", "id":"a","valueQuantity":{"value":1.50} }'
  assert.equal(stored(text), text)
  assert.equal(stored(`${text}\r`), text)
})

test('an id is added where there is none, and nothing else is touched', () => {
  assert.equal(stored('{"resourceType":"Patient","x":1.50}', 'new'), '{"id":"new","resourceType":"Patient","x":1.50}')
})

test('version and time of the last home go, the rest of the meta stays', () => {
  const meta = '"meta":{"versionId":"3","lastUpdated":"2020-01-01T00:00:00Z"}'
  assert.equal(stored(`{"id":"a",${meta},"x":1.0}`), '{"id":"a","x":1.0}')
  assert.equal(stored(`{"id":"a","x":1.0,${meta}}`), '{"id":"a","x":1.0}')
  assert.equal(stored(`{"id":"a" , ${meta} }`), '{"id":"a"  }')
  assert.equal(
    stored('{"id":"a","meta":{"versionId":"3","source":"s"},"x":1.0}'),
    '{"id":"a","meta":{"source":"s"},"x":1.0}',
  )
  assert.equal(
    stored('{"id":"a","nested":{"meta":{"versionId":"3"}}}'),
    '{"id":"a","nested":{"meta":{"versionId":"3"}}}',
  )
})

test('what is handed out has its version and time, and comes back as it was stored', () => {
  const text = '{"id":"a","meta":{"source":"s"},"value":1.50}'
  const served = servedText(text, 7, at)
  assert.equal(
    served,
    '{"id":"a","meta":{"source":"s","versionId":"7","lastUpdated":"2020-02-03T04:05:06.007Z"},"value":1.50}',
  )
  assert.equal(stored(served), text)
  const bare = '{"id":"a","value":1.50}'
  assert.equal(stored(servedText(bare, 1, at)), bare)
})

const member = fc.tuple(fc.constantFrom('meta', 'x', 'a"b', 'metä', 'm\\u0065ta', ''), fc.jsonValue({ maxDepth: 2 }))

test('whatever the other members are, only the wanted ones change', () => {
  fc.assert(
    fc.property(fc.array(member, { maxLength: 5 }), fc.constantFrom('', ' ', '\n\t'), (members, space) => {
      const own = { meta: { versionId: '1', tag: [{ code: '}"\\' }] } }
      const parts = Object.entries({ ...Object.fromEntries(members), ...own, id: 'a' })
      const text = `{${space}${parts.map(([key, value]) => `${JSON.stringify(key)}${space}:${space}${JSON.stringify(value)}`).join(`${space},${space}`)}${space}}`
      const before = JSON.parse(text) as Record<string, unknown>
      const kept = stored(text)
      assert.deepEqual(JSON.parse(kept), { ...before, meta: { tag: own.meta.tag } })
      const served = servedText(kept, 2, at)
      assert.deepEqual(JSON.parse(served), {
        ...before,
        meta: { tag: own.meta.tag, versionId: '2', lastUpdated: new Date(at).toISOString() },
      })
      assert.equal(stored(served), kept)
    }),
    { numRuns: 500 },
  )
})

test('an id made from a line is an id, and the same every time', () => {
  assert.match(idOfLine('a.ndjson', 7), idPattern)
  assert.match(idOfLine('a.ndjson', 7), /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
  assert.equal(idOfLine('a.ndjson', 7), idOfLine('a.ndjson', 7))
  assert.equal(new Set([idOfLine('a', 1), idOfLine('a', 2), idOfLine('b', 1), idOfLine('a\n1', 1)]).size, 4)
})
