import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  bytesText,
  countText,
  durationText,
  percentText,
  rateText,
  relativeTime,
  safeHref,
  shortCount,
  wordsOf,
} from './format.ts'

test('figures', () => {
  assert.equal(countText(1_234_567), '1,234,567')
  assert.equal(shortCount(9_999), '9,999')
  assert.equal(shortCount(19_626), '19.6K')
  assert.equal(rateText(null), '–')
  assert.equal(rateText(3.149), '3.1/s')
  assert.equal(rateText(2_575.9), '2,576/s')
  assert.equal(bytesText(1_023), '1,023 B')
  assert.equal(bytesText(1_536), '1.5 KiB')
})

test('only what is complete says 100', () => {
  assert.equal(percentText(99.97), '99.9 %')
  assert.equal(percentText(100), '100 %')
  assert.equal(percentText(0), '0 %')
})

test('times', () => {
  assert.equal(durationText(380), '380 ms')
  assert.equal(durationText(4_100), '4.1 s')
  assert.equal(durationText(125_000), '2 min 5 s')
  assert.equal(durationText(3_600_000), '1 h')
  assert.equal(durationText(90_000_000), '25 h')
  assert.equal(relativeTime(1_000, 2_500), 'just now')
  assert.equal(relativeTime(0, 61_000), '1 min ago')
  assert.equal(relativeTime(7_200_000, 0), 'in 2 h')
})

test('words', () => {
  assert.equal(wordsOf('retry_failed_items'), 'Retry failed items')
  assert.equal(wordsOf(''), '')
})

test('a click opens http, https and our own pages only', () => {
  assert.equal(safeHref('/entities/1'), '/entities/1')
  assert.equal(safeHref('https://example.org/a'), 'https://example.org/a')
  for (const text of [
    'javascript:alert(1)',
    ' javascript:alert(1)',
    'JaVaScRiPt:x',
    'data:text/html,x',
    '//evil.example',
    'vbscript:x',
    'file:///x',
    '',
  ]) {
    assert.equal(safeHref(text), null, text)
  }
  fc.assert(
    fc.property(fc.string(), (text) => {
      const href = safeHref(text)
      assert.ok(href === null || /^(https?:|\/(?!\/))/.test(href))
    }),
  )
})
