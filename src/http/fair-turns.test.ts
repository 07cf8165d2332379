import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { FairTurns } from './fair-turns.ts'
import { HttpRefusal } from './problem.ts'

describe('fair turns', () => {
  let now: number
  let coming: (() => void)[]
  let begun: string[]
  let under: { readonly caller: string; readonly answered: () => void }[]
  let turns: FairTurns
  beforeEach(() => {
    now = 1_000_000
    coming = []
    begun = []
    under = []
    const clock = { now: () => now, soon: (callback: () => void) => coming.push(callback) }
    turns = new FairTurns({ clock, waitingMax: 20 })
  })
  const ask = (caller: string, times: number, kind: 'read' | 'write' = 'read') => {
    for (let one = 0; one < times; one += 1)
      turns.enter(caller, kind, (answered) => {
        begun.push(caller)
        under.push({ caller, answered })
      })
  }
  const answerAll = () => {
    for (const { answered } of under.splice(0)) answered()
  }
  const turn = (isAnswered = true) => {
    begun = []
    if (isAnswered) answerAll()
    for (const callback of coming.splice(0)) callback()
    return begun.join('')
  }

  test('who is alone does not wait', () => {
    ask('a', 1_000)
    assert.equal(begun.length, 1_000)
  })

  test('of several, each is begun in turn, and eight reads are one turn', () => {
    ask('b', 1)
    ask('a', 20)
    assert.equal(begun.join(''), 'baaaaaaaa')
    ask('b', 2)
    ask('c', 1)
    assert.equal(turn(), 'abcabaaa')
    assert.equal(turn(), 'aaaaaaa')
    assert.equal(turn(), '')
    assert.deepEqual(coming, [], 'nothing is left to do')
  })

  test('of one caller eight reads are under way, and another does not wait for them', () => {
    ask('b', 1)
    ask('a', 12)
    answerAll()
    assert.equal(turn(), 'aaaa')
    ask('a', 15)
    assert.equal(begun.join(''), 'aaaaaaaa', 'four more')
    assert.equal(turn(false), '')
    assert.equal(turn(false), '')
    assert.deepEqual(coming, [], 'an answer begins the next turn, nothing else')
    ask('b', 1)
    assert.equal(begun.join('') + turn(false), 'b')
    under.find(({ caller }) => caller === 'a')?.answered()
    assert.equal(turn(false), 'a')
  })

  test('64 writes are one turn', () => {
    ask('b', 1, 'write')
    ask('a', 80, 'write')
    assert.equal(begun.length, 65, 'and the one of b, who was alone')
    assert.equal(turn().length, 16)
  })

  test('who has been alone for a second waits no more', () => {
    ask('b', 1)
    ask('a', 20)
    for (let times = 0; times < 3; times += 1) turn()
    now += 999
    ask('a', 20)
    assert.equal(begun.length, 8)
    for (let times = 0; times < 3; times += 1) turn()
    now += 1
    ask('a', 20)
    assert.equal(begun.length, 20)
  })

  test('who has too many waiting is refused; others are not, and nothing of what waits is lost', () => {
    ask('b', 1)
    ask('a', 28)
    assert.throws(
      () => ask('a', 1),
      (error) =>
        error instanceof HttpRefusal &&
        error.status === 429 &&
        error.type === 'rate-limited' &&
        error.headers['retry-after'] === '1',
    )
    ask('b', 1)
    assert.equal(turn(), 'abaaaaaa')
    assert.equal(turn() + turn(), 'aaaaaaaaaaaaa')
  })
})
