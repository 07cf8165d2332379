import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { pino } from 'pino'
import { SluiceError } from '../errors.ts'
import { type Implementation, implement, type Processor } from '../implementation.ts'
import { defineMachine } from '../machine.ts'
import { done, fail } from '../outcome.ts'
import { memoryStore } from '../store/memory/index.ts'
import type { Store } from '../store.ts'
import { Engine } from './engine.ts'

const once = { attemptsMax: 1, timeoutMs: 200 }

const order = defineMachine({
  name: 'order',
  version: 1,
  initial: ['open'],
  settled: ['closed', 'failed'],
  final: ['closed', 'failed'],
  states: { open: 'Is written.', waiting: 'Waits for its parcels.', closed: 'All is there.', failed: 'Void.' },
  transitions: {
    write: { from: 'open', to: 'waiting', on: 'done', processor: 'write' },
    close: { from: 'waiting', to: 'closed', on: 'children', processor: 'close' },
    fail: { from: ['open', 'waiting'], to: 'failed', on: 'fail' },
  },
  policies: { write: once, close: once },
})

const parcel = defineMachine({
  name: 'parcel',
  version: 1,
  parent: 'order',
  initial: ['lost'],
  settled: ['lost', 'found'],
  final: ['found'],
  states: { lost: 'l', found: 'f' },
  transitions: { find: { from: 'lost', to: 'found', on: 'action' } },
})

function orders(close: Processor): readonly Implementation[] {
  const write: Processor = async ({ spawn }) => {
    await spawn([{ machine: 'parcel', data: null }])
    return done()
  }
  return [implement(order, { processors: { write, close } }), implement(parcel, {})]
}

/** An engine on a memory store, some of whose verbs are replaced. */
async function started(
  t: { after(end: () => Promise<void>): void },
  implementations: readonly Implementation[],
  replace: (store: Store) => Partial<Store>,
) {
  const inner = memoryStore()
  const log = pino({ level: 'silent' })
  const store = { ...inner, ...replace(inner) }
  const engine = new Engine({ store, implementations, limits: { pollMs: 100 }, log })
  await engine.start()
  t.after(() => engine.stop())
  return engine.control
}

/** Each of these reads fails this often before it works. */
function unreachable(store: Store, failures: number): Partial<Store> {
  const left = { list: failures, lanes: failures, get: failures }
  const cut = (verb: keyof typeof left) => {
    left[verb] -= 1
    if (left[verb] >= 0) throw new Error(`the connection was lost during ${verb}`)
  }
  return {
    async list(filter) {
      cut('list')
      return store.list(filter)
    },
    async lanes(parents) {
      cut('lanes')
      return store.lanes(parents)
    },
    async get(ids) {
      // Only the action on the parcels asks for this.
      if (left.list < 0) cut('get')
      return store.get(ids)
    },
  }
}

suite('the reads of a run', () => {
  test('outlast an outage that is longer than the timeout, and cost neither an attempt nor time', async (t) => {
    const close: Processor = async ({ children, readLanes, actOnChildren }) => {
      const ids: number[] = []
      for await (const { id } of children()) ids.push(id)
      const counts = await actOnChildren('find')
      return done({ ids: ids.length, counts, lanes: (await readLanes()).length })
    }
    // Pauses of 10, 20, 40, … ms: seven failures of one read take over a second.
    const control = await started(t, orders(close), (store) => unreachable(store, 7))
    const { id } = await control.submit('order', null)
    const entity = (await control.settled(id, 30_000)) ?? assert.fail()
    assert.deepEqual([entity.state, entity.error], ['closed', null])
    assert.deepEqual(entity.data, { ids: 1, counts: { done: 1 }, lanes: 1 })
  })

  test('are not repeated if the store refuses them', async (t) => {
    const close: Processor = async ({ children }) => {
      for await (const _ of children({ states: ['nowhere'] })) assert.fail()
      return done()
    }
    const control = await started(t, orders(close), () => ({
      async list() {
        throw new SluiceError('invalid', 'No such state.')
      },
    }))
    const { id } = await control.submit('order', null)
    const entity = (await control.settled(id, 30_000)) ?? assert.fail()
    assert.deepEqual([entity.state, entity.error], ['failed', 'No such state.'])
  })
})

test('a run that lost its lease after it read its children does not move them', async (t) => {
  let runs = 0
  const close: Processor = async ({ actOnChildren }) => {
    runs += 1
    // The run that follows has other plans.
    if (runs > 1) return fail('done otherwise')
    await actOnChildren('find')
    return done()
  }
  const control = await started(t, orders(close), (store) => ({
    async list(filter) {
      const page = await store.list(filter)
      // The run is paused here, for longer than its lease. Nobody tells it.
      const [entity] = await store.get([filter.parent as number])
      if (entity && runs === 1) await store.release({ kind: 'timed_out', leases: [entity], error: 'paused' })
      return page
    },
  }))
  const { id } = await control.submit('order', null)
  const detail = (await control.settled(id, 30_000)) ?? assert.fail()
  assert.equal(detail.state, 'failed')
  const { entities } = await control.list({ machine: 'parcel', limit: 10 })
  assert.deepEqual(
    entities.map(({ state }) => state),
    ['lost'],
  )
})

test('an outage that outlasts the lease costs no attempt of what a living worker held', async (t) => {
  let isAway = false
  let runs = 0
  const reached = Promise.withResolvers<void>()
  const cut = <Given extends unknown[], Answer>(verb: (...given: Given) => Promise<Answer>) => {
    return async (...given: Given): Promise<Answer> => {
      if (isAway) throw new Error('the connection was lost')
      return verb(...given)
    }
  }
  const write: Processor = async ({ signal }) => {
    runs += 1
    if (runs > 1) return done()
    isAway = true
    reached.resolve()
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
  }
  const slow = defineMachine({
    name: 'slow',
    version: 1,
    initial: ['open'],
    settled: ['closed', 'failed'],
    final: ['closed', 'failed'],
    states: { open: 'o', closed: 'c', failed: 'f' },
    transitions: {
      write: { from: 'open', to: 'closed', on: 'done', processor: 'write' },
      fail: { from: 'open', to: 'failed', on: 'fail' },
    },
    policies: { write: { attemptsMax: 1 } },
  })
  const inner = memoryStore()
  const { commit, renew, release, claim, due, get, list, lanes } = inner
  const all = { commit, renew, release, claim, due, get, list, lanes }
  const verbs = Object.fromEntries(
    Object.entries(all).map(([name, verb]) => [name, cut(verb as () => Promise<unknown>)]),
  )
  const limits = { pollMs: 20, leaseMs: 200, renewMs: 50 }
  const store = { ...inner, ...verbs } as Store
  const engine = new Engine({
    store,
    implementations: [implement(slow, { processors: { write } })],
    limits,
    log: pino({ level: 'silent' }),
  })
  await engine.start()
  t.after(() => engine.stop())
  const { id } = await engine.control.submit('slow', null)
  await reached.promise
  const [worker] = await inner.workers()
  // Until the lease has run out by the store's own clock.
  while (inner.time() < (worker?.expiresAt ?? 0) + 50) await new Promise((resolve) => setTimeout(resolve, 10))
  isAway = false
  assert.equal((await engine.control.settled(id, 30_000))?.state, 'closed')
  assert.equal(runs, 2)
})
