import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isSluiceError } from '../errors.ts'
import { parseSize, sizeOf } from './size.ts'

test('sizes are read in either kind of unit, in any case', () => {
  const sizes: readonly [string, number][] = [
    ['4096', 4_096],
    ['1b', 1],
    ['10GiB', 10 * 2 ** 30],
    ['500mb', 5e8],
    ['1.5 KiB', 1_536],
    [' 2TB ', 2e12],
  ]
  for (const [text, bytes] of sizes) assert.equal(parseSize(text), bytes, text)
})

test('what is no size is refused, and repeated', () => {
  for (const text of ['', 'GiB', '-1', '0', '1.2.3', '10 XB', '1e9', '99999999TiB', 'ten']) {
    assert.throws(
      () => parseSize(text),
      (error) => isSluiceError(error, 'invalid') && error.message.includes(`"${text}"`),
    )
  }
})

test('sizes are shown with three digits or so, and never far from what they are', () => {
  assert.deepEqual([0, 999, 1_000, 440e6, 2 ** 30].map(sizeOf), ['0 B', '999 B', '1.0 KiB', '420 MiB', '1.0 GiB'])
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 50 }), (bytes) => {
      const shown = sizeOf(bytes)
      assert.ok(shown.length <= 9, shown)
      assert.ok(Math.abs(parseSize(shown) - bytes) <= bytes * 0.06 + 1, shown)
    }),
  )
})
