import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Newborns } from './newborns.ts'

test('each is known once, and of many the latest', () => {
  const newborns = new Newborns()
  assert.equal(newborns.take(0), false)
  for (let id = 1; id <= 300; id += 1) newborns.add(id)
  assert.equal(newborns.take(44), false, 'others have taken its place')
  assert.equal(newborns.take(45), true)
  assert.equal(newborns.take(45), false)
  assert.equal(newborns.take(300), true)
})
