import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSluiceError } from '../errors.ts'
import { implement } from '../implementation.ts'
import { defineMachine } from '../machine.ts'
import { done, fail } from '../outcome.ts'
import { memoryStore } from '../store/memory/index.ts'
import { simulatedClock } from '../testing/index.ts'
import { Engine } from './engine.ts'
import type { WalkData } from './walk.ts'

const order = defineMachine({
  name: 'order',
  version: 1,
  initial: ['placed'],
  settled: ['shipped', 'expired', 'late', 'rejected'],
  final: ['shipped', 'expired', 'late', 'rejected'],
  states: {
    placed: 'p',
    shipped: { purpose: 's', outcome: 'success' },
    expired: 'Undeclared.',
    late: { purpose: 'l', outcome: 'attention' },
    rejected: { purpose: 'r', outcome: 'failure' },
  },
  transitions: {
    ship: { from: 'placed', to: 'shipped', on: 'done', processor: 'pack', when: 'isGood' },
    expire: { from: 'placed', to: 'expired', on: 'done', processor: 'pack', when: 'isOld' },
    delay: { from: 'placed', to: 'late', on: 'done', processor: 'pack' },
    reject: { from: 'placed', to: 'rejected', on: 'fail' },
  },
  parent: 'basket',
})

/** Here `rejected` is as it should be. */
const basket = defineMachine({
  name: 'basket',
  version: 1,
  initial: ['filling'],
  settled: ['rejected'],
  final: [],
  states: { filling: 'f', open: 'o', rejected: { purpose: 'r', outcome: 'success' } },
  transitions: {
    fill: { from: 'filling', to: 'open', on: 'done', processor: 'fill' },
    fail: { from: 'filling', to: 'rejected', on: 'fail' },
    close: { from: 'open', to: 'rejected', on: 'children' },
    touch: { from: 'rejected', to: 'rejected', on: 'action' },
  },
})

const implementations = [
  implement(order, {
    processors: { pack: ({ data }) => (data === 'bad' ? fail('torn') : done()) },
    criteria: { isGood: ({ data }) => data === 'good', isOld: ({ data }) => data === 'old' },
  }),
  implement(basket, {
    processors: {
      fill: ({ data, spawn }) => spawn((data as string[]).map((kind) => ({ machine: 'order', data: kind }))),
    },
  }),
]

const kinds = ['good', 'good', 'good', 'old', 'bad', 'bad', 'slow']

test('progress counts settled children by outcome, and lists select by outcome', async () => {
  const clock = simulatedClock()
  const engine = new Engine({ store: memoryStore({ clock }), clock, implementations })
  await engine.start()
  const { control } = engine
  const { id } = await control.submit('basket', kinds)
  await clock.advance('1s')
  const { settled, outcomes } = await control.progress(id)
  assert.deepEqual(
    { settled, outcomes },
    { settled: 7, outcomes: { success: 3, failure: 2, attention: 1, neutral: 1 } },
  )

  const statesWith = async (...asked: Parameters<typeof control.list>) =>
    (await control.list(...asked)).entities.map(({ machine, state }) => `${machine} ${state}`)
  assert.deepEqual(await statesWith({ outcomes: ['failure'] }), ['order rejected', 'order rejected'])
  assert.deepEqual(await statesWith({ outcomes: ['success'], states: ['rejected'] }), ['basket rejected'])
  assert.deepEqual(await statesWith({ outcomes: ['success'], machine: 'order', limit: 2 }), [
    'order shipped',
    'order shipped',
  ])
  assert.deepEqual(await statesWith({ outcomes: ['attention', 'neutral'], parent: id }), [
    'order expired',
    'order late',
  ])
  await assert.rejects(
    control.list({ outcomes: ['fine' as 'success'] }),
    (error) => isSluiceError(error, 'invalid') && /There is no outcome fine\. There are: success/.test(error.message),
  )

  const walk = await control.actOnMany({ outcomes: ['success'], states: ['rejected'] }, 'touch', { confirm: true })
  assert.equal(walk.matching, 1)
  await clock.advance('1s')
  const { data } = await control.get(walk.walk ?? 0)
  assert.equal((data as WalkData).result?.done, 1)
  await engine.stop()
})
