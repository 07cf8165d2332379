import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Engine } from '../src/engine/engine.ts'
import type { Store } from '../src/store.ts'
import type { WriteSetting } from './crash/audit-preload.ts'
import { check } from './crash/checker.ts'
import type { StoreDump } from './crash/evidence.ts'
import { crashExpectations } from './crash/expectations.ts'
import { readJournals } from './crash/journal.ts'
import { type ChildOrder, dumpName } from './crash/order.ts'
import { type PartnerOrder, partnerImplementations } from './crash/partner.ts'
import { rangeSize } from './crash/plan.ts'
import { Scene } from './crash/scene.ts'
import type { TestProcess } from './crash/test-process.ts'
import { durableStore, postgresUrl } from './durable-store.ts'

const crashProgram = new URL('./crash/child.ts', import.meta.url)
const partnerProgram = new URL('./crash/partner.ts', import.meta.url)
/** On PostgreSQL each costs more, and the siege of its own tests has more processes. */
const roots = postgresUrl === null ? 3_000 : 1_000
const anHourMs = 60 * 60 * 1_000

describe(postgresUrl === null ? 'two processes on one SQLite file' : 'two processes on one schema', () => {
  test(`share ${roots} roots with fan-outs, submitted by a third, and do each thing once`, async (t) => {
    await using scene = new Scene('together')
    const { folder } = scene
    const child = (order: Pick<ChildOrder, 'name' | 'task'> & Partial<ChildOrder>) =>
      scene.start(crashProgram, {
        folder,
        ranges: [],
        trap: null,
        cancels: false,
        // Nobody dies here: a lease that outlasts a busy machine keeps the count of what was done twice at nothing.
        limits: { leaseMs: 10_000, renewMs: 1_000 },
        ...order,
      } satisfies ChildOrder)
    const ranges = Array.from({ length: roots / rangeSize }, (_, range) => range)
    // All three open a file that is not there yet, at the same moment.
    const workers = [child({ name: 'worker-one', task: 'work' }), child({ name: 'worker-two', task: 'work' })]
    await child({ name: 'submitter', task: 'submit', ranges }).success(60_000)
    await child({ name: 'settle', task: 'settle' }).success(90_000)
    for (const worker of workers) worker.signal('SIGTERM')
    for (const worker of workers) await worker.success(30_000)
    const notes = readJournals(folder)
    const dump = JSON.parse(readFileSync(join(folder, dumpName), 'utf8')) as StoreDump
    assert.deepEqual(check({ ...dump, notes, workers: [] }, crashExpectations).slice(0, 15), [])
    const names = ['worker-one', 'worker-two', 'settle']
    const effects = names.map((name) =>
      readJournals(folder, name).flatMap((note) => (note.kind === 'effect' ? note.key : [])),
    )
    const counts = names.map((name, index) => `${name} ${effects[index]?.length}`)
    t.diagnostic(`effects: ${counts.join(', ')}; ${new Set(effects.flat()).size} keys`)
    for (const [index, name] of names.entries()) assert.ok(effects[index]!.length > 0, `${name} did nothing at all.`)
  })

  test('an action in one ends what runs in the other', async () => {
    await using here = new Here('cancel')
    const other = await here.partner('worker', { pollMs: 200 })
    const { control } = here.engine
    const person = { actor: 'tester', role: 'operator', reason: 'enough', confirmed: true }
    const job = await control.submit('partner_job', { durationMs: anHourMs })
    const group = await control.submit('partner_group', { jobs: 3, durationMs: anHourMs })
    await here.says(other, new RegExp(`^began ${job.id} `))
    const running = await here.childrenOf(group.id, 3)
    for (const id of running) await here.says(other, new RegExp(`^began ${id} `))
    await control.act(job.id, 'cancel', person)
    await here.says(other, new RegExp(`^aborted ${job.id}$`))
    await control.act(group.id, 'cancel', person)
    for (const id of running) await here.says(other, new RegExp(`^aborted ${id}$`))
    assert.equal((await control.get(job.id)).state, 'cancelled')
    assert.equal((await control.get(group.id)).state, 'cancelled')
    // They are at rest where they were: nobody holds them, and nobody takes them up again.
    await here.until(async () => (await here.store.get(running)).every((entity) => entity?.owner === null))
    assert.deepEqual(
      (await here.store.get(running)).map((entity) => entity?.state),
      ['running', 'running', 'running'],
    )
    other.signal('SIGTERM')
    await other.success(20_000)
    assert.equal(other.lines.filter((line) => line.startsWith('began')).length, 4)
  })

  test('one that stops gracefully lets go at once, and the other goes on', async () => {
    await using here = new Here('drain')
    // With a lease of an hour, whatever is taken over within this test was given back, not waited for.
    const limits = { leaseMs: anHourMs, drainMs: 500, pollMs: 100 }
    const first = await here.partner('first', limits)
    const { control } = here.engine
    const long = await control.submit('partner_job', { durationMs: anHourMs })
    const short = await control.submit('partner_job', { durationMs: 300 })
    await here.says(first, new RegExp(`^began ${long.id} attempt 1$`))
    await here.says(first, new RegExp(`^began ${short.id} attempt 1$`))
    const second = await here.partner('second', limits)
    first.signal('SIGTERM')
    await here.says(second, new RegExp(`^began ${long.id} attempt 1$`))
    await first.success(20_000)
    assert.ok(first.lines.includes(`ended ${short.id}`), 'What could end in time was waited for.')
    assert.ok(first.lines.includes(`aborted ${long.id}`), 'What could not was told.')
    assert.equal((await control.get(short.id)).state, 'completed')
    const events = await control.history(long.id)
    assert.deepEqual(
      events.map((event) => event.transition),
      ['create', 'start'],
      'Its state was left as it was.',
    )
    assert.equal((await control.workers()).length, 1)
    assert.ok(!second.lines.some((line) => line.startsWith(`began ${short.id} `)))
  })

  test('what a killed one held runs again in the other', async (t) => {
    await using here = new Here('killed')
    const limits = { leaseMs: 400, renewMs: 100, pollMs: 50 }
    const partners = [await here.partner('one', limits), await here.partner('two', limits)] as const
    const { control } = here.engine
    const job = await control.submit('partner_job', { durationMs: 2_000 })
    const { first, second } = await here.whoSays(partners, new RegExp(`^began ${job.id} `))
    const killedAt = performance.now()
    first.signal('SIGKILL')
    await here.says(second, new RegExp(`^began ${job.id} `))
    t.diagnostic(`after ${((performance.now() - killedAt) / limits.leaseMs).toFixed(2)} lease times`)
    await here.says(second, new RegExp(`^ended ${job.id}$`))
    await here.until(async () => (await control.get(job.id)).state === 'completed')
    second.signal('SIGTERM')
    await second.success(20_000)
  })

  test('one that wakes after its lease has gone changes nothing', async () => {
    await using here = new Here('zombie')
    const limits = { leaseMs: 400, renewMs: 100, pollMs: 50 }
    const partners = [await here.partner('one', limits), await here.partner('two', limits)] as const
    const { control } = here.engine
    const durationMs = 1_000
    for (let tries = 1; ; tries += 1) {
      const job = await control.submit('partner_job', { durationMs, sleepy: true })
      const { first, second } = await here.whoSays(partners, new RegExp(`^began ${job.id} `))
      const beganAgain = await second.line(new RegExp(`^began ${job.id} `), 4_000)
      await pause(durationMs / 2)
      // It goes on where it was, and commits under a lease that is another's now.
      first.signal('SIGCONT')
      await here.until(async () => (await control.get(job.id)).state === 'completed')
      // A process that is stopped while its other thread writes keeps SQLite's lock, and everybody waits: that says nothing here.
      if (beganAgain === null && tries < 5) continue
      await here.says(second, new RegExp(`^ended ${job.id}$`))
      const [, start, finish] = await control.history(job.id)
      assert.deepEqual([start?.transition, finish?.transition], ['start', 'finish'])
      assert.ok(finish!.epoch > start!.epoch, 'The move is that of the second, under its own epoch.')
      assert.ok(
        // The lease may have been renewed for the last time shortly before the first began.
        finish!.at >= start!.at + limits.leaseMs - limits.renewMs + durationMs,
        'It was not completed while the second still ran.',
      )
      break
    }
    for (const partner of partners) {
      // On a busy machine both may have slept, one after the other.
      partner.signal('SIGCONT')
      partner.signal('SIGTERM')
    }
    for (const partner of partners) await partner.success(20_000)
  })

  if (postgresUrl !== null) return
  test('every connection of every thread syncs the log before it answers', async () => {
    await using here = new Here('audit')
    const report = join(here.folder, 'audit')
    const preload = new URL('./crash/audit-preload.ts', import.meta.url)
    preload.searchParams.set('report', report)
    const worker = await here.partner('worker', { leaseMs: 600, renewMs: 50, pollMs: 50 }, ['--import', preload.href])
    const job = await here.engine.control.submit('partner_job', { durationMs: 500 })
    await here.says(worker, new RegExp(`^ended ${job.id}$`))
    const settings = await settingsOf(report, 2)
    worker.signal('SIGTERM')
    await worker.success(20_000)
    const distinct = new Set(settings.map(({ synchronous, journal }) => `${journal} ${synchronous}`))
    assert.deepEqual([...distinct], ['wal 2'], 'WAL with synchronous=FULL, asked of the connections that wrote')
    const threads = new Set(settings.map(({ thread }) => thread))
    assert.equal(threads.size, 2, 'The thread that renews the lease writes by a connection of its own.')
  })
})

