import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FoldedName, FreshKeys } from './fresh-keys.ts'
import { absent, type ItemRow } from './item-row.ts'

const aRow = (seq: number, changes: Partial<ItemRow> = {}): ItemRow => ({
  ...{
    seq,
    hnId: 1_000 + seq,
    type: 'comment',
    author: `ann${seq % 3}`,
    time: 100 - seq,
    parent: seq % 2,
  },
  ...{ gone: 0, kids: 0, descendants: null, entity: seq, batch: 1, file: 1, offset: 0, length: 1 },
  ...{ merged: false, score: null, documentScore: null, shared: false, fields: 0, ...changes },
})
const rows = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => aRow(from + index))

/** All rows of a table, taken three at a time. */
function taken(keys: FreshKeys, table: FoldedName, from: number, to: number): unknown[] {
  const width = table === 'place' ? 2 : table === 'by_parent' ? 3 : 4
  const values: unknown[] = []
  for (;;) {
    const part = keys.part(table, from, to, 3)
    assert.ok(part.values.length <= 3 * width)
    values.push(...part.values)
    if (part.isLast) break
  }
  return Array.from({ length: values.length / width }, (_, index) => values.slice(index * width, (index + 1) * width))
}

test('each table gets its rows in its own order, part by part', () => {
  const keys = new FreshKeys(100)
  keys.append(rows(1, 4))
  keys.append([aRow(5, { author: null, parent: null, time: null, documentScore: 7 })])
  assert.deepEqual(
    taken(keys, 'place', 1, 5),
    [1, 2, 3, 4, 5].map((seq) => [1_000 + seq, seq]),
  )
  assert.deepEqual(taken(keys, 'by_time', 1, 5), [
    [2, absent, 1_005, 5],
    ...[4, 3, 2, 1].map((seq) => [10, 100 - seq, 1_000 + seq, seq]),
  ])
  assert.deepEqual(taken(keys, 'by_score', 1, 5), [
    [2, 7, 1_005, 5],
    ...[1, 2, 3, 4].map((seq) => [10, absent, 1_000 + seq, seq]),
  ])
  assert.deepEqual(taken(keys, 'by_author', 1, 5), [
    ['ann0', 97, 1_003, 3],
    ['ann1', 99, 1_001, 1],
    ['ann1', 96, 1_004, 4],
    ['ann2', 98, 1_002, 2],
  ])
  assert.deepEqual(taken(keys, 'by_parent', 2, 4), [
    [0, 1_002, 2],
    [0, 1_004, 4],
    [1, 1_003, 3],
  ])
})

test('times and scores are kept as they are, however far out', () => {
  const numbers = [-7, 0, 2 ** 31, 2 ** 33, -(2 ** 40), 0.5, 2 ** 53 - 1]
  const keys = new FreshKeys(100)
  keys.append(numbers.map((number, index) => aRow(index + 1, { time: number, documentScore: -number })))
  const bySeq = (table: FoldedName) =>
    (taken(keys, table, 1, numbers.length) as number[][]).sort((left, right) => left[3]! - right[3]!)
  assert.deepEqual(
    bySeq('by_time').map(([, time]) => time),
    numbers,
  )
  assert.deepEqual(
    bySeq('by_score').map(([, score]) => score),
    numbers.map((number) => -number),
  )
})

test('names are kept as they are: long, empty, in any script, with a zero in them', () => {
  const names = ['', '\u0000', 'ünï', '\u{1f600}', 'x'.repeat(200), 'a\u0000b', 'ann']
  const keys = new FreshKeys(100)
  keys.append(names.map((author, index) => aRow(index + 1, { author })))
  const found = taken(keys, 'by_author', 1, names.length) as [string, number, number, number][]
  assert.deepEqual(
    found.sort((left, right) => left[3] - right[3]).map(([name]) => name),
    names,
  )
})

test('what was changed is left out, also in the midst of a table, but for its place', () => {
  const keys = new FreshKeys(100)
  keys.append(rows(1, 6))
  assert.equal(keys.part('by_time', 1, 6, 2).isLast, false)
  keys.changed([3, 99])
  assert.deepEqual(
    taken(keys, 'by_time', 1, 6).map((row) => (row as number[])[3]),
    [4, 2, 1],
  )
  for (const table of ['by_score', 'by_author', 'by_parent'] as const)
    assert.equal(taken(keys, table, 1, 6).length, 5, table)
  assert.equal(taken(keys, 'place', 1, 6).length, 6)
})

test('what is folded is forgotten, and the rest keeps its keys', () => {
  const keys = new FreshKeys(10)
  keys.append(rows(1, 6))
  keys.forget(4)
  assert.equal(keys.covers(4, 6), false)
  assert.equal(keys.covers(5, 6), true)
  keys.append(rows(7, 12))
  assert.deepEqual(
    taken(keys, 'by_author', 5, 12)
      .sort()
      .map((row) => (row as unknown[])[0]),
    ['ann0', 'ann0', 'ann0', 'ann1', 'ann1', 'ann2', 'ann2', 'ann2'],
  )
  keys.forget(12)
  assert.equal(keys.covers(12, 12), false)
  keys.append(rows(13, 14))
  assert.equal(keys.covers(13, 14), true)
})

test('a gap, too many rows, or a number that needs more room: nothing is known of what came before', () => {
  const keys = new FreshKeys(10)
  keys.append(rows(1, 3))
  keys.append(rows(5, 6))
  assert.deepEqual([keys.covers(1, 3), keys.covers(5, 6)], [false, true])
  keys.append(rows(7, 20))
  assert.equal(keys.covers(5, 6), false)
  for (const change of [{ hnId: 2 ** 32 }, { parent: 2 ** 40 }]) {
    keys.append(rows(21, 22))
    assert.equal(keys.covers(21, 22), true)
    keys.append([aRow(23, change)])
    assert.equal(keys.covers(21, 22), false, JSON.stringify(change))
  }
  keys.append([aRow(21, { author: 'x'.repeat(1_000) })])
  assert.equal(keys.covers(21, 21), false)
})
