import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { messagesIn, type StreamMessage } from './event-stream.ts'

async function read(text: string, cuts: readonly number[], charactersMax = 1_000_000) {
  const bytes = new TextEncoder().encode(text)
  const places = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].sort((a, b) => a - b)
  const blocks = places.slice(1).map((end, index) => bytes.slice(places[index], end))
  const found: (StreamMessage | null)[] = []
  const source = (async function* () {
    yield* blocks
  })()
  for await (const message of messagesIn(source, charactersMax)) found.push(message)
  return found
}

test('messages are the same however the bytes are cut', async () => {
  const message = fc.record({
    event: fc.constantFrom('change', 'ready', 'tick'),
    id: fc.nat().map(String),
    value: fc.string({ unit: 'grapheme' }),
    end: fc.constantFrom('\n', '\r\n'),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(message, { maxLength: 6 }),
      fc.array(fc.nat(), { maxLength: 20 }),
      async (given, cuts) => {
        const text = given
          .map(
            ({ event, id, value, end }) =>
              `event: ${event}${end}id: ${id}${end}data: ${JSON.stringify(value)}${end}${end}`,
          )
          .join('')
        const expected = given.map(({ event, id, value }) => ({ event, id, data: JSON.stringify(value) }))
        assert.deepEqual(await read(text, cuts), expected)
      },
    ),
  )
})

test('comments are told as signs of life, several data lines are one text, and what is cut off is not told', async () => {
  const found = await read(': \n\ndata: a\ndata: b\n\nretry: 2000\n\ndata: half', [3, 9])
  assert.deepEqual(found, [null, { event: 'message', id: null, data: 'a\nb' }])
})

test('a message without end is refused, not kept', async () => {
  await assert.rejects(read(`data: ${'x'.repeat(500)}`, [], 100), /longer than 100 characters/)
  await assert.rejects(read('data: 12345678\n'.repeat(20), [], 100), /longer than 100 characters/)
})
