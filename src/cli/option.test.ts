import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listOf, oneOf, pageSize, share, signedNumber, size, unixTime, wholeNumber } from './option.ts'

test('numbers are whole, and nothing is guessed', () => {
  assert.equal(wholeNumber('1000000'), 1_000_000)
  assert.equal(signedNumber('-5'), -5)
  for (const text of ['', '-1', '1.5', '1e6', '0x10', ' 1', '9'.repeat(16)])
    assert.throws(() => wholeNumber(text), /whole number/)
  for (const text of ['', '-', '1.5', '--1']) assert.throws(() => signedNumber(text), /whole number/)
})

test('a page has 1 to 1,000 rows', () => {
  assert.deepEqual(['1', '1000'].map(pageSize), [1, 1_000])
  for (const text of ['0', '1001', '', '-1', '1e3']) assert.throws(() => pageSize(text), /from 1 to 1,000/)
})

test('shares are between 0 and 1, or per cent', () => {
  assert.deepEqual(['0', '1', '0.01', '.5', '2%', '100%'].map(share), [0, 1, 0.01, 0.5, 0.02, 1])
  for (const text of ['', '%', '1.1', '101%', '-0.1', 'half']) assert.throws(() => share(text), /share/)
})

test('times are days, moments or seconds, in UTC unless a zone is given', () => {
  assert.equal(unixTime('1717156800'), 1_717_156_800)
  assert.equal(unixTime('2024-05-31'), 1_717_113_600)
  assert.equal(unixTime('2024-05-31 12:00:00'), 1_717_156_800)
  assert.equal(unixTime('2024-05-31T14:00:00+02:00'), 1_717_156_800)
  for (const text of ['', 'today', '2024-13-01', '31.5.2024', '-5']) assert.throws(() => unixTime(text), /time such as/)
})

test('sizes, choices and lists say what was expected', () => {
  assert.equal(size('10GiB'), 10 * 2 ** 30)
  assert.throws(() => size('big'), /A size such as 10GiB/)
  assert.throws(() => oneOf('a', 'b')('c'), /One of a, b was expected/)
  assert.deepEqual(listOf(wholeNumber)('1, 2', [0]), [0, 1, 2])
})
