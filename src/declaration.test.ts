import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkDeclaration } from './declaration.ts'
import { isSluiceError } from './errors.ts'
import { defineMachine } from './machine.ts'

const sound = {
  name: 'm',
  version: 1,
  initial: ['a'],
  settled: ['b'],
  final: ['b'],
  states: { a: 'a', b: { purpose: 'b', retentionMs: 1 } },
  transitions: { go: { from: 'a', to: 'b', on: 'done' } },
  policies: { work: { attemptsMax: 1 } },
}

test('a sound declaration passes', () => checkDeclaration(sound))

test('what is malformed or misspelt is one clear error that names it', () => {
  for (const [declaration, words] of [
    [undefined, /A machine must be an object/],
    [{}, /its name must be a text; initial must be a list of states/],
    [{ ...sound, transitions: null }, /Machine m is malformed: transitions must be an object/],
    [{ ...sound, states: undefined }, /states must be an object/],
    [{ ...sound, lables: ['x'] }, /A machine has no lables/],
    [{ ...sound, policies: { work: { atemptsMax: 1 } } }, /policy work has no atemptsMax/],
    [
      { ...sound, transitions: { go: { from: 'a', to: 'b', on: 'done', processr: 'p' } } },
      /transition go has no processr/,
    ],
    [{ ...sound, transitions: { go: { from: 'a', on: 'done' } } }, /transition go has no to/],
    [
      { ...sound, states: { ...sound.states, b: { purpose: 'b', outcome: 'fine' } } },
      /the outcome of state b is "fine" \(there is: success, failure, attention, neutral\)/,
    ],
    [{ ...sound, states: { ...sound.states, a: { pupose: 'x' } } }, /state a has no pupose/],
  ] as const) {
    assert.throws(
      () => defineMachine(declaration as never),
      (error) => isSluiceError(error, 'invalid') && words.test(error.message),
    )
  }
})
