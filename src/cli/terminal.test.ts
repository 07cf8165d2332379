import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wantsColours } from './terminal.ts'

test('a person at a terminal gets colours, unless it is told otherwise', () => {
  assert.equal(wantsColours([], {}, true), true)
  assert.equal(wantsColours([], {}, false), false)
  assert.equal(wantsColours(['list', '--no-color'], { FORCE_COLOR: '1' }, true), false)
  assert.equal(wantsColours([], { NO_COLOR: '1', FORCE_COLOR: '1' }, true), false)
  assert.equal(wantsColours([], { NO_COLOR: '' }, true), true)
  assert.equal(wantsColours([], { FORCE_COLOR: '1' }, false), true)
  assert.equal(wantsColours([], { FORCE_COLOR: '0' }, true), false)
})
