import assert from 'node:assert/strict'
import { test } from 'node:test'
import { durationOf, percentOf, waitOf } from './figures.ts'

test('durations go from milliseconds to hours', () => {
  const shown = [0, 850, 1_000, 12_449, 99_940, 100_000, 185_000, 3_599_600, 7_800_000].map(durationOf)
  assert.deepEqual(shown, [
    '0 ms',
    '850 ms',
    '1.0 s',
    '12.4 s',
    '99.9 s',
    '1 min 40 s',
    '3 min 5 s',
    '1 h 0 min',
    '2 h 10 min',
  ])
})

test('a wait is told in whole seconds, and never as none', () => {
  assert.deepEqual([10, 9_400, 75_000, 99_900, 185_000].map(waitOf), ['1 s', '9 s', '75 s', '1 min 40 s', '3 min 5 s'])
})

test('a hundred per cent means that nothing is left', () => {
  assert.equal(percentOf(999_999, 1_000_000), '99 %')
  assert.equal(percentOf(5, 5), '100 %')
  assert.equal(percentOf(0, 0), '0 %')
  assert.equal(percentOf(7, 5), '100 %')
})
