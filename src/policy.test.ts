import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Backoff, backoffMs, defaultPolicy } from './policy.ts'

const plain: Backoff = { firstMs: 100, factor: 2, maxMs: 1_000, jitter: 0 }

test('pauses grow by the factor from attempt to attempt, up to the greatest', () => {
  const pauses = [1, 2, 3, 4, 5, 6].map((attempt) => backoffMs(plain, attempt, 0.9))
  assert.deepEqual(pauses, [100, 200, 400, 800, 1_000, 1_000])
})

test('jitter takes away up to its share, so that what failed together is not tried again together', () => {
  const half = { ...plain, jitter: 0.5 }
  assert.equal(backoffMs(half, 1, 0), 100)
  assert.equal(backoffMs(half, 1, 0.5), 75)
  assert.equal(backoffMs({ ...plain, jitter: 1 }, 1, 0.999), 0)
})

test('an attempt below the first counts as the first', () => {
  assert.equal(backoffMs(plain, 0, 0), 100)
  assert.equal(backoffMs(plain, -5, 0), 100)
})

test('a pause is always a whole number between what jitter leaves and the greatest', () => {
  const backoff = fc.record({
    firstMs: fc.nat(1_000_000),
    factor: fc.double({ min: 0, max: 1_000, noNaN: true }),
    maxMs: fc.nat(10_000_000),
    jitter: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  fc.assert(
    fc.property(backoff, fc.integer({ min: 1, max: 100_000 }), random, (backoff, attempt, random) => {
      const pause = backoffMs(backoff, attempt, random)
      assert.ok(Number.isInteger(pause), `${pause}`)
      assert.ok(pause >= 0 && pause <= backoff.maxMs, `${pause}`)
    }),
  )
})

test('a first pause of 0 stays 0 after however many attempts', () => {
  assert.equal(backoffMs({ ...plain, firstMs: 0 }, 5_000, 0), 0)
})

test('the default is patient and bounded', () => {
  const { backoff, attemptsMax } = defaultPolicy
  const pauses = Array.from({ length: attemptsMax - 1 }, (_, index) => backoffMs(backoff, index + 1, 0))
  assert.deepEqual(pauses, [1_000, 2_000, 4_000])
})
