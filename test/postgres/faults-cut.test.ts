import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Entity } from '../../src/entity.ts'
import { isSluiceError } from '../../src/errors.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { Store } from '../../src/store.ts'
import { type Errand, errands } from './faults-errands.ts'
import { type Cut, CuttingProxy, type Manner } from './proxy.ts'
import { type PostgresServer, skip, startPostgres } from './server.ts'

/** Bytes between two cuts of a whole exchange, and how many there are at most. SLUICE_CUT_STEP=1 cuts at every byte. */
const isThorough = process.env.SLUICE_CUT_STEP !== undefined
const step = Number(process.env.SLUICE_CUT_STEP ?? 16)
const cutsMax = isThorough ? Number.POSITIVE_INFINITY : 20
/** The message that says COMMIT. */
const commitBytes = 12
/** No two exchanges are of the same length: numbers and times have more or fewer digits. */
const slackBytes = 64
const trialMs = 10_000

describe('a connection is cut', { skip, timeout: isThorough ? 3_600_000 : 120_000 }, () => {
  let server: PostgresServer
  let proxy: CuttingProxy
  /** Straight to the server, for whatever a story needs besides. */
  let near: Store
  /** By way of the proxy, over one connection. */
  let far: Store
  /** Sees what the server is doing. */
  let watcher: pg.Client
  let trials = 0

  before(async () => {
    server = await startPostgres()
    const url = await server.database()
    proxy = await CuttingProxy.start(server.port)
    near = postgresStore({ url, connectionsMax: 2 })
    await near.migrate()
    far = postgresStore({ url: proxy.through(url), connectionsMax: 1 })
    await far.migrate()
    watcher = new pg.Client({ connectionString: url, application_name: 'test harness' })
    await watcher.connect()
  })
  after(async () => {
    await far?.close()
    await near?.close()
    await watcher?.end()
    await proxy?.[Symbol.asyncDispose]()
    await server?.close()
  })

  /** Sends the errand over a connection that is cut, and whatever is unknown then again over another. */
  async function attempt<Ready, Answer>(errand: Errand<Ready, Answer>, cut: Cut | null, manner: Manner = 'end') {
    trials += 1
    const operation = `trial-${trials}`
    const ready = await errand.prepare(near, operation, far)
    await proxy.hangUp()
    proxy.cut(cut ?? { of: 'answers', bytes: Number.POSITIVE_INFINITY }, manner)
    const [first] = await within(Promise.allSettled([errand.send(far, ready, operation)]))
    const passed = proxy.spare()
    await proxy.hangUp()
    await noticed()
    assert.equal(passed.isCut, cut !== null, 'The exchange was shorter than the cut.')
    if (first.status === 'rejected') assertLost(first.reason)
    const answer = first.status === 'fulfilled' ? first.value : null
    await within(errand.conclude({ far, near, ready, operation, answer }))
    return { ...passed, isKnown: answer !== null }
  }

  /** A connection that was reset may be asked once more before its end is known: the question is lost, the next one is not. */
  async function noticed(): Promise<void> {
    await within(far.workers().catch(() => far.workers()))
    await within(quiet())
  }

  /**
   * The server learns of a lost connection when it reads from it next, which takes its time on a busy machine: until then what was
   * sent may still be done, and claims pass by the rows that are locked. A story goes on when that is over.
   */
  async function quiet(): Promise<void> {
    const busy = `SELECT FROM pg_stat_activity
      WHERE application_name = 'sluice' AND datname = current_database() AND state <> 'idle'`
    while ((await watcher.query(busy)).rowCount !== 0) await sleep(1)
  }

  for (const errand of errands) {
    test(`between the commit of ${errand.name} and its answer, at every byte`, async () => {
      await attempt(errand, null)
      for (let bytes = 0; bytes <= commitBytes; bytes += 1) {
        for (const manner of ['end', 'reset'] as const) {
          const { isKnown } = await attempt(errand, { of: 'commit', bytes }, manner)
          if (bytes < commitBytes) assert.equal(isKnown, false, `After ${bytes} bytes nobody can know.`)
          else if (manner === 'end') assert.equal(isKnown, true, 'The whole answer was there.')
        }
      }
    })

    test(`anywhere while ${errand.name} is sent or answered`, async (t) => {
      const whole = await attempt(errand, null)
      const fates = { known: 0, unknown: 0 }
      for (const way of ['requests', 'answers'] as const) {
        const stride = Math.max(step, Math.ceil(whole[way] / cutsMax))
        // Not always at the same bytes: over many runs all are cut.
        const begin = Math.floor(Math.random() * stride)
        for (let bytes = begin; bytes < whole[way] - slackBytes; bytes += stride) {
          const manner = (bytes - begin) % (2 * stride) === 0 ? 'end' : 'reset'
          const { isKnown } = await attempt(errand, { of: way, bytes }, manner)
          fates[isKnown ? 'known' : 'unknown'] += 1
        }
      }
      t.diagnostic(`${whole.requests} bytes sent, ${whole.answers} answered, ${JSON.stringify(fates)}`)
      assert.ok(fates.unknown > 0)
    })
  }

  test('nothing was counted twice, and the feed tells of everything once', async (t) => {
    assert.deepEqual(await near.recount([null], null), [])
    const told = new Map<string, number>()
    for (let after = 0; ; ) {
      const { moves, births, position, missed } = await near.events({ after, limit: 1_000 })
      assert.equal(missed, false)
      for (const { entity, seq } of moves) told.set(`${entity}/${seq}`, (told.get(`${entity}/${seq}`) ?? 0) + 1)
      for (const id of births) told.set(`${id}/0`, (told.get(`${id}/0`) ?? 0) + 1)
      if (position === after) break
      after = position
    }
    assert.deepEqual(
      [...told].filter(([, count]) => count > 1),
      [],
    )
    const entities: Entity[] = []
    for (let after: number | null = 0; after !== null; ) {
      const page = await near.list({ after, limit: 1_000 })
      entities.push(...page.entities)
      after = page.next
    }
    const due = entities.flatMap(({ id, seq }) => Array.from({ length: seq + 1 }, (_, index) => `${id}/${index}`))
    assert.deepEqual([...told.keys()].sort(), due.sort())
    assert.deepEqual(
      entities.filter(({ owner }) => owner !== null),
      [],
    )
    t.diagnostic(`${trials} connections were cut, ${entities.length} entities`)
  })
})

function assertLost(error: unknown): void {
  assert.ok(isSluiceError(error, 'internal'), `It said: ${error}`)
  assert.match(error.message, /the connection was lost/)
}

/** Every promise settles. */
async function within<Result>(promise: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const patience = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`There was no answer for ${trialMs} ms.`)), trialMs)
  })
  try {
    return await Promise.race([promise, patience])
  } finally {
    clearTimeout(timer)
  }
}
