import assert from 'node:assert/strict'
import { test } from 'node:test'
import { implement } from '../implementation.ts'
import { defineMachine } from '../machine.ts'
import { testKit } from '../testing/kit/index.ts'

/** Two processors and an assign of one parent spawn, each without a word about ordinals. */
const album = defineMachine({
  name: 'album',
  version: 1,
  initial: ['scanning'],
  settled: ['closed', 'failed'],
  final: ['failed'],
  states: { scanning: 's', adding: 'a', waiting: 'w', closed: 'c', failed: 'f' },
  transitions: {
    scan: { from: 'scanning', to: 'adding', on: 'done', processor: 'spawnThree' },
    add: { from: 'adding', to: 'waiting', on: 'done', processor: 'spawnTwo', assign: 'andOne' },
    close: { from: 'waiting', to: 'closed', on: 'children' },
    fail: { from: ['scanning', 'adding'], to: 'failed', on: 'fail' },
    again: { from: 'closed', to: 'scanning', on: 'action' },
  },
})
const picture = defineMachine({
  name: 'picture',
  version: 1,
  parent: 'album',
  initial: ['raw'],
  settled: ['done', 'failed'],
  final: ['done', 'failed'],
  states: { raw: 'r', done: 'd', failed: 'f' },
  transitions: {
    develop: { from: 'raw', to: 'done', on: 'done', processor: 'develop' },
    fail: { from: 'raw', to: 'failed', on: 'fail' },
  },
})
const pictures = (count: number) => Array.from({ length: count }, () => ({ machine: 'picture', data: {} }))

test('children of successive states are numbered on; a new generation finds those of the one before', async () => {
  const implementations = [
    implement(album, {
      processors: {
        spawnThree: ({ spawn }) => spawn(pictures(3)),
        spawnTwo: async ({ spawn, checkpoint, cursor }) => {
          if (cursor === null) {
            await spawn(pictures(1))
            await checkpoint('one is made')
          }
          await spawn(pictures(1))
        },
      },
      assigns: { andOne: () => ({ spawn: pictures(1) }) },
    }),
    implement(picture, { processors: { develop: () => undefined } }),
  ]
  await using kit = testKit({ implementations })
  const { id } = await kit.control.submit('album', {})
  await kit.drain()
  assert.deepEqual((await kit.control.progress(id)).counts, { done: 6 })
  const { entities } = await kit.control.list({ parent: id })
  assert.deepEqual(
    entities.map(({ ordinal }) => ordinal),
    [0, 1, 2, 3, 4, 5],
  )
  await kit.control.act(id, 'again')
  await kit.drain()
  const { state, counts } = await kit.control.progress(id)
  assert.deepEqual({ state, counts }, { state: 'closed', counts: { done: 6 } })
})
