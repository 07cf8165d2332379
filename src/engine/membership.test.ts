import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { pino } from 'pino'
import { defaultLimits, type Limits } from '../limits.ts'
import { memoryStore } from '../store/memory/index.ts'
import type { HeartRequest, Store } from '../store.ts'
import { aWorker, manualClock } from '../testing/builders.ts'
import { Membership } from './membership.ts'
import { RunReport } from './run-report.ts'
import type { Services } from './services.ts'

const limits: Limits = { ...defaultLimits, leaseMs: 400, renewMs: 100 }

/** A heart that beats when it is told to, and is ready when it is told to be. */
class SlowHeart {
  readonly #ready = Promise.withResolvers<void>()
  readonly ready = this.#ready.promise
  readonly kept: number[] = []
  readonly request: HeartRequest
  isStopped = false

  constructor(request: HeartRequest) {
    this.request = request
  }

  keep(worker: number): void {
    this.kept.push(worker)
  }

  watch(): void {}
  unwatch(): void {}

  async stop(): Promise<void> {
    this.isStopped = true
  }

  start(): void {
    this.#ready.resolve()
  }
}

function scene() {
  const clock = manualClock()
  const hearts: SlowHeart[] = []
  const memory = memoryStore({ clock, limits })
  const store: Store = Object.assign(Object.create(memory) as Store, {
    heart(request: HeartRequest) {
      const heart = new SlowHeart(request)
      hearts.push(heart)
      return heart
    },
  })
  const said: string[] = []
  const log = pino({ level: 'silent' })
  const services = { store, clock, limits, log, report: new RunReport(clock, log) } as unknown as Services
  const membership = new Membership(services, aWorker(), {
    lost: () => said.push('lost'),
    regained: () => said.push('regained'),
  })
  return { clock, store, hearts, said, membership }
}

async function moment(): Promise<void> {
  for (let turns = 0; turns < 20; turns += 1) await Promise.resolve()
}

suite('a worker and its lease', () => {
  test('a heart that takes longer to start than a lease lasts costs no lease', async () => {
    const { clock, store, hearts, said, membership } = scene()
    const joining = membership.join()
    await moment()
    clock.advance(5 * limits.leaseMs)
    assert.equal(membership.id, null)
    assert.deepEqual(await store.workers(), [], 'no lease runs while the thread starts')
    hearts[0]!.start()
    await joining
    assert.deepEqual(hearts[0]!.kept, [membership.id])
    const [worker] = await store.workers()
    assert.equal(worker?.expiresAt, clock.now() + limits.leaseMs, 'the whole of it lies ahead')
    assert.deepEqual(said, [])
  })

  test('a lease that is lost is followed by another, under a heart of its own', async () => {
    const { hearts, said, membership } = scene()
    const joining = membership.join()
    hearts[0]!.start()
    await joining
    const first = membership.id
    hearts[0]!.request.lost()
    assert.equal(membership.id, null)
    assert.equal(hearts[0]!.isStopped, true)
    hearts[1]!.start()
    await moment()
    assert.notEqual(membership.id, first)
    assert.deepEqual(hearts[1]!.kept, [membership.id])
    hearts[0]!.request.lost()
    assert.deepEqual(said, ['lost', 'regained'], 'what the first heart says late is of no account')
  })

  test('an answer that comes late does not cost the lease that followed', async () => {
    const { hearts, said, membership } = scene()
    const joining = membership.join()
    hearts[0]!.start()
    await joining
    const first = membership.id
    membership.denied(first)
    hearts[1]!.start()
    await moment()
    const second = membership.id
    membership.denied(first)
    assert.equal(membership.id, second)
    assert.deepEqual(said, ['lost', 'regained'])
  })

  test('a heart that breaks before it is ready is replaced', async () => {
    const { hearts, said, membership } = scene()
    const joining = membership.join()
    hearts[0]!.request.lost()
    hearts[0]!.start()
    await moment()
    hearts[1]!.start()
    await joining
    assert.deepEqual(hearts[0]!.kept, [])
    assert.deepEqual(hearts[1]!.kept, [membership.id])
    assert.deepEqual(said, [])
  })

  test('whoever is leaving is not registered again', async () => {
    const { store, hearts, said, membership } = scene()
    const joining = membership.join()
    hearts[0]!.start()
    await joining
    membership.close()
    hearts[0]!.request.lost()
    await membership.leave()
    assert.equal(hearts.length, 1)
    assert.equal(membership.id, null)
    assert.deepEqual(said, ['lost'])
    assert.equal((await store.workers()).length, 1, 'its lease will end by itself')
  })
})
