import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { readable } from './log.ts'

test('on a terminal a line says when, how grave, what, and about which entity; a stack follows', () => {
  let said = ''
  const log = pino(
    { level: 'debug' },
    readable((text) => {
      said += text
    }),
  )
  const error = new Error('no route to\x1b[2J host')
  log.warn({ entity: 12, machine: 'letter', attempt: 2, err: error }, 'a processor threw')
  log.info({ state: 'sent', reason: null }, 'settled as sent')
  const [first = '', second = '', ...rest] = said.split('\n')
  assert.match(
    first,
    /^\d\d:\d\d:\d\d warn {2}a processor threw: no route to.* host \(entity 12, machine letter, attempt 2\)$/,
  )
  assert.ok(!said.includes('\x1b'), 'nothing of a message reaches the terminal as a command')
  assert.match(second, /^ +at /)
  assert.match(rest.at(-2) ?? '', /info {2}settled as sent \(state sent\)$/)
})
