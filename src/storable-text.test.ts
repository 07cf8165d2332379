import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { mayHoldTextFault, storableText, textFault, textFaultsIn } from './storable-text.ts'

describe('text that no store may be given', () => {
  for (const [text, fault, position] of [
    ['a\u0000b', /NUL character/, 1],
    ['\ud83d', /half a surrogate pair/, 0],
    ['ab\ude00', /half a surrogate pair/, 2],
    ['\ud83d\ude00\ud83d', /half a surrogate pair/, 2],
    ['\ude00\ud83d', /half a surrogate pair/, 0],
  ] as const) {
    test(JSON.stringify(text), () => {
      assert.match(textFault(text) ?? '', fault)
      assert.match(textFault(text) ?? '', new RegExp(`position ${position}\\)`))
      assert.equal(mayHoldTextFault(JSON.stringify({ text })), true)
      assert.equal(textFault(storableText(text)), null)
      assert.deepEqual(
        textFaultsIn({ list: [1, { text }] }).map(({ path }) => path),
        ['list.1.text'],
      )
    })
  }

  for (const text of ['', 'plain', '\ud83d\ude00 é \u0001\u001f\u007f\n', '\\u0000 \\ud83d', '\ufffd\uffff']) {
    test(`is not ${JSON.stringify(text)}`, () => {
      assert.equal(textFault(text), null)
      assert.equal(storableText(text), text)
      assert.deepEqual(textFaultsIn(JSON.parse(JSON.stringify({ text }))), [])
    })
  }

  test('is found in names too, and all of it is told', () => {
    assert.deepEqual(
      textFaultsIn({ 'a\u0000': 1, b: ['\u0000', '\ud800'] }).map(({ path, fault }) => [path, /^the name/.test(fault)]),
      [
        ['a\ufffd', true],
        ['b.0', false],
        ['b.1', false],
      ],
    )
  })
})
