import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSluiceError } from './errors.ts'
import { defaultLimits, limitsOf } from './limits.ts'

test('what is not given is the default', () => {
  assert.deepEqual(limitsOf({ leaseMs: undefined as never, claimMax: 5 }), { ...defaultLimits, claimMax: 5 })
})

test('limits that make no sense are refused, all of them at once', () => {
  assert.throws(
    () => limitsOf({ claimMax: Number.NaN, pageMax: 0, leaseMs: 100, leseMs: 1 } as never),
    (error) =>
      isSluiceError(error, 'invalid') &&
      /claimMax must be a number above 0; it was NaN/.test(error.message) &&
      /pageMax/.test(error.message) &&
      /there is no limit leseMs/.test(error.message) &&
      /renewMs \(10000\) must be less than leaseMs \(100\)/.test(error.message),
  )
})
