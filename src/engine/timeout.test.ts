import assert from 'node:assert/strict'
import { test } from 'node:test'
import { implement } from '../implementation.ts'
import { defineMachine } from '../machine.ts'
import { done, retry } from '../outcome.ts'
import { memoryStore } from '../store/memory/index.ts'
import { aRun, aWorker } from '../testing/builders.ts'
import { Engine } from './engine.ts'

const order = defineMachine({
  name: 'order',
  version: 1,
  initial: ['open'],
  settled: ['closed', 'failed'],
  final: ['closed', 'failed'],
  states: { open: 'o', closed: 'c', failed: 'f' },
  transitions: {
    work: { from: 'open', to: 'closed', on: 'done', processor: 'work' },
    fail: { from: 'open', to: 'failed', on: 'fail' },
  },
})

test('a timeout is recorded by a process that knows how many attempts there are, and left by others', async (t) => {
  const store = memoryStore()
  let runs = 0
  const engineFor = (names: readonly string[]) => {
    const implementation = implement(order, {
      processors: {
        work: () => {
          runs += 1
          return done()
        },
      },
      tuning: {
        policy: () => ({ attemptsMax: names.length === 0 ? 1_000 : 1, timeoutMs: 50 }),
        serves: { what: 'kind', names, nameOf: () => 'special' },
      },
    })
    const engine = new Engine({ store, implementations: [implementation], limits: { pollMs: 20 } })
    t.after(() => engine.stop())
    return engine
  }
  const [stranger, expert] = [engineFor([]), engineFor(['special'])]
  await stranger.prepare()
  const { id } = await stranger.control.submit('order', null)
  // A worker whose renewing thread ended the lease, and which died before it could say more.
  const worker = await store.renew({ id: null, identity: aWorker({ machines: ['order@1'] }), leaseMs: 60_000 })
  const runsOfOrder = [aRun({ machine: 'order', state: 'open', hops: [] })]
  const { entities } = await store.claim({ worker: worker.id, runs: runsOfOrder, limit: 1, bytes: 1_000 })
  await store.release({ kind: 'timed_out', leases: entities, error: 'The run took longer than its timeout.' })
  await stranger.start()
  const read = async () => (await store.get([id]))[0]!
  // It claims the order and gives it back: two more leases have begun and ended.
  while ((await read()).epoch < 4 || (await read()).owner !== null)
    await new Promise((resolve) => setImmediate(resolve))
  const left = await read()
  assert.deepEqual([left.state, left.attempts, left.wait.for === 'run' && left.wait.timedOut], ['open', 1, true])
  await stranger.stop()
  await expert.start()
  const ended = await expert.control.settled(id, 30_000)
  assert.deepEqual([ended?.state, ended?.error, runs], ['failed', 'work took longer than 50 ms.', 0])
})

test('what fails at its last attempt is counted by a short phrase, and its message says that attempts were spent', async (t) => {
  const store = memoryStore()
  const ways: Readonly<Record<string, (signal: AbortSignal) => unknown>> = {
    retry: () => retry(`busy with ${Math.sqrt(2)}`),
    said: () => retry('busy with 1.41', 0, 'busy'),
    throw: () => {
      throw new TypeError('no route to host 7')
    },
    late: (signal) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
  }
  const implementation = implement(order, {
    processors: { work: ({ data, signal }) => ways[data as string]?.(signal) as undefined },
    tuning: {
      policy: () => ({ attemptsMax: 2, timeoutMs: 100, backoff: { firstMs: 0, maxMs: 0, factor: 1, jitter: 0 } }),
    },
  })
  const engine = new Engine({ store, implementations: [implementation] })
  t.after(() => engine.stop())
  await engine.start()
  const endOf = async (way: string) => {
    const { id } = await engine.control.submit('order', way)
    const ended = await engine.control.settled(id, 30_000)
    return [ended?.reason, ended?.error?.replace(/\d\.\d+/, 'N')]
  }
  assert.deepEqual(await endOf('retry'), ['attempts spent', 'After 2 of 2 attempts: busy with N'])
  assert.deepEqual(await endOf('said'), ['busy, attempts spent', 'After 2 of 2 attempts: busy with N'])
  assert.deepEqual(await endOf('throw'), ['TypeError, attempts spent', 'After 2 of 2 attempts: no route to host 7'])
  assert.deepEqual(await endOf('late'), [
    'timeout, attempts spent',
    'After 2 of 2 attempts: work took longer than 100 ms.',
  ])
})
