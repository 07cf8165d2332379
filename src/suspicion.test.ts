import assert from 'node:assert/strict'
import { test } from 'node:test'
import { afterDeath, suspectGroup } from './suspicion.ts'

test('a death makes suspect whatever was held, and counts only against what was held alone', () => {
  assert.deepEqual(afterDeath({ suspect: 0, attempts: 1 }, 1_000), { suspect: 1_000, attempts: 0 })
  assert.deepEqual(afterDeath({ suspect: 0, attempts: 3 }, 1), { suspect: 1, attempts: 3 })
  assert.deepEqual(afterDeath({ suspect: 4, attempts: 2 }, 900), { suspect: 4, attempts: 1 })
  assert.deepEqual(afterDeath({ suspect: 1, attempts: 2 }, 900), { suspect: 1, attempts: 2 })
  assert.deepEqual(afterDeath({ suspect: 0, attempts: 0 }, 2), { suspect: 2, attempts: 0 })
})

test('groups of suspects shrink until one is alone', () => {
  assert.deepEqual([1_000, 500, 7, 3, 2, 1].map(suspectGroup), [500, 250, 3, 1, 1, 1])
})
