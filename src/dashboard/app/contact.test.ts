import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../clock.ts'
import { Contact } from './contact.ts'

test('listeners are told once when the server falls silent, and once when it is heard again', () => {
  let now = 1_000
  const contact = new Contact({ ...systemClock(), now: () => now })
  const told: boolean[] = []
  contact.listen(() => told.push(contact.isSilent))
  now = 5_000
  contact.heard()
  now = 6_000
  contact.missed()
  now = 9_000
  contact.missed()
  assert.equal(contact.heardAt, 5_000)
  assert.equal(contact.ageMs, 4_000)
  contact.heard()
  assert.deepEqual(told, [true, false])
  assert.equal(contact.ageMs, 0)
})
