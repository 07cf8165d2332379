import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { globMatcher } from './glob.ts'
import { parseJsonPath, valuesAt } from './json-path.ts'
import { operatorNames, patternTextMax, testOf } from './operator.ts'

/** For each operator: operand, what matches, what does not. */
const cases: Readonly<
  Record<string, readonly (readonly [operand: unknown, yes: readonly unknown[], no: readonly unknown[]])[]>
> = {
  IS_NULL: [[undefined, [null, undefined], [0, '', false, [], {}]]],
  NOT_NULL: [[undefined, [0, '', false, [], {}], [null, undefined]]],
  EQUALS: [
    ['a', ['a'], ['A', 'ab', '', 0, true]],
    [5, [5, 5.0], [6, '5', true]],
    // The stored value decides: a text that is a number is one for a stored number, and for nothing else.
    ['5', [5, '5'], ['5.0', 6]],
    ['5.0', [5], ['5', 6]],
    ['', [''], [0, false]],
    [true, [true], [false, 1, 'true']],
    ['true', [true, 'true'], [false]],
    ['2026-01-01T00:00:00Z', ['2026-01-01T00:00:00Z', '2026-01-01T01:00:00+01:00'], ['2026-01-01T00:00:01Z']],
  ],
  NOT_EQUAL: [
    ['a', ['b', '', 5], ['a']],
    [5, [6, '5', true], [5]],
    [true, [false, 1], [true]],
  ],
  GREATER_THAN: [
    [5, [6, 5.1], [5, 4, '6', true]],
    ['5', [6, '6'], [5, '5', '40']],
    ['b', ['c'], ['a', 'b', 9]],
    ['2026-01-01T00:00:00Z', ['2026-01-01T00:00:00-01:00'], ['2026-01-01T00:00:00+01:00']],
    [false, [], [true, false]],
  ],
  LESS_THAN: [[5, [4, -1], [5, 6, '4']]],
  GREATER_OR_EQUAL: [[5, [5, 6], [4, '5']]],
  LESS_OR_EQUAL: [[5, [5, 4], [6, '5']]],
  BETWEEN: [
    [
      [1, 3],
      [2, 1.5],
      [1, 3, 0, 4, '2'],
    ],
    [['b', 'd'], ['c'], ['b', 'd', 'a']],
  ],
  BETWEEN_INCLUSIVE: [
    [
      [1, 3],
      [1, 2, 3],
      [0, 4, '2', true],
    ],
  ],
  CONTAINS: [
    ['ab', ['ab', 'xaby'], ['AB', 'a', '']],
    [5, ['x5y'], [5, 55]],
    ['', ['', 'a'], [0]],
  ],
  NOT_CONTAINS: [['ab', ['AB', ''], ['xaby', 5, true]]],
  STARTS_WITH: [['ab', ['abc'], ['xab', 'Abc', 5]]],
  NOT_STARTS_WITH: [['ab', ['xab'], ['abc', 5]]],
  ENDS_WITH: [['ab', ['xab'], ['abx', 5]]],
  NOT_ENDS_WITH: [['ab', ['abx'], ['xab', 5]]],
  IEQUALS: [['aB', ['Ab', 'ab'], ['abc', 5]]],
  INOT_EQUAL: [['aB', ['abc'], ['Ab', 5]]],
  ICONTAINS: [['aB', ['xABy'], ['a', 5]]],
  INOT_CONTAINS: [['aB', ['a'], ['xABy', 5]]],
  ISTARTS_WITH: [['aB', ['ABc'], ['xab', 5]]],
  INOT_STARTS_WITH: [['aB', ['xab'], ['ABc', 5]]],
  IENDS_WITH: [['aB', ['xAB'], ['abx', 5]]],
  INOT_ENDS_WITH: [['aB', ['abx'], ['xAB', 5]]],
  LIKE: [
    ['a%c', ['ac', 'abc', 'a\nc'], ['abcd', 'Ac', 5]],
    ['a_c', ['abc', 'a😀c', 'a\nc'], ['ac', 'abbc']],
    ['50\\%', ['50%'], ['50 ', '50']],
    ['a.c', ['a.c'], ['abc']],
    ['\\a\\\\', ['a\\'], ['a']],
    ['%', ['', 'x'], [0]],
  ],
  MATCHES_PATTERN: [
    ['[a-z]+\\d', ['abc1'], ['xabc1x', 'ABC1', 5]],
    ['a|b', ['a', 'b'], ['ab', 'xb']],
    ['(?i)abc', ['ABC'], ['abcd']],
    ['^a$', ['a'], ['b']],
    ['[\\w\\.]+\\_', ['a._'], ['a.']],
  ],
}

