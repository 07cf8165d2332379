import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cellsOf, gistOf } from './item-line.ts'

const found = {
  hnId: 8,
  type: 'comment',
  by: 'ada',
  time: 1_700_000_000,
  score: null,
  link: 'resolved',
  item: { text: 'Yes.' },
}

test('an item is shown in one row; what it lacks is a dash', () => {
  assert.deepEqual(cellsOf(found), ['8', 'comment', '–', '2023-11-14', 'ada', 'Yes.'])
  const bare = { ...found, by: null, time: null, score: -3, link: 'unresolved', item: null }
  assert.deepEqual(cellsOf(bare), ['8', 'comment', '-3', '–', '–', ' (its parent is not known)'])
  assert.equal(cellsOf({ ...found, time: 9e15 })[3], '–')
})

test('of a text the first words are shown, without HTML and without tricks', () => {
  assert.equal(gistOf({ title: 'A &amp; B' }), 'A & B')
  assert.equal(gistOf({ text: 'It&#x27;s <i>so</i><p>good &lt;b&gt;' }), "It's so good <b>")
  assert.equal(gistOf({ text: 'red\x1b[31m', dead: true }), '[dead] red\\x1b[31m')
  assert.equal(gistOf({ deleted: true }), '[deleted]')
  assert.ok(gistOf({ text: '<'.repeat(1_000_000) }).length <= 80)
})
