import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pace } from './pace.ts'

test('the pace is that of the last seconds, not of the whole', () => {
  const pace = new Pace(5_000)
  for (let at = 0; at <= 10_000; at += 100) pace.add(at / 100, at)
  for (let at = 10_100; at <= 20_000; at += 100) pace.add(100 + (at - 10_000) * 5, at)
  assert.ok(Math.abs(pace.perSecond! - 5_000) < 50, String(pace.perSecond))
})

test('it is not known at the beginning, nor when nothing moves', () => {
  const pace = new Pace()
  assert.equal(pace.perSecond, null)
  pace.add(0, 0)
  pace.add(10, 100)
  assert.equal(pace.perSecond, null)
  pace.add(10, 1_000)
  assert.equal(pace.perSecond, 10)
  pace.reset()
  pace.add(10, 2_000)
  pace.add(10, 9_000)
  assert.equal(pace.perSecond, null)
})

test('however often it is told, it keeps a few points only', () => {
  const pace = new Pace(1_000)
  for (let at = 0; at < 100_000; at += 1) pace.add(at, at)
  assert.ok(Math.abs(pace.perSecond! - 1_000) < 10)
})
