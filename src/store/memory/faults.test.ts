import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBirth, parcelMachine } from '../../testing/builders.ts'
import { type Fault, faultyStore, type SignalFault } from './faults.ts'
import { memoryStore } from './index.ts'

test('a fault before changes nothing; a fault after loses only the answer, which a repeat brings', async () => {
  const store = memoryStore()
  const faults: Fault[] = ['before', 'after', 'ok']
  const faulty = faultyStore(store, (verb) => (verb === 'create' ? faults.shift()! : 'ok'))
  await faulty.define([parcelMachine])
  const create = () => faulty.create('one', [aBirth()])
  await assert.rejects(create(), { code: 'internal', message: 'injected: before' })
  assert.deepEqual((await store.list({ limit: 10 })).entities, [])
  await assert.rejects(create(), { code: 'internal', message: 'injected: after' })
  assert.equal((await store.list({ limit: 10 })).entities.length, 1)
  assert.deepEqual(await create(), [{ kind: 'saved', id: 1 }])
})

test('signals are lost and doubled as planned', async () => {
  const plans: SignalFault[] = ['ok', 'drop', 'double']
  const faulty = faultyStore(
    memoryStore(),
    () => 'ok',
    () => plans.shift()!,
  )
  let heard = 0
  const end = faulty.signals?.(() => {
    heard += 1
  })
  const counts: number[] = []
  for (const operation of ['a', 'b', 'c']) {
    await faulty.create(operation, [aBirth()])
    counts.push(heard)
  }
  assert.deepEqual(counts, [1, 1, 3])
  end?.()
  await faulty.create('d', [aBirth()])
  assert.equal(heard, 3)
})
