import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Node, threadLines } from './thread-lines.ts'

const node = (hnId: number, parent: number | null): Node => ({
  hnId,
  parent,
  type: parent === null ? 'story' : 'comment',
  by: 'ada',
  time: 0,
  score: parent === null ? 7 : null,
  link: 'none',
  item: { text: `Text ${hnId}` },
})

test('a thread is told as a conversation: above, the item itself, and below it each answer under its question', () => {
  const lines = threadLines([node(2, 1), node(1, null)], node(3, 2), [
    node(4, 3),
    node(5, 3),
    node(6, 4),
    node(7, 5),
    node(8, 6),
  ])
  assert.deepEqual(lines, [
    '  1 story by ada, 7 points: Text 1',
    '    2 comment by ada: Text 2',
    '*     3 comment by ada: Text 3',
    '        4 comment by ada: Text 4',
    '          6 comment by ada: Text 6',
    '            8 comment by ada: Text 8',
    '        5 comment by ada: Text 5',
    '          7 comment by ada: Text 7',
  ])
})

test('a circle ends, and great depth is no trouble', () => {
  assert.equal(threadLines([], node(1, 2), [node(2, 1), node(1, 2)]).length, 2)
  const deep = Array.from({ length: 20_000 }, (_, index) => node(index + 2, index + 1))
  const lines = threadLines([], node(1, null), deep)
  assert.equal(lines.length, 20_001)
  assert.ok(lines.every((line) => line.length < 200))
})
