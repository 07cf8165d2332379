import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { systemClock } from '../clock.ts'
import { SluiceError } from '../errors.ts'
import { implement } from '../implementation.ts'
import { defineMachine } from '../machine.ts'
import { memoryStore } from '../store/memory/index.ts'
import type { Store } from '../store.ts'
import { Engine } from './engine.ts'

const note = defineMachine({
  name: 'note',
  version: 1,
  initial: ['open'],
  settled: ['shut'],
  final: ['shut'],
  states: { open: 'o', shut: 's' },
  transitions: { shut: { from: 'open', to: 'shut', on: 'action' } },
})

/** An engine that only submits, on a store whose creates are counted and may be refused. */
async function desk(refuse: (count: number) => boolean = () => false, limits = {}) {
  const real = memoryStore()
  const creates: number[] = []
  const store: Store = Object.assign(Object.create(real) as Store, {
    async create(operation: string, births: Parameters<Store['create']>[1]) {
      creates.push(births.length)
      if (refuse(births.length)) throw new SluiceError('unsupported', 'Not so many.')
      return real.create(operation, births)
    },
  })
  const engine = new Engine({ store, implementations: [implement(note, {})], clock: systemClock(), limits })
  await engine.prepare()
  return { control: engine.control, creates }
}

suite('submits at the same time', () => {
  test('go out as one write, and each is answered for itself', async () => {
    const { control, creates } = await desk()
    const keys = ['a', 'b', 'a', 'c']
    const answers = await Promise.all(keys.map((key) => control.submit('note', key, { key })))
    assert.deepEqual(creates, [4])
    assert.deepEqual(
      answers.map(({ existing }) => existing),
      [false, false, true, false],
    )
    assert.equal(answers[0]!.id, answers[2]!.id)
    assert.equal(new Set(answers.map(({ id }) => id)).size, 3)
  })

  test('one that is wrong in itself is refused before, and keeps nobody', async () => {
    const { control, creates } = await desk()
    const answers = await Promise.allSettled([
      control.submit('note', 1),
      control.submit('nothing', 2),
      control.submit('note', 3, { priority: 1e9 }),
      control.submit('note', 4),
    ])
    assert.deepEqual(
      answers.map(({ status }) => status),
      ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
    )
    assert.deepEqual(creates, [2])
  })

  test('what the store will not have together is sent one by one', async () => {
    const { control, creates } = await desk((count) => count > 1)
    const answers = await Promise.all([control.submit('note', 1), control.submit('note', 2)])
    assert.deepEqual(creates, [2, 1, 1])
    assert.equal(new Set(answers.map(({ id }) => id)).size, 2)
  })

  test('not more than the limit at once', async () => {
    const { control, creates } = await desk(() => false, { createMax: 3 })
    const many = (count: number) =>
      control.submitMany(
        'note',
        Array.from({ length: count }, (_, n) => ({ data: n })),
      )
    const answers = await Promise.all([many(2), many(2), many(1), many(3)])
    assert.deepEqual(creates, [2, 3, 3])
    assert.deepEqual(
      answers.map((list) => list.length),
      [2, 2, 1, 3],
    )
  })
})
