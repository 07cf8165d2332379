import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type PostgresServer, skip, startPostgres } from '../../../test/postgres/server.ts'
import type { EntityId } from '../../entity.ts'
import type { Filter } from '../../store.ts'
import { aBirth, aMove, parcelMachine, shipmentMachine, someChildren } from '../../testing/builders.ts'
import { type PostgresStore, postgresStore } from './index.ts'

const options = { skip }
const lanes = 40
let server: PostgresServer
let store: PostgresStore
let all: readonly {
  readonly id: EntityId
  readonly state: string
  readonly reason: string | null
  readonly owner: string
}[]

before(async () => {
  if (skip) return
  server = await startPostgres()
  store = postgresStore({ url: await server.database() })
  await store.migrate()
  await store.define([parcelMachine, shipmentMachine])
  // One lane has most of the children, and the lowest ids of them; the others have a few each.
  const verdicts = await store.create(
    'parents',
    Array.from({ length: lanes }, () => aBirth({ machine: 'shipment', state: 'open', wait: { for: 'nothing' } })),
  )
  for (const [index, verdict] of verdicts.entries()) {
    const [parent] = await store.get([verdict.kind === 'saved' ? verdict.id : 0])
    const count = index === 0 ? 600 : 5
    const children = someChildren(parent!, count).map((child, ordinal) => ({
      ...child,
      ...(ordinal % 3 === 0 && {
        state: 'failed',
        settled: true,
        wait: { for: 'nothing' } as const,
        reason: `r${ordinal % 2}`,
      }),
      labels: [`c${ordinal % 2}`, `o${ordinal % 7}`],
    }))
    await store.commit(`spawn-${index}`, [
      aMove(parent!, { state: 'filled', wait: { for: 'nothing' }, children, spawned: count }),
    ])
  }
  all = (await everything({ machine: 'parcel' })).map(({ id, state, reason, labels }) => ({
    ...{ id, state, reason },
    owner: labels[1]!,
  }))
})
after(async () => {
  await store?.close()
  await server?.close()
})

async function everything(filter: Omit<Filter, 'limit'>, limit = 1_000) {
  const found = []
  for (let after = filter.after; ; ) {
    const page = await store.list({ ...filter, limit, ...(after !== undefined && { after }) })
    assert.ok(page.entities.length <= limit)
    found.push(...page.entities)
    if (page.next === null) return found
    after = page.next
  }
}

const idsOf = (entities: readonly { readonly id: EntityId }[]) => entities.map(({ id }) => id)

test('what lies in many lanes is listed in the order of ids, each once, whatever the page', options, async () => {
  assert.equal(all.length, 600 + 5 * (lanes - 1))
  const filters: readonly (readonly [Omit<Filter, 'limit'>, (one: (typeof all)[number]) => boolean])[] = [
    [{ machine: 'parcel' }, () => true],
    [{ states: ['failed'] }, ({ state }) => state === 'failed'],
    [{ machine: 'parcel', states: ['failed', 'nowhere'] }, ({ state }) => state === 'failed'],
    [{ reason: 'r1' }, ({ reason }) => reason === 'r1'],
    [{ reason: 'r1', states: ['ready'] }, () => false],
    [{ label: { name: 'owner', value: 'o3' } }, ({ owner }) => owner === 'o3'],
    [{ lane: 'parcels', settled: true }, ({ state }) => state === 'failed'],
  ]
  for (const [filter, isWanted] of filters) {
    const wanted = idsOf(all.filter(isWanted))
    for (const limit of [30, 101, 1_000]) {
      assert.deepEqual(idsOf(await everything(filter, limit)), wanted, JSON.stringify([filter, limit]))
      const newest = await everything({ ...filter, newestFirst: true }, limit)
      assert.deepEqual(idsOf(newest), wanted.toReversed(), JSON.stringify([filter, limit, 'newest first']))
    }
    const middle = wanted[Math.floor(wanted.length / 2)] ?? 100
    const upTo = await everything({ ...filter, upTo: middle, newestFirst: true }, 50)
    assert.deepEqual(idsOf(upTo), wanted.filter((id) => id <= middle).toReversed())
  }
})

test('a page costs as many rows as it shows, though its plan was made while the table was small', options, async () => {
  const schema = 'grown'
  const url = await server.database()
  const own = postgresStore({ url, schema, connectionsMax: 1 })
  await own.migrate()
  const filters: readonly Filter[] = [
    { machine: 'parcel', states: ['done'], limit: 10 },
    { machine: 'parcel', states: ['done'], limit: 10, newestFirst: true },
    { reason: 'torn', limit: 10 },
  ]
  // The server knows three rows in one page: to read them all seems cheapest.
  await own.create('few', [aBirth(), aBirth(), aBirth({ state: 'done', reason: 'torn' })])
  await server.psql(`VACUUM ANALYZE ${schema}.entity_hot, ${schema}.entity_cold`, url)
  for (const filter of filters) await own.list(filter)
  // One of a thousand is done: whoever goes through the rows by id, or through all of them, reads thousands.
  const births = Array.from({ length: 10_000 }, (_, index) =>
    aBirth(index % 1_000 === 999 ? { state: 'done', reason: 'torn' } : {}),
  )
  await own.create('many', births)
  for (const filter of filters) assert.equal((await own.list(filter)).entities.length, 10)
  // Its server process tells what it has read when it ends.
  await own.close()
  for (let tries = 0; tries < 100; tries += 1) {
    const left = await server.psql(
      "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'sluice' AND datname = current_database()",
      url,
    )
    if (left === '0') break
  }
  const read = await server.psql(
    `SELECT sum(idx_tup_fetch + seq_tup_read) FROM pg_stat_user_tables WHERE schemaname = '${schema}' AND relname LIKE 'entity%'`,
    url,
  )
  assert.ok(Number(read) >= 30, 'what was shown was read')
  assert.ok(Number(read) < 500, `${read} rows were read`)
})
