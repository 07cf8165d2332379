import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fitted } from './fitted.ts'
import { painted, unpainted, widthOf } from './paint.ts'

test('a message goes on below its column, a sentence below its beginning, and nothing is cut', () => {
  const row = '7  letter  bounced  connect ECONNREFUSED 10.0.0.7:25 after three attempts of one second each'
  assert.equal(
    fitted(row, 50),
    [
      '7  letter  bounced  connect ECONNREFUSED',
      '                    10.0.0.7:25 after three',
      '                    attempts of one second each',
    ].join('\n'),
  )
  assert.equal(
    fitted('  One sentence that is long enough for two.', 30),
    '  One sentence that is long\n  enough for two.',
  )
  assert.equal(fitted('short  row\n\nand another', 30), 'short  row\n\nand another')
})

test('a colour takes no columns', () => {
  const text = `7  ${painted('failed', 'failure')}  it did`
  assert.equal(widthOf(text), 17)
  assert.equal(fitted(text, 17), text)
})

test('no line is wider than the terminal, and no word is lost, whatever the text', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '–'), minLength: 1, maxLength: 70 })
  const cell = fc
    .tuple(word, fc.constantFrom('success', 'failure', 'neutral' as const))
    .map(([text, tone]) => painted(text, tone))
  const line = fc
    .array(fc.tuple(cell, fc.constantFrom(' ', '  ', '     ')), { maxLength: 12 })
    .map((cells) => cells.flat().join(''))
  fc.assert(
    fc.property(line, fc.integer({ min: 24, max: 120 }), (text, columns) => {
      const lines = fitted(text, columns)
      assert.ok(
        lines.split('\n').every((one) => widthOf(one) <= columns),
        lines,
      )
      assert.equal(unpainted(lines).replaceAll(/\s/g, ''), unpainted(text).replaceAll(/\s/g, ''))
    }),
  )
})
