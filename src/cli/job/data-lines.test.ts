import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { dataLines } from './data-lines.ts'

test('fields stand below each other, lists have dashes, rows of a list are lines', () => {
  const report = {
    total: 12_345,
    share: 0.5,
    name: 'a\x1b[31m',
    none: null,
    tags: ['a', 'b'],
    empty: [],
    byType: { Patient: 3, Observation: 1_000 },
    files: [
      { name: 'x', lines: 10 },
      { name: 'y', lines: 20 },
    ],
    samples: [
      { line: 7, message: 'It is much too long', code: 'long' },
      { line: 12, message: '', code: 'none' },
    ],
    byState: { open: { first: 1, last: 2 }, ended: { first: 3, last: 4 } },
    deep: [{ name: 'z', inner: { one: 1 } }],
  }
  assert.deepEqual(dataLines(report), [
    '  total  12,345',
    '  share  0.5',
    '  name   a\\x1b[31m',
    '  none   –',
    '  tags   a, b',
    '  empty  none',
    '  byType',
    '    Patient      3',
    '    Observation  1,000',
    '  files',
    '    name  lines',
    '    x     10',
    '    y     20',
    '  samples',
    '    line  code  message',
    '    7     long  It is much too long',
    '    12    none',
    '  byState',
    '    open   first 1, last 2',
    '    ended  first 3, last 4',
    '  deep',
    '    - name  z',
    '      inner',
    '        one  1',
  ])
  assert.deepEqual(dataLines(7), ['  7'])
  assert.deepEqual(dataLines('text'), ['  text'])
})

test('what is long is cut, and says so', () => {
  const list = dataLines({ rows: Array.from({ length: 500 }, (_, n) => ({ n })) })
  assert.deepEqual([list.length, list.at(-1)], [13, '    … and 490 more'])
  const wide = dataLines(Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`n${n}`, n])))
  assert.deepEqual([wide.length, wide.at(-1)], [51, '  … and 450 more'])
  const deep = dataLines({
    one: Array.from({ length: 10 }, () => ({ a: { b: 1, c: { d: 1 } }, e: { f: 2, g: [{ h: 3 }] } })),
  })
  assert.equal(deep.length, 60)
  assert.match(deep.at(-1)!, /^ {2}… and \d+ more lines; --json has all$/)
})

test('any data becomes a few lines without control characters', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 12 }), (value) => {
      const lines = dataLines(value)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are looked for.
      return lines.length <= 60 && lines.every((line) => !/[\x00-\x1f\x7f]/.test(line) && line.length < 2_500)
    }),
  )
})