/** What the writers said, once so many threads have written: on a busy machine the renewing thread takes its time. */
async function settingsOf(report: string, threads: number): Promise<readonly WriteSetting[]> {
  for (let looks = 0; ; looks += 1) {
    const lines = existsSync(report) ? readFileSync(report, 'utf8').split('\n').slice(0, -1) : []
    const settings = lines.map((line) => JSON.parse(line) as WriteSetting)
    if (new Set(settings.map(({ thread }) => thread)).size >= threads || looks >= 200) return settings
    await pause(100)
  }
}

/** This process as a partner: it has the control, and no worker. */
class Here implements AsyncDisposable {
  readonly #scene: Scene
  readonly file: string
  readonly store: Store
  readonly engine: Engine

  constructor(name: string) {
    this.#scene = new Scene(name)
    this.file = join(this.#scene.folder, 'shared.db')
    this.store = durableStore(this.file)
    this.engine = new Engine({ store: this.store, implementations: partnerImplementations(() => {}) })
  }

  get folder(): string {
    return this.#scene.folder
  }

  async partner(
    name: string,
    limits: PartnerOrder['limits'],
    nodeOptions: readonly string[] = [],
  ): Promise<TestProcess> {
    await this.engine.prepare()
    const order: PartnerOrder = { file: this.file, name, limits }
    const partner = this.#scene.start(partnerProgram, order, nodeOptions)
    await this.says(partner, /^up$/)
    return partner
  }

  /** Waits for the line; if it does not come, says all that did. */
  async says(partner: TestProcess, pattern: RegExp): Promise<void> {
    if ((await partner.line(pattern, 20_000)) !== null) return
    throw new Error(`A process never said ${pattern}. It said:\n${partner.lines.join('\n')}\n${partner.errors}`)
  }

  /** Which of the two says it, and the other one. */
  async whoSays(
    [one, other]: readonly [TestProcess, TestProcess],
    pattern: RegExp,
  ): Promise<{ first: TestProcess; second: TestProcess }> {
    let first: TestProcess | null = null
    await this.until(async () => {
      first = [one, other].find(({ lines }) => lines.some((line) => pattern.test(line))) ?? null
      return first !== null
    })
    return first === one ? { first: one, second: other } : { first: other, second: one }
  }

  async until(isSo: () => Promise<boolean>): Promise<void> {
    for (const deadline = performance.now() + 20_000; performance.now() < deadline; await pause(20))
      if (await isSo()) return
    throw new Error('It did not come about within 20 seconds.')
  }

  async childrenOf(parent: number, count: number): Promise<readonly number[]> {
    let ids: readonly number[] = []
    await this.until(async () => {
      ids = (await this.store.list({ parent, limit: 100 })).entities.map(({ id }) => id)
      return ids.length === count
    })
    return ids
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#scene[Symbol.asyncDispose]()
    await this.store.close()
  }
}
