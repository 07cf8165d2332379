/** How many lease times pass from the kill of a worker until another runs its entity again. */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { defineMachine, Engine, implement } from 'sluice'
import { sqliteStore } from 'sluice/sqlite'
import { scenario } from './scenario.ts'

const leaseMs = 1_000
const limits = { leaseMs, renewMs: leaseMs / 4 }
const long = defineMachine({
  name: 'bench_long',
  version: 1,
  initial: ['waiting'],
  settled: ['completed', 'failed'],
  final: ['completed', 'failed'],
  states: {
    waiting: 'To be done.',
    completed: { purpose: 'Done.', outcome: 'success' },
    failed: { purpose: 'Not done.', outcome: 'failure' },
  },
  transitions: {
    complete: { from: 'waiting', to: 'completed', on: 'done', processor: 'work' },
    fail: { from: 'waiting', to: 'failed', on: 'fail' },
  },
})

const [file] = process.argv.slice(2)
if (process.send && file) await victim(file)
else await scenario(async (store) => ({ recovery_leases: await measure(store) }))

/** Begins the work, says so, and never ends it. */
async function victim(file: string): Promise<void> {
  const work = () => {
    process.send?.('running')
    return new Promise<never>(() => {})
  }
  await new Engine({
    store: sqliteStore({ file }),
    limits,
    implementations: [implement(long, { processors: { work } })],
  }).start()
}

async function measure(file: string): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < 5; round++) {
    const store = sqliteStore({ file: `${file}.${round}` })
    let ran = () => {}
    const again = new Promise<void>((resolve) => {
      ran = resolve
    })
    const rescuer = new Engine({
      store,
      limits,
      implementations: [implement(long, { processors: { work: () => ran() } })],
    })
    await rescuer.prepare()
    await rescuer.control.submit('bench_long', {})
    const child = fork(fileURLToPath(import.meta.url), [`${file}.${round}`], { execArgv: process.execArgv })
    await new Promise((resolve) => child.once('message', resolve))
    await rescuer.start()
    const killed = performance.now()
    child.kill('SIGKILL')
    await again
    times.push((performance.now() - killed) / leaseMs)
    await rescuer.stop()
    await store.close()
  }
  return Math.max(...times)
}
