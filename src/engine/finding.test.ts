import assert from 'node:assert/strict'
import { test } from 'node:test'
import { implement } from '../implementation.ts'
import { defineMachine } from '../machine.ts'
import { memoryStore } from '../store/memory/index.ts'
import { simulatedClock } from '../testing/index.ts'
import { Engine } from './engine.ts'
import type { WalkData } from './walk.ts'

const order = defineMachine({
  name: 'order',
  version: 1,
  initial: ['placed'],
  settled: ['shipped'],
  final: [],
  states: { placed: 'p', shipped: { purpose: 's', outcome: 'success' } },
  transitions: {
    ship: { from: 'placed', to: 'shipped', on: 'action' },
    check: { from: 'shipped', to: 'shipped', on: 'action' },
  },
  title: ['order {number}', '{customer.name}'],
})

test('an entity is found by its id, by its key, and has the name that its machine declares', async () => {
  const clock = simulatedClock()
  const engine = new Engine({ store: memoryStore({ clock }), clock, implementations: [implement(order, {})] })
  await engine.start()
  const { control } = engine
  const { id: other } = await control.submit('order', { number: 7 })
  const { id } = await control.submit('order', { customer: { name: 'Ada' } }, { key: 'web/42' })
  const { id: odd } = await control.submit('order', {}, { key: String(other) })
  await control.act(id, 'ship')

  const found = async (text: string) => (await control.find(text)).map((detail) => detail.id)
  assert.deepEqual(await found('web/42'), [id])
  assert.deepEqual(await found(` #${id} `), [id])
  assert.deepEqual(await found(String(other)), [other, odd], 'a key may look like the id of another')
  for (const text of ['web', 'web/43', '999999', '', ' ', '#']) assert.deepEqual(await found(text), [])

  const listed = async (...[filter]: Parameters<typeof control.list>) =>
    (await control.list(filter)).entities.map((entity) => entity.id)
  for (const newestFirst of [false, true]) {
    assert.deepEqual(await listed({ key: 'web/42', newestFirst }), [id])
    assert.deepEqual(await listed({ key: 'web/42', states: ['shipped'], parent: null, newestFirst }), [id])
    assert.deepEqual(await listed({ key: 'web/42', states: ['placed'], newestFirst }), [])
    assert.deepEqual(await listed({ key: 'nobody', newestFirst }), [])
    assert.deepEqual(await listed({ key: 'web/42', after: id, newestFirst }), [], 'the page behind it is empty')
  }
  const { walk, matching } = await control.actOnMany({ key: 'web/42' }, 'check', { confirm: true })
  assert.equal(matching, 1)
  await clock.advance('1s')
  const done = await control.get(walk ?? 0)
  assert.equal((done.data as WalkData).result?.done, 1)

  const names = (await control.list({ machine: 'order' })).entities.map(({ name }) => name)
  assert.deepEqual(names, ['order 7', 'Ada', null])
  assert.equal((await control.get(other)).name, 'order 7')
  assert.equal(done.name, 'check of 1 entities')
  await engine.stop()
})
