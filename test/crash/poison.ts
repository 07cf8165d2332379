import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { pino } from 'pino'
import { Engine } from '../../src/engine/engine.ts'
import { implement } from '../../src/implementation.ts'
import { defineMachine } from '../../src/machine.ts'
import { durableStore } from '../durable-store.ts'

/** One of many entities ends its process whenever it runs. The program is started again and again until it ends in peace. */
export interface PoisonOrder {
  readonly folder: string
  readonly count: number
  /** The number of the one that kills. */
  readonly poison: number
}

export const poisonStoreName = 'poison.db'

export const poisonMachine = defineMachine({
  name: 'crash_poison',
  version: 1,
  initial: ['ready'],
  settled: ['completed', 'failed'],
  final: ['completed', 'failed'],
  states: { ready: 'May run.', completed: 'Worked.', failed: 'Ended its process too often.' },
  transitions: {
    work: { from: 'ready', to: 'completed', on: 'done', processor: 'work' },
    fail: { from: 'ready', to: 'failed', on: 'fail' },
  },
  policies: { work: { attemptsMax: 3, parallel: 1_000 } },
})

async function main({ folder, count, poison }: PoisonOrder): Promise<void> {
  const implementation = implement(poisonMachine, {
    processors: {
      work: async ({ data }) => {
        const { number } = data as { number: number }
        if (number === poison) process.kill(process.pid, 'SIGKILL')
        // Long enough that all that were claimed together are still held when the process dies.
        await pause(5)
      },
    },
  })
  const store = durableStore(join(folder, poisonStoreName))
  const log = pino({ level: 'warn' }, pino.destination(2))
  const limits = { leaseMs: 400, renewMs: 100, pollMs: 50 }
  const engine = new Engine({ store, implementations: [implementation], limits, log })
  await engine.prepare()
  // All wait before the first claim, so that the poison has as many neighbours as can be.
  const items = Array.from({ length: count }, (_, number) => ({ key: `poison-${number}`, data: { number } }))
  await engine.control.submitMany('crash_poison', items)
  await engine.start()
  while ((await store.lanes([null])).some((lane) => lane.open > 0)) await pause(20)
  await engine.stop()
  await store.close()
}

if (import.meta.main) await main(JSON.parse(process.argv[2] ?? '') as PoisonOrder)
