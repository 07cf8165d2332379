import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bodyOf, letterOf, type Notice } from './notice.ts'

const notice: Notice = {
  batchId: 7,
  state: 'partially_completed',
  fileName: 'items.json',
  uploadedBy: 'ada',
  uploadedAt: 1_700_000_000_000,
  completedAt: 1_700_000_060_000,
  total: 10_000,
  completed: 9_990,
  failed: 8,
  skipped: 2,
  reasons: { 'missing id': 3, null: 5 },
}

test('the body of a webhook says what, who, when and how many', () => {
  assert.deepEqual(JSON.parse(bodyOf(notice, '7:0:partial_completion')), {
    event: 'upload_batch.ended',
    key: '7:0:partial_completion',
    batchId: 7,
    state: 'partially_completed',
    fileName: 'items.json',
    uploadedBy: 'ada',
    uploadedAt: '2023-11-14T22:13:20.000Z',
    completedAt: '2023-11-14T22:14:20.000Z',
    total: 10_000,
    completed: 9_990,
    failed: 8,
    skipped: 2,
    reasons: { null: 5, 'missing id': 3 },
  })
})

test('a letter tells the same to a person, most frequent reason first', () => {
  const { subject, text } = letterOf(notice, 'key', 'example.org')
  assert.equal(subject, 'Upload of items.json is partially completed: 9,990 of 10,000 items')
  assert.match(text, /^The upload of items\.json by ada is partially completed\.\n/)
  assert.match(text, /Why items failed:\n {2}5 {2}null\n {2}3 {2}missing id\n$/)
  assert.doesNotMatch(letterOf({ ...notice, reasons: {} }, 'key', 'example.org').text, /Why/)
})

test('the Message-ID is the same for the same key, and different for another key or another store', () => {
  const id = (changes: Partial<Notice>, key: string) =>
    letterOf({ ...notice, ...changes }, key, 'example.org').messageId
  assert.match(id({}, 'a'), /^<[0-9a-f]{40}@example\.org>$/)
  assert.equal(id({}, 'a'), id({ completed: 1 }, 'a'))
  assert.notEqual(id({}, 'a'), id({}, 'b'))
  assert.notEqual(id({}, 'a'), id({ uploadedAt: 1 }, 'a'))
})

test('names and reasons from outside cannot begin a new line, and many reasons are cut', () => {
  const reasons = Object.fromEntries(
    Array.from({ length: 500 }, (_, index) => [`reason ${index}\r\nBcc: x`, index + 1]),
  )
  const hostile = { ...notice, fileName: `a\r\nBcc: x@y.org\u2028${'b'.repeat(1_000)}`, reasons }
  const { subject, text } = letterOf(hostile, 'key', 'example.org')
  assert.doesNotMatch(subject, /[\r\n\u2028]/)
  assert.doesNotMatch(text, /^Bcc/m)
  assert.ok(text.length < 6_000)
  assert.equal(Object.keys(JSON.parse(bodyOf(hostile, 'key')).reasons).length, 20)
})
