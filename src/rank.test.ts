import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rankOf } from './rank.ts'

test('a lower priority number goes first, until the other has waited long enough', () => {
  const ageingMs = 60_000
  assert.ok(rankOf(1_000, 1, ageingMs) < rankOf(1_000, 2, ageingMs))
  assert.ok(rankOf(1_000, 2, ageingMs) < rankOf(1_000 + ageingMs + 1, 1, ageingMs))
  assert.equal(rankOf(1_000, 0, ageingMs), 1_000)
})
