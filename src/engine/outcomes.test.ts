import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineMachine } from '../machine.ts'
import { done, fail, type Outcome, poll, retry } from '../outcome.ts'
import { occurrenceOf } from './outcomes.ts'

const machine = defineMachine({
  name: 'm',
  version: 1,
  initial: ['a'],
  settled: ['b', 'c'],
  final: ['b', 'c'],
  states: { a: 'a', b: 'b', c: 'c' },
  transitions: {
    work: { from: 'a', to: 'b', on: 'done', processor: 'work' },
    fail: { from: 'a', to: 'c', on: 'fail' },
  },
})
const edge = machine.edges[0]!

test('each outcome is what it says', () => {
  assert.deepEqual(occurrenceOf(edge, done({ n: 1 }, { bytes: 2 })), {
    cause: 'done',
    edge,
    data: { n: 1 },
    sums: { bytes: 2 },
  })
  assert.deepEqual(occurrenceOf(edge, retry('busy', 5)), {
    cause: 'retry',
    error: 'busy',
    data: undefined,
    processor: 'work',
    delayMs: 5,
  })
  assert.deepEqual(occurrenceOf(edge, poll(60_000)), { cause: 'poll', afterMs: 60_000, data: undefined })
  assert.deepEqual(occurrenceOf(edge, fail('gone', 'it is gone')), {
    cause: 'fail',
    reason: 'gone',
    error: 'it is gone',
    data: undefined,
  })
})

test('a delay that makes no sense is left to the backoff, and never makes a hot loop', () => {
  for (const delayMs of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.equal('delayMs' in occurrenceOf(edge, retry('busy', delayMs)), false)
    assert.equal(occurrenceOf(edge, poll(delayMs)).cause, 'fail')
  }
  assert.deepEqual(occurrenceOf(edge, poll(0)), { cause: 'poll', afterMs: 10, data: undefined })
})

test('what is no outcome fails, and says what was expected', () => {
  for (const nothing of [{}, 'ok', 7, { kind: 'ok' }]) {
    const occurrence = occurrenceOf(edge, nothing as unknown as Outcome)
    assert.equal(occurrence.cause, 'fail')
    assert.match((occurrence as { error: string }).error, /work returned .*; a processor returns done\(\)/)
  }
})
