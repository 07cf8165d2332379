import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { dateBounds } from './date-bounds.ts'
import { searchRange } from './resources/search-range.ts'
import type { ParameterKind } from './search-parameter.ts'
import { foldText, sortable, type TermValue, termValues } from './term.ts'

test('text is found without regard to case, accents and spaces', () => {
  assert.equal(foldText('  Müller   ÖRK '), 'muller ork')
  assert.deepEqual(
    termValues('string', { type: 'HumanName', value: { family: 'Ärzte', given: ['Zoë', 'B'], use: 'x' } }),
    ['arzte', 'zoe', 'b'],
  )
  assert.deepEqual(termValues('string', { type: 'Address', value: { line: ['1 A'], city: 'C', use: 'home' } }), [
    '1 a',
    'c',
  ])
  assert.equal(termValues('string', { type: 'string', value: 'x'.repeat(5_000) })[0]?.toString().length, 200)
})

test('tokens carry their system behind them', () => {
  const concept = { coding: [{ system: 's', code: 'c' }, { code: 'a|b' }, { display: 'none' }], text: 'no' }
  assert.deepEqual(termValues('token', { type: 'CodeableConcept', value: concept }), ['c|s', 'a\\|b|'])
  assert.deepEqual(termValues('token', { type: 'boolean', value: true }), ['true|'])
  assert.deepEqual(termValues('token', { type: 'Identifier', value: { system: 's', value: '1' } }), ['1|s'])
  assert.deepEqual(termValues('token', { type: 'CodeableConcept', value: { text: 'only' } }), [])
})

test('references lose their version', () => {
  const reference = (value: unknown) => termValues('reference', { type: 'Reference', value })
  assert.deepEqual(reference({ reference: 'Patient/1/_history/2' }), ['Patient/1'])
  assert.deepEqual(reference({ reference: 'http://a/Patient/1' }), ['http://a/Patient/1'])
  assert.deepEqual(reference({ identifier: { value: 'x' } }), [])
})

test('a date stands for all of its time', () => {
  const bounds = (text: string) => {
    const found = dateBounds(text)
    return found && [new Date(found.from).toISOString(), new Date(found.to).toISOString()]
  }
  assert.deepEqual(bounds('2020'), ['2020-01-01T00:00:00.000Z', '2020-12-31T23:59:59.999Z'])
  assert.deepEqual(bounds('2020-02'), ['2020-02-01T00:00:00.000Z', '2020-02-29T23:59:59.999Z'])
  assert.deepEqual(bounds('2020-12-31'), ['2020-12-31T00:00:00.000Z', '2020-12-31T23:59:59.999Z'])
  assert.deepEqual(bounds('2020-02-03T04:05+02:00'), ['2020-02-03T02:05:00.000Z', '2020-02-03T02:05:59.999Z'])
  assert.deepEqual(bounds('2020-02-03T04:05:06-01:30'), ['2020-02-03T05:35:06.000Z', '2020-02-03T05:35:06.999Z'])
  assert.deepEqual(bounds('2020-02-03T04:05:06.789123Z'), ['2020-02-03T04:05:06.789Z', '2020-02-03T04:05:06.789Z'])
  assert.deepEqual(bounds('0051-01-01')?.[0], '0051-01-01T00:00:00.000Z')
  for (const text of ['', 'x', '20', '2020-1', '2020-01-01T', '2020-01-01 10:00']) assert.equal(dateBounds(text), null)
  const period = (value: unknown) => termValues('date', { type: 'Period', value })
  assert.deepEqual(period({ start: '1970-01-01', end: '1980' }), [0])
  assert.deepEqual(period({ end: '1970-01-01' }), [0])
  assert.deepEqual(period({}), [])
})

test('numbers as text sort as the numbers do', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true }), fc.double({ noNaN: true }), (left, right) => {
      const order = sortable(left) < sortable(right) ? -1 : sortable(left) > sortable(right) ? 1 : 0
      assert.equal(order, left < right ? -1 : left > right ? 1 : 0)
    }),
  )
})

function isFound(kind: ParameterKind, type: string, value: unknown, text: string): boolean {
  const { from, to } = searchRange(kind, text)
  const isIn = (term: TermValue) => typeof term === typeof from && term >= from && term <= to
  return termValues(kind, { type, value }).some(isIn)
}

test('what is searched for is found, and its neighbours are not', () => {
  const name = (text: string) => isFound('string', 'HumanName', { family: 'Müller', given: ['Anna'] }, text)
  assert.deepEqual(['mul', 'MÜLLER', 'ann', 'uller', 'mullerin'].map(name), [true, true, true, false, false])
  const token = (text: string) => isFound('token', 'Coding', { system: 's', code: 'c' }, text)
  assert.deepEqual(['c', 's|c', '|c', 'x|c', 'cc', 'C'].map(token), [true, true, false, false, false, false])
  const bare = (text: string) => isFound('token', 'code', 'final', text)
  assert.deepEqual(['final', '|final', 'fin'].map(bare), [true, true, false])
  const date = (text: string) => isFound('date', 'date', '2020-02-03', text)
  assert.deepEqual(
    [
      '2020',
      '2020-02',
      '2020-02-03',
      'eq2020-02-03',
      '2020-03',
      'ge2020',
      'gt2020',
      'gt2020-02-02',
      'le2020-02-03',
      'lt2020-02-03',
      'lt2020-02-04',
    ].map(date),
    [true, true, true, true, false, true, false, true, true, false, true],
  )
  const number = (text: string) => isFound('number', 'decimal', 5.4, text)
  assert.deepEqual(
    ['5.4', '5', '5.40', '5.3', 'gt5.4', 'ge5.4', 'lt5.4', 'le5.4', 'gt5.3', '54e-1', '-5.4'].map(number),
    [true, true, true, false, false, true, false, true, true, true, false],
  )
  assert.equal(isFound('number', 'decimal', 5.45, '5.4'), false, 'the end does not belong to it')
  const quantity = (text: string) =>
    isFound('quantity', 'Quantity', { value: 5.4, unit: 'milligram', system: 'u', code: 'mg' }, text)
  assert.deepEqual(
    ['5.4', '5.4|u|mg', '5.4||mg', '5.4||milligram', '5.4|u|g', 'gt5|u|mg', 'lt5|u|mg', '-5.4||mg'].map(quantity),
    [true, true, true, true, false, true, false, false],
  )
  assert.equal(isFound('uri', 'uri', 'http://a/b', 'http://a/b'), true)
  assert.equal(isFound('uri', 'uri', 'http://a/b', 'http://a'), false)
  assert.equal(isFound('reference', 'Reference', { reference: 'Patient/1' }, 'Patient/1'), true)
  assert.equal(isFound('reference', 'Reference', { reference: 'Patient/12' }, 'Patient/1'), false)
})

test('searches that make no sense are refused with what would', () => {
  const refused = (kind: ParameterKind, text: string, message: RegExp) =>
    assert.throws(() => searchRange(kind, text), message)
  refused('string', '', /nothing to search/)
  refused('date', 'May', /A date is like/)
  refused('number', 'five', /A number was expected/)
  refused('quantity', '5|mg', /A quantity is like/)
  refused('reference', '17', /Type\/id/)
  refused('token', 'http://loinc.org|', /Name a code too/)
})
