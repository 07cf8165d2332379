import assert from 'node:assert/strict'
import { test } from 'node:test'
import { History } from './history.ts'

const move = (entity: number, seq: number, at: number) => ({
  ...{ entity, seq, at, epoch: 0, generation: 0, cause: 'done', hops: [] },
  ...{ actor: null, role: null, reason: null, requestId: null, error: null },
})

test('a reader of the feed goes on from its position and misses nothing', () => {
  const history = new History(1_000)
  history.addBirth(1, 0)
  const begin = history.read({ after: 0, limit: 10 }, 0, 100)
  assert.deepEqual([begin.births, begin.moves], [[1], []])
  history.addMove(move(1, 1, 5))
  history.addBirth(2, 5)
  const first = history.read({ after: begin.position, limit: 1 }, 5, 100)
  const second = history.read({ after: first.position, limit: 10 }, 5, 100)
  assert.deepEqual([first.moves.length, first.births, second.moves, second.births], [1, [], [], [2]])
  const nothing = history.read({ after: second.position, limit: 10 }, 5, 100)
  assert.deepEqual(nothing, { moves: [], births: [], position: second.position, missed: false })
})

test('the feed forgets what is too old, the history of an entity does not, and positions go on', () => {
  const history = new History(1_000)
  for (let seq = 1; seq <= 10; seq += 1) history.addMove(move(1, seq, seq * 200))
  const { position } = history.read({ after: 0, limit: 100 }, 2_000, 100)
  history.addMove(move(2, 1, 5_000))
  const late = history.read({ after: 0, limit: 100 }, 5_000, 100)
  assert.deepEqual([late.moves.map(({ entity }) => entity), late.position], [[2], position + 1])
  assert.equal(late.missed, true)
  assert.deepEqual(history.read({ after: position, limit: 100 }, 5_000, 100), { ...late, missed: false })
  const page = history.read({ entity: 1, afterSeq: 7, limit: 2 }, 5_000, 100)
  assert.deepEqual(
    page.moves.map(({ seq }) => seq),
    [8, 9],
  )
})
