import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { pino } from 'pino'
import { Engine } from '../../src/engine/engine.ts'
import { isSluiceError } from '../../src/errors.ts'
import { implement } from '../../src/implementation.ts'
import type { Limits } from '../../src/limits.ts'
import { defineMachine } from '../../src/machine.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { Store } from '../../src/store.ts'
import { CuttingProxy } from './proxy.ts'
import { type PostgresServer, skipOwn, startPostgres } from './server.ts'

const errandMachine = defineMachine({
  name: 'errand',
  version: 1,
  initial: ['waiting'],
  settled: ['completed', 'failed'],
  final: ['completed', 'failed'],
  states: { waiting: 'May run.', completed: 'Was run.', failed: 'Was refused.' },
  transitions: {
    run: { from: 'waiting', to: 'completed', on: 'done', processor: 'run' },
    fail: { from: 'waiting', to: 'failed', on: 'fail' },
  },
  policies: { run: { attemptsMax: 3, concurrency: 20 } },
})

/** What a worker may say of one absence, and ask of the server meanwhile: enough to see it, not enough to fill a disk or to keep a core busy. */
const linesMax = 20
const connectionsMax = 150

/** An engine by way of a proxy, whose processor waits until it is told to end. */
class Shop implements AsyncDisposable {
  readonly lines: { readonly level: number; readonly msg: string }[] = []
  readonly store: Store
  readonly engine: Engine
  readonly proxy: CuttingProxy
  readonly #begun: (() => void)[] = []
  #gate = Promise.withResolvers<void>()
  #running = 0

  private constructor(proxy: CuttingProxy, url: string, limits: Partial<Limits>) {
    this.proxy = proxy
    this.store = postgresStore({ url: proxy.through(url), limits })
    const sink = new Writable({
      write: (line, _, done) => {
        this.lines.push(JSON.parse(String(line)))
        done()
      },
    })
    const run = async () => {
      this.#running += 1
      for (const tell of this.#begun) tell()
      await this.#gate.promise
    }
    this.engine = new Engine({
      store: this.store,
      implementations: [implement(errandMachine, { processors: { run } })],
      log: pino({ level: 'info' }, sink),
      limits,
    })
  }

  static async open(server: PostgresServer, url: string, limits: Partial<Limits> = {}): Promise<Shop> {
    const shop = new Shop(await CuttingProxy.start(server.port), url, limits)
    await shop.engine.start()
    return shop
  }

  /** So many processors run. */
  async running(count: number): Promise<void> {
    while (this.#running < count) await new Promise<void>((resolve) => this.#begun.push(resolve))
  }

  letGo(): void {
    this.#gate.resolve()
  }

  async submit(key: string): Promise<number> {
    return (await this.engine.control.submit('errand', {}, { key })).id
  }

  async completed(ids: readonly number[]): Promise<void> {
    for (const id of ids) assert.equal((await this.engine.control.settled(id, 30_000))?.state, 'completed')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.letGo()
    await this.engine.stop()
    await this.store.close()
    await this.proxy[Symbol.asyncDispose]()
  }
}

/** What was asked and not stored is refused so that it can be asked again. */
async function refusal(submitted: Promise<number>): Promise<string | null> {
  try {
    await submitted
    return null
  } catch (error) {
    assert.ok(isSluiceError(error, 'internal'), String(error))
    assert.match(error.message, /PostgreSQL at .*submit again, with the same key/s)
    return error.message
  }
}

describe('the server is away', { skip: skipOwn, timeout: 60_000 }, () => {
  test('for some seconds: work goes on when it is back; whoever submits is answered later, or told to ask again', async (t) => {
    await using server = await startPostgres({ own: true })
    await using shop = await Shop.open(server, await server.database())
    const before = await Promise.all(Array.from({ length: 50 }, (_, index) => shop.submit(`before-${index}`)))
    await shop.running(20)
    await server.stop('immediate')
    const [lines, made] = [shop.lines.length, shop.proxy.made]
    shop.letGo()
    // Long enough for somebody to be refused; others are still waiting when the server comes back.
    const refused = shop.submit('refused')
    await pause(1_000)
    const late = shop.submit('late')
    assert.ok(await refusal(refused))
    const told = shop.lines.slice(lines)
    const connections = shop.proxy.made - made
    await server.start()
    const lateRefusal = await refusal(late)
    t.diagnostic(
      `${told.length} lines, ${connections} connections; the late one was ${lateRefusal ? 'refused' : 'stored'}`,
    )
    const ids = [...before, await shop.submit('refused'), await shop.submit('late')]
    await shop.completed(ids)
    const [lane] = (await shop.store.lanes([null])).filter(({ machine }) => machine === 'errand')
    assert.deepEqual(lane?.counts, { completed: 52 }, 'Each was stored once, and worked once.')
    assert.ok(connections <= connectionsMax, `${connections} connections were tried.`)
    assert.ok(told.length <= linesMax, `${told.length} lines, as: ${told.slice(0, 3).map(({ msg }) => msg)}`)
  })

  test('and takes no writes when it is back, as in a failover: nothing fails for it', async () => {
    await using server = await startPostgres({ own: true })
    const url = await server.database('failing_over')
    await using shop = await Shop.open(server, url)
    const before = await Promise.all(Array.from({ length: 10 }, (_, index) => shop.submit(`before-${index}`)))
    await shop.running(10)
    const renew = (change: string) =>
      server.psql(
        `ALTER DATABASE failing_over ${change};
         SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'failing_over'`,
      )
    await renew('SET default_transaction_read_only = on')
    shop.letGo()
    const during = shop.submit('during')
    // Somebody has tried to write, in vain.
    while (!shop.lines.some(({ msg }) => /failed|could not/.test(msg))) await pause(10)
    await pause(500)
    await renew('RESET default_transaction_read_only')
    const told = await refusal(during)
    await shop.completed([...before, told ? await shop.submit('during') : await during])
  })

  test('from the network, without a word: whoever waits for an answer does not wait for ever', async () => {
    await using server = await startPostgres({ own: true })
    await using shop = await Shop.open(server, await server.database(), { leaseMs: 2_000, renewMs: 500, pollMs: 200 })
    const before = await Promise.all(Array.from({ length: 30 }, (_, index) => shop.submit(`before-${index}`)))
    await shop.running(20)
    shop.proxy.silence()
    shop.letGo()
    const during = shop.submit('during')
    const told = await refusal(during)
    await shop.completed([...before, told ? await shop.submit('during') : await during])
  })
})
