import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Line, type LineBatch, type LineOptions, readLines } from './ndjson.ts'

async function* inParts(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  let from = 0
  for (const cut of [...cuts, bytes.length].sort((left, right) => left - right)) {
    // The same memory for each part, as a source with a buffer of its own would do.
    const part = Buffer.from(bytes.subarray(from, Math.min(cut, bytes.length)))
    yield part
    part.fill(0x7b)
    from = Math.max(from, Math.min(cut, bytes.length))
  }
}

async function batchesOf(bytes: Uint8Array, options: LineOptions, cuts: readonly number[] = []): Promise<LineBatch[]> {
  return all(readLines(inParts(bytes, cuts), options))
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = []
  for await (const item of items) list.push(item)
  return list
}

async function linesOf(bytes: Uint8Array, options: LineOptions, cuts: readonly number[] = []): Promise<Line[]> {
  return (await batchesOf(bytes, options, cuts)).flatMap(({ lines }) => lines)
}

const said = (lines: readonly Line[]) =>
  lines.map((line) => [line.line, line.offset, line.length, 'text' in line ? line.text : line.problem.code])

test('line feeds, carriage returns, a mark, blank lines and a last line without an end', async () => {
  const bytes = Buffer.from('\ufeff{"a":1}\r\n\n \t\r\n{"b":"ü"}\n{"c":3}')
  const [batch] = await batchesOf(bytes, { lineBytesMax: 100 })
  assert.deepEqual(said(batch!.lines), [
    [1, 3, 7, '{"a":1}'],
    [4, 17, 10, '{"b":"ü"}'],
    [5, 28, 7, '{"c":3}'],
  ])
  assert.equal(batch!.blank, 2)
  assert.deepEqual(batch!.next, { offset: bytes.length, line: 6 })
})

test('a line that is too long and one that is not UTF-8 are problems of their own', async () => {
  const bytes = Buffer.concat([
    Buffer.from(`12345\n123456\r\n1234567\n${'x'.repeat(1_000)}\n`),
    Buffer.from([0xc3, 0x28, 0x0a]),
    Buffer.from('last'),
  ])
  assert.deepEqual(said(await linesOf(bytes, { lineBytesMax: 6 })), [
    [1, 0, 5, '12345'],
    [2, 6, 6, '123456'],
    [3, 14, 7, 'too_long'],
    [4, 22, 1_000, 'too_long'],
    [5, 1_023, 2, 'not_utf8'],
    [6, 1_026, 4, 'last'],
  ])
})

test('a blank line is passed over however long it is, and however it arrives', async () => {
  const bytes = Buffer.from(`\ufeff${' '.repeat(40)}\r\n${'\t'.repeat(40)}\n${' '.repeat(40)}x\n\n${'\r'.repeat(40)}`)
  for (const cuts of [[], [1], [2, 20], [60, 61], [100], Array.from(bytes, (_, index) => index)]) {
    const [batch] = await batchesOf(bytes, { lineBytesMax: 6 }, cuts)
    assert.deepEqual(
      batch!.lines.map((line) => [line.line, 'problem' in line && line.problem.code]),
      [[3, 'too_long']],
    )
    assert.equal(batch!.blank, 4)
    assert.equal(batch!.next.offset, bytes.length)
  }
})

test('an empty source has no lines; a mark alone is a blank one', async () => {
  assert.deepEqual(await batchesOf(Buffer.alloc(0), { lineBytesMax: 9 }), [
    { lines: [], blank: 0, next: { offset: 0, line: 1 } },
  ])
  assert.deepEqual(await batchesOf(Buffer.from('\ufeff'), { lineBytesMax: 9 }), [
    { lines: [], blank: 1, next: { offset: 3, line: 2 } },
  ])
})

test('a mark in the midst of a file is content', async () => {
  const [line] = await linesOf(Buffer.from('\ufeffx'), { lineBytesMax: 9, from: { offset: 10, line: 3 } })
  assert.deepEqual(said([line!]), [[3, 10, 4, '\ufeffx']])
})

test('lines that begin at the end or behind it are left to others', async () => {
  const bytes = Buffer.from('one\ntwo\nthree\n')
  assert.deepEqual(said(await linesOf(bytes, { lineBytesMax: 9, to: 4 })), [[1, 0, 3, 'one']])
  assert.deepEqual((await linesOf(bytes, { lineBytesMax: 9, to: 5 })).length, 2)
})

test('a line far over the bound is never held', async () => {
  const part = Buffer.alloc(1_000_000, 'x')
  const source = async function* () {
    const before = process.memoryUsage().arrayBuffers
    for (let count = 0; count < 200; count += 1) {
      yield part
      assert.ok(process.memoryUsage().arrayBuffers - before < 50_000_000)
    }
  }
  const [batch] = await all(readLines(source(), { lineBytesMax: 1_000 }))
  assert.deepEqual(said(batch!.lines), [[1, 0, 200_000_000, 'too_long']])
})

const pieces = fc.oneof(
  fc
    .constantFrom('\n', '\r\n', '\r', ' ', '\ufeff', 'é', '😀', '{"a":1}', 'x'.repeat(12))
    .map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 3 }).map((bytes) => Buffer.from(bytes)),
)
const content = fc.array(pieces, { maxLength: 30 }).map((parts) => Buffer.concat(parts))

/** Line by line on the whole, as one would do without any bound. */
function simply(bytes: Buffer, lineBytesMax: number): unknown[] {
  const found: unknown[] = []
  let offset = 0
  const parts = bytes.toString('latin1').split('\n')
  if (parts.at(-1) === '') parts.pop()
  parts.forEach((part, index) => {
    let text = part
    if (offset === 0 && text.startsWith('\xef\xbb\xbf')) text = text.slice(3)
    if (text.endsWith('\r')) text = text.slice(0, -1)
    const line = Buffer.from(text, 'latin1')
    offset += part.length + 1
    if (/^[ \t\r]*$/.test(text)) return
    const decoded = decode(line)
    const what = line.length > lineBytesMax ? 'too_long' : (decoded ?? 'not_utf8')
    found.push([index + 1, what])
  })
  return found
}

function decode(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}

test('any division of the bytes gives the same lines', async () => {
  await fc.assert(
    fc.asyncProperty(
      content,
      fc.array(fc.nat(120), { maxLength: 8 }),
      fc.integer({ min: 1, max: 20 }),
      async (bytes, cuts, lineBytesMax) => {
        const whole = said(await linesOf(bytes, { lineBytesMax }))
        assert.deepEqual(
          said(await linesOf(bytes, { lineBytesMax }, cuts)).map(([line, , , what]) => [line, what]),
          whole.map(([line, , , what]) => [line, what]),
        )
        assert.deepEqual(
          whole.map(([line, , , what]) => [line, what]),
          simply(bytes, lineBytesMax),
        )
      },
    ),
    { numRuns: 500 },
  )
})

test('reading on from the end of any batch gives the rest, and batches keep their bounds', async () => {
  await fc.assert(
    fc.asyncProperty(content, fc.integer({ min: 1, max: 4 }), async (bytes, linesMax) => {
      const options = { lineBytesMax: 10, linesMax }
      const whole = await linesOf(bytes, options)
      let seen = 0
      for (const { lines, blank, next } of await batchesOf(bytes, options)) {
        assert.ok(lines.length + blank <= linesMax)
        seen += lines.length
        const rest = await linesOf(bytes.subarray(next.offset), { ...options, from: next })
        assert.deepEqual(said(rest), said(whole.slice(seen)))
      }
      assert.equal(seen, whole.length)
    }),
    { numRuns: 300 },
  )
})
