import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import fc from 'fast-check'
import { commandLine, plain, table } from './text.ts'

test('control characters, line breaks and marks that turn the writing around are shown, not obeyed', () => {
  assert.equal(plain('a\x1b[2Jb\nc'), 'a\\x1b[2Jb\\x0ac')
  assert.equal(plain('\u202egnp.exe'), '\\u{202e}gnp.exe')
  assert.equal(plain('Käse 🧀'), 'Käse 🧀')
  assert.equal(plain('x'.repeat(1_000), 10), `${'x'.repeat(9)}…`)
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => !/[\p{Cc}\u2028\u202e]/u.test(plain(text))))
})

test('what people are told to type is read by a shell as it was meant', () => {
  const word = fc.string({ unit: 'grapheme', maxLength: 20 }).filter((text) => !text.includes('\0'))
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 4 }), (words) => {
      const said = execFileSync('/bin/sh', ['-c', `printf '%s\\0' ${commandLine(words)}`], { encoding: 'utf8' })
      assert.deepEqual(said.split('\0').slice(0, -1), words)
    }),
    { numRuns: 20 },
  )
  assert.equal(commandLine(['sluice', 'a b', './x.json']), "sluice 'a b' ./x.json")
})

test('a table lines up, numbers to the right', () => {
  assert.deepEqual(
    table([
      ['total', 1_000_000],
      ['failed', 7],
    ]),
    ['  total   1,000,000', '  failed          7'],
  )
  assert.deepEqual(table([]), [])
})