test('every operator has cases', () => assert.deepEqual(Object.keys(cases).toSorted(), [...operatorNames].toSorted()))

for (const [operation, rows] of Object.entries(cases)) {
  test(operation, () => {
    for (const [operand, yes, no] of rows) {
      const holds = testOf(operation, operand)
      assert.ok(typeof holds === 'function', `${operation} ${JSON.stringify(operand)}`)
      for (const value of yes)
        assert.equal(holds(value), true, `${JSON.stringify(value)} ${operation} ${JSON.stringify(operand)}`)
      for (const value of no)
        assert.equal(holds(value), false, `${JSON.stringify(value)} ${operation} ${JSON.stringify(operand)}`)
      if (operation.endsWith('_NULL')) continue
      // Not even a negative operator matches what is not there.
      for (const value of [null, undefined, {}, ['a']])
        assert.equal(holds(value), false, `${operation} ${JSON.stringify(value)}`)
    }
  })
}

test('what cannot be judged says why', () => {
  const reason = (operation: string, operand: unknown): string => {
    const result = testOf(operation, operand)
    return 'unsupported' in result ? result.unsupported : 'judged'
  }
  assert.match(reason('IS_CHANGED', undefined), /as it was before/)
  assert.match(reason('IS_UNCHANGED', undefined), /as it was before/)
  assert.match(reason('EQUAL', 1), /EQUAL is not known/)
  assert.match(reason('constructor', 1), /not known/)
  assert.match(reason('EQUALS', { a: 1 }), /must be a text, a number/)
  assert.match(reason('BETWEEN', [1]), /two bounds/)
  assert.match(reason('BETWEEN', '1,2'), /two bounds/)
  assert.match(reason('LIKE', 'a\\'), /lone/)
  assert.match(reason('LIKE', 5), /must be a pattern/)
  assert.match(reason('MATCHES_PATTERN', '('), /cannot be read/)
  // Between brackets this would be a pattern that matches everything.
  assert.match(reason('MATCHES_PATTERN', ')|('), /cannot be read/)
  assert.match(reason('MATCHES_PATTERN', '(a)\\1'), /looks around or back/)
  assert.match(reason('MATCHES_PATTERN', 'a(?=b)'), /looks around or back/)
})

test('a pattern is not tried on a very long text', () => {
  const holds = testOf('MATCHES_PATTERN', 'a*')
  assert.ok(typeof holds === 'function')
  assert.equal(holds('a'.repeat(patternTextMax)), true)
  assert.equal(holds('a'.repeat(patternTextMax + 1)), false)
})

test('LIKE agrees with the regular expression that says the same', () => {
  const pieces = fc.array(fc.constantFrom('%', '_', 'a', 'b', '.', '\\%', '\\_', '\\a', '\n'), { maxLength: 8 })
  const texts = fc.array(fc.constantFrom('a', 'b', '.', '%', '_', '\n'), { maxLength: 10 })
  fc.assert(
    fc.property(pieces, texts, (pieces, characters) => {
      const meaning: Readonly<Record<string, string>> = { '%': '.*', _: '.' }
      const expression = pieces.map((piece) => meaning[piece] ?? RegExp.escape(piece.replace(/^\\/, ''))).join('')
      const text = characters.join('')
      assert.equal(globMatcher(pieces.join(''))?.(text), new RegExp(`^(?:${expression})$`, 's').test(text))
    }),
  )
})

test('paths of the subset', () => {
  const data = { a: { 'b-c': [10, { x: 1 }, { x: 2 }, {}] }, m: [[1], [2, 3]], '1a': true }
  const at = (text: string) => valuesAt(data, parseJsonPath(text) ?? assert.fail(text))
  assert.deepEqual(at('$.1a'), [true])
  assert.deepEqual(at('$.a.b-c[0]'), [10])
  assert.deepEqual(at('$.a.b-c[*].x'), [undefined, 1, 2, undefined])
  assert.deepEqual(at('$.m[*][*]'), [1, 2, 3])
  assert.deepEqual(at('$.m[*]'), [[1], [2, 3]])
  assert.deepEqual(at('$.m[9][0]'), [undefined])
  assert.deepEqual(at('$.missing.more'), [undefined])
  assert.deepEqual(at('$.missing[*]'), [])
  assert.deepEqual(at('$.constructor'), [undefined])
  assert.deepEqual(at('$.m.length'), [undefined])
  for (const text of [
    '',
    '$',
    'a',
    '$a',
    '$..a',
    '$.a..b',
    "$.a['b']",
    '$.a[-1]',
    '$.a[?(@.x)]',
    '$.a[1:2]',
    '$.a.',
    '$.ä',
    '$.a[99999999999]',
  ]) {
    assert.equal(parseJsonPath(text), null, text)
  }
})
