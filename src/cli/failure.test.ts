import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { SluiceError } from '../errors.ts'
import { exitOf, sentenceOf } from './failure.ts'

function thrown(act: () => unknown): unknown {
  try {
    act()
  } catch (error) {
    return error
  }
  return assert.fail('it did not throw')
}

test('what the system says becomes a sentence', () => {
  assert.equal(sentenceOf(thrown(() => readFileSync('/nowhere/at/all'))), '/nowhere/at/all does not exist.')
  assert.match(sentenceOf(Object.assign(new Error('x'), { code: 'ENOSPC' })), /^There is no room left on the disk\./)
})

test('a message stays on one line and paints nothing', () => {
  assert.equal(sentenceOf(new SluiceError('invalid', 'First.\n  Second \x1b[2J.')), 'First. Second \\x1b[2J.')
  assert.equal(sentenceOf(null), 'null')
})

test('what a server says of its parameters is said in the words of the command line', () => {
  const fault = (message: string) => sentenceOf(new SluiceError('invalid', message))
  assert.equal(fault('query limit: Too small: expected number to be >=1.'), '--limit: it must be at least 1.')
  assert.equal(fault('query tokenFile: wrong; query states: odd'), '--token-file: wrong; --state: odd')
  assert.equal(fault('The query of item 3 fails.'), 'The query of item 3 fails.')
})

test('the exit status is that of the code, and 2 for all else', () => {
  assert.equal(exitOf(new SluiceError('not_found', '')), 4)
  assert.equal(exitOf(new SluiceError('conflict', '')), 5)
  assert.equal(exitOf(new TypeError('x')), 2)
})
