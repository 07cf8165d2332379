import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { type PostgresServer, skipOwn, startPostgres } from '../../../test/postgres/server.ts'
import { defaultLimits } from '../../limits.ts'
import type { EventPage, Store } from '../../store.ts'
import { aBirth, aMove } from '../../testing/builders.ts'
import { SimulatedClock } from '../../testing/kit/simulated-clock.ts'
import { Database } from './database.ts'
import { Desk } from './desk.ts'
import { events, prune } from './feed.ts'
import { postgresStore } from './index.ts'

const options = { skip: skipOwn }
let server: PostgresServer
let schemas = 0

before(async () => {
  // The feed shows what is older than the oldest transaction of the whole server: here nobody else has one.
  if (!skipOwn) server = await startPostgres({ settings: { autovacuum: 'off' } })
})
after(() => server?.close())

/** A store, and what lies below it, of the same schema and time. */
async function opened(clock = new SimulatedClock()) {
  schemas += 1
  const schema = `feed_${schemas}`
  const store = postgresStore({ url: server.url, schema, clock })
  await store.migrate()
  const database = new Database(server.url, schema, 2, clock)
  const desk = new Desk(database, schema, clock, defaultLimits, () => {})
  const end = async () => {
    await store.close()
    await database.close()
  }
  return { store, desk, clock, end }
}

async function pages(store: Store, limit: number): Promise<readonly EventPage[]> {
  const read: EventPage[] = []
  for (let after = 0; ; ) {
    const page = await store.events({ after, limit })
    if (page.moves.length + page.births.length === 0) return read
    assert.ok(page.position > after, 'a page with something in it leads on')
    after = page.position
    read.push(page)
  }
}

test('an operation with more changes than positions is read in strides, each change once', options, async () => {
  const { store, end } = await opened()
  const count = 9_000
  const verdicts = await store.create(
    'many',
    Array.from({ length: count }, () => aBirth()),
  )
  const ids = verdicts.map((verdict) => (verdict.kind === 'saved' ? verdict.id : 0))
  // A stride is of three: a page of 400 ends within the next one.
  for (const limit of [400, 1_000]) {
    const read = await pages(store, limit)
    assert.deepEqual(
      read.flatMap(({ births }) => births),
      ids,
    )
    assert.ok(
      read.every(({ births }) => births.length < limit + 3),
      'a page exceeds its limit by less than a stride',
    )
  }
  await end()
})

test('what comes behind an open transaction is shown when that has ended, and is told of', options, async () => {
  const { store, desk, end } = await opened()
  await store.create('before', [aBirth()])
  const slow = new pg.Client({ connectionString: server.url })
  await slow.connect()
  // As a transaction does that has taken its lock and not drawn its position yet.
  await slow.query(
    `BEGIN; SELECT pg_advisory_xact_lock_shared(hashtext('${desk.schema}'), last_value::int4) FROM ${desk.schema}.feed_position`,
  )
  await store.create('behind', [aBirth()])
  let told = 0
  const behind = () => {
    told += 1
  }
  const early = await events(desk, { after: 0, limit: 10 }, behind)
  assert.deepEqual([early.births.length, told], [1, 1])
  assert.deepEqual((await events(desk, { after: early.position, limit: 10 }, behind)).births, [])
  assert.equal((await events(desk, { after: early.position, limit: 10 }, behind)).position, early.position)
  await slow.query('COMMIT')
  await slow.end()
  told = 0
  const late = await events(desk, { after: early.position, limit: 10 }, behind)
  assert.deepEqual([late.births.length, late.missed, told], [1, false, 0])
  await end()
})

test('where the feed ends does not move by what others write on the same server', options, async () => {
  const { store, end } = await opened()
  await store.create('one', [aBirth()])
  const { position } = await store.events({ after: Number.MAX_SAFE_INTEGER, limit: 1 })
  await server.psql('CREATE TABLE other (id int); DROP TABLE other')
  const page = await store.events({ after: position, limit: 10 })
  assert.deepEqual(page, { moves: [], births: [], position, missed: false })
  await store.create('two', [aBirth()])
  assert.equal((await store.events({ after: position, limit: 10 })).births.length, 1)
  await end()
})

test('old operations are removed in groups, and whoever has not read them is told so', options, async () => {
  const { store, desk, clock, end } = await opened()
  for (let index = 0; index < 5; index += 1) await store.create(`old-${index}`, [aBirth()])
  assert.equal((await store.events({ after: 0, limit: 10 })).missed, false, 'nothing was ever removed')
  assert.equal(await prune(desk), 0)
  const { position } = await store.events({ after: 0, limit: 5 })
  await clock.advance(defaultLimits.operationMs + 1)
  await store.create('young', [aBirth()])
  assert.equal(await prune(desk), 5)
  assert.equal(await prune(desk), 0)
  const late = await store.events({ after: 0, limit: 10 })
  assert.deepEqual([late.missed, late.births.length], [true, 1])
  assert.equal((await store.events({ after: position, limit: 10 })).missed, false, 'he has read all that is gone')
  await clock.advance(defaultLimits.operationMs + 1)
  assert.equal(await prune(desk), 1)
  assert.equal((await store.events({ after: late.position, limit: 10 })).missed, false)
  assert.equal((await store.events({ after: position, limit: 10 })).missed, true)
  await end()
})

test('a long history is read in pages, however much of it has left the row', options, async () => {
  const { store, end } = await opened()
  const [verdict] = await store.create('one', [aBirth({ state: 's0', wait: { for: 'nothing' } })])
  const id = verdict?.kind === 'saved' ? verdict.id : 0
  const count = 100
  const error = 'It broke.\nTwice.'
  for (let index = 1; index <= count; index += 1) {
    const [entity] = await store.get([id])
    const move = aMove(entity!, {
      state: `s${index % 2}`,
      settled: false,
      wait: { for: 'nothing' },
      error: `${error} ${index}`,
    })
    const [verdict] = await store.commit(`move-${index}`, [move])
    assert.equal(verdict!.kind, 'saved')
  }
  const kept = await server.psql(`SELECT count(*) FROM feed_${schemas}.history`)
  assert.ok(Number(kept) > 1, 'some of it lies in rows of its own')
  const whole = (await store.events({ entity: id, afterSeq: 0, limit: 1_000 })).moves
  assert.deepEqual(
    whole.map(({ seq, error }) => [seq, error]),
    Array.from({ length: count }, (_, index) => [index + 1, `${error} ${index + 1}`]),
  )
  for (const [afterSeq, limit] of [
    [0, 1],
    [13, 7],
    [31, 20],
    [36, 60],
    [99, 5],
    [100, 5],
  ] as const) {
    const { moves } = await store.events({ entity: id, afterSeq, limit })
    assert.deepEqual(moves, whole.slice(afterSeq, afterSeq + limit))
  }
  const fed = (await pages(store, 7)).flatMap(({ moves }) => moves)
  assert.deepEqual(fed, whole, 'a record is the same in both')
  await end()
})
