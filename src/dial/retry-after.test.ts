import assert from 'node:assert/strict'
import { test } from 'node:test'
import { retryAfterMs } from './retry-after.ts'

const now = Date.UTC(2026, 0, 1, 12)
const hour = 3_600_000

test('seconds and dates are read, and clamped', () => {
  assert.equal(retryAfterMs('120', now, hour), 120_000)
  assert.equal(retryAfterMs('0', now, hour), 0)
  assert.equal(retryAfterMs('Thu, 01 Jan 2026 12:00:30 GMT', now, hour), 30_000)
  assert.equal(retryAfterMs('Thu, 01 Jan 2026 11:00:00 GMT', now, hour), 0)
  assert.equal(retryAfterMs('Thu, 01 Jan 2099 11:00:00 GMT', now, hour), hour)
  assert.equal(retryAfterMs('99999999999999999999', now, hour), hour)
})

test('anything else says nothing', () => {
  for (const value of [
    undefined,
    '',
    '-1',
    '1.5',
    '1e9',
    'soon',
    '2026-01-01',
    '120, 60',
    'Thu, 99 Jan 2026 12:00:30 GMT',
  ]) {
    assert.equal(retryAfterMs(value, now, hour), null, value)
  }
})
