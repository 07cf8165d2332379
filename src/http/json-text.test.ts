import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { parseJson } from './json-text.ts'

const parse = (text: string, depthMax = 64) => parseJson(Buffer.from(text), depthMax)

describe('JSON of a request', () => {
  test('is what JSON.parse says, for all that can be kept', () => {
    const isPlain = (value: unknown) => !/__proto__|"constructor"/.test(JSON.stringify(value))
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 10 }).filter(isPlain), fc.constantFrom(0, 2), (value, space) => {
        const text = JSON.stringify(value, null, space)
        assert.deepEqual(parse(text), JSON.parse(text))
      }),
    )
  })

  test('is refused with a sentence whenever JSON.parse would throw', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii', maxLength: 20 }), (text) => {
        let isJson = true
        try {
          JSON.parse(text)
        } catch {
          isJson = false
        }
        if (!isJson) assert.throws(() => parse(text), /The body is not the JSON that is expected/)
      }),
    )
  })

  test('has whole numbers that can be kept, to the last one', () => {
    for (const number of [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 0, -1, 1.5, 1e20, 1e21, 2 ** 53, 5e-324]) {
      assert.deepEqual(parse(`[${number}]`), [number])
    }
    for (const text of [
      '9007199254740993',
      '-9007199254740993',
      '123456789012345678901',
      '1e400',
      '-1e400',
      '9'.repeat(400),
    ]) {
      assert.throws(() => parse(`{"a":[${text}]}`), /exactly/, text)
    }
    assert.deepEqual(parse('"9007199254740993 in a text"'), '9007199254740993 in a text')
    assert.deepEqual(parse('["\\"9007199254740993"]'), ['"9007199254740993'])
  })

  test('is nested up to its limit and no deeper', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
    assert.doesNotThrow(() => parse(nested(5), 5))
    assert.throws(() => parse(nested(6), 5), /nested more than 5 deep, at character 5/)
    assert.deepEqual(parse('"[[[[[[[["', 5), '[[[[[[[[')
  })

  test('reaches into no prototype, however its names are spelt', () => {
    for (const text of [
      '{"__proto__":1}',
      '[{"a":{"__proto__":{}}}]',
      '{"\\u005f\\u005fproto\\u005f\\u005f":1}',
      '{"constructor":{"prototype":{}}}',
    ]) {
      assert.throws(() => parse(text), /not allowed/, text)
    }
    assert.deepEqual(parse('{"constructor":"a builder","proto":1}'), { constructor: 'a builder', proto: 1 })
    assert.equal(parse('"__proto__"'), '__proto__')
  })

  test('is text', () => {
    assert.throws(() => parseJson(Buffer.from([0x22, 0xc3, 0x22]), 5), /UTF-8/)
  })
})
