import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { systemClock } from '../../clock.ts'
import { Engine } from '../../engine/engine.ts'
import { isSluiceError } from '../../errors.ts'
import { implement } from '../../implementation.ts'
import { defineMachine } from '../../machine.ts'
import { done } from '../../outcome.ts'
import { memoryStore } from '../../store/memory/index.ts'
import { machineChoice, servedMachines, serving } from './served-machines.ts'

test('a name is told from a module by its letters', () => {
  assert.deepEqual(machineChoice(['upload_batch,upload_item@2', './mine.ts', 'letter', 'mine.mjs', 'a/b', 'Letter']), {
    modules: ['./mine.ts', 'mine.mjs', 'a/b', 'Letter'],
    names: ['upload_batch', 'upload_item@2', 'letter'],
  })
})

test('a name stands for all its versions, and has to be known', () => {
  const known = [
    { name: 'letter', version: 1 },
    { name: 'letter', version: 2 },
    { name: 'letter_box', version: 1 },
  ]
  assert.equal(servedMachines([], known), null)
  assert.deepEqual([...servedMachines(['letter'], known)!], ['letter@1', 'letter@2'])
  assert.deepEqual([...servedMachines(['letter@2', 'letter_box'], known)!], ['letter@2', 'letter_box@1'])
  for (const wrong of ['lett', 'letter@3']) {
    assert.throws(
      () => servedMachines([wrong], known),
      (error) => isSluiceError(error, 'not_found') && /letter@1, letter@2, letter_box@1/.test(error.message),
    )
  }
})

const machineOf = (name: string) =>
  defineMachine({
    name,
    version: 1,
    initial: ['ready'],
    settled: ['sent', 'lost'],
    final: ['sent', 'lost'],
    data: z.object({}),
    states: { ready: 'Waits.', sent: 'Gone.', lost: 'Lost.' },
    transitions: {
      send: { from: 'ready', to: 'sent', on: 'done', processor: 'send' },
      lose: { from: 'ready', to: 'lost', on: 'fail' },
    },
  })

test('a worker leaves alone what it does not serve, says so, and still knows it', async () => {
  const [letter, parcel] = [machineOf('letter'), machineOf('parcel')]
  const ran: string[] = []
  const implementations = [letter, parcel].map((machine) =>
    implement(machine, {
      processors: {
        send: () => {
          ran.push(machine.name)
          return done()
        },
      },
    }),
  )
  const store = memoryStore()
  const clerk = new Engine({ store: serving(store, new Set(['letter@1'])), implementations })
  await clerk.start()
  try {
    const ids = await Promise.all(['parcel', 'letter'].map(async (name) => (await clerk.control.submit(name, {})).id))
    const [parcelId, letterId] = ids as [number, number]
    await clerk.control.settled(letterId)
    assert.deepEqual(ran, ['letter'])
    assert.equal((await clerk.control.get(parcelId)).state, 'ready')
    assert.match((await clerk.control.explain(parcelId)).sentence, /none of the 1 live workers serves parcel@1/)
    const [row] = await clerk.control.workers()
    assert.deepEqual(row?.machines, ['letter@1', 'walk@1'])

    const other = new Engine({ store, implementations, clock: systemClock() })
    await other.start()
    try {
      await other.control.settled(parcelId)
      assert.deepEqual(ran, ['letter', 'parcel'])
    } finally {
      await other.stop()
    }
  } finally {
    await clerk.stop()
    await store.close()
  }
})
