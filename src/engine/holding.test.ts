import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { pino } from 'pino'
import { SluiceError } from '../errors.ts'
import { implement } from '../implementation.ts'
import { defineMachine } from '../machine.ts'
import { done } from '../outcome.ts'
import { memoryStore } from '../store/memory/index.ts'
import { sqliteStore } from '../store/sqlite/index.ts'
import type { Store } from '../store.ts'
import { Engine } from './engine.ts'

/** One lease would take a batch through all of this: a kept lease, the hop of a claim, an inline edge. */
const batch = defineMachine({
  name: 'batch',
  version: 1,
  initial: ['uploaded'],
  settled: ['done', 'failed'],
  final: ['done', 'failed'],
  states: { uploaded: 'u', validated: 'v', extracting: 'e', checked: 'c', done: 'd', failed: 'f' },
  transitions: {
    validate: { from: 'uploaded', to: 'validated', on: 'done', processor: 'work' },
    begin: { from: 'validated', to: 'extracting', on: 'claim' },
    extract: { from: 'extracting', to: 'checked', on: 'done', processor: 'work' },
    finish: { from: 'checked', to: 'done', on: 'done', processor: 'work', inline: true },
    fail: { from: ['uploaded', 'extracting', 'checked'], to: 'failed', on: 'fail' },
  },
})

const implementations = [implement(batch, { processors: { work: () => done() } })]
const order = { reason: 'audit', owner: 'olga' }
const stores: Readonly<Record<string, (folder: string) => Store>> = {
  memory: () => memoryStore(),
  sqlite: (folder) => sqliteStore({ file: join(folder, 'sluice.db') }),
}

/** Where a batch waits while each of these states is held. */
const rests = { uploaded: 'uploaded', validated: 'validated', extracting: 'validated', checked: 'validated' } as const

for (const [kind, open] of Object.entries(stores)) {
  suite(`holds over states, ${kind}`, () => {
    for (const [state, rest] of Object.entries(rests)) {
      test(`a hold over ${state} keeps a batch in ${rest}, until it is lifted`, async (t) => {
        const folder = await mkdtemp(join(tmpdir(), 'sluice-holding-'))
        const store = open(folder)
        const engine = new Engine({ store, implementations, limits: { pollMs: 50 }, log: pino({ level: 'silent' }) })
        await engine.start()
        t.after(async () => {
          await engine.stop()
          await store.close()
          await rm(folder, { recursive: true })
        })
        const { control } = engine
        const hold = await control.hold({ machine: 'batch', state }, order)
        const { id } = await control.submit('batch', null)
        const isHeld = async () => (await control.explain(id)).kind === 'held'
        await Promise.race([
          control.settled(id, 30_000).then(() => assert.fail('it went on')),
          (async () => {
            while (!(await isHeld())) await new Promise((resolve) => setImmediate(resolve))
          })(),
        ])
        assert.equal((await control.get(id)).state, rest)
        await control.release(hold.id)
        assert.equal((await control.settled(id, 30_000))?.state, 'done')
      })
    }
  })
}

test('a hold over a state in which no worker begins anything is refused, and says where it could stand', async () => {
  const { control } = new Engine({ store: memoryStore(), implementations })
  await assert.rejects(control.hold({ machine: 'batch', state: 'done' }, order), (error: unknown) => {
    assert.ok(error instanceof SluiceError && error.code === 'invalid')
    assert.match(
      error.message,
      /state done of machine batch would stop nothing.*uploaded, validated, extracting, checked/,
    )
    return true
  })
})
