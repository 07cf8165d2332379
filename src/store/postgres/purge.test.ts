import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { type PostgresServer, skip, startPostgres } from '../../../test/postgres/server.ts'
import type { EntityId } from '../../entity.ts'
import { aBirth, aMove, someChildren } from '../../testing/builders.ts'
import { type PostgresStore, postgresStore } from './index.ts'

const options = { skip }
let server: PostgresServer
let url: string
let store: PostgresStore
let outside: pg.Client

before(async () => {
  if (skip) return
  server = await startPostgres()
  url = await server.database()
  store = postgresStore({ url })
  await store.migrate()
  outside = new pg.Client({ connectionString: url, options: '-c search_path=sluice' })
  await outside.connect()
})
after(async () => {
  await store?.close()
  await outside?.end()
  await server?.close()
})

/** A settled root with so many children, each with so many below it. */
async function aTree(children: number, grandchildren: number): Promise<EntityId> {
  const [verdict] = await store.create(`root-${children}-${grandchildren}`, [
    aBirth({ machine: 'shipment', wait: { for: 'nothing' } }),
  ])
  const id = verdict?.kind === 'saved' ? verdict.id : 0
  await spawn(id, children, 'done')
  if (grandchildren > 0)
    for (const child of (await store.list({ parent: id, limit: 1_000 })).entities)
      await spawn(child.id, grandchildren, 'failed')
  return id
}

async function spawn(id: EntityId, count: number, state: string): Promise<void> {
  const [entity] = await store.get([id])
  const move = aMove(entity!, { state, children: someChildren(id, count), spawned: count, lanes: 'rest' })
  assert.deepEqual(await store.commit(`spawn-${id}`, [move]), [{ kind: 'saved' }])
}

async function left(): Promise<string> {
  return server.psql(
    `SELECT (SELECT count(*) FROM sluice.entity), (SELECT count(*) FROM sluice.lane WHERE parent IS NOT NULL),
     (SELECT count(*) FROM sluice.line WHERE lane IS NOT NULL), (SELECT count(*) FROM sluice.history),
     (SELECT count(*) FROM sluice.tombstone WHERE purged_at IS NULL)`,
    url,
  )
}

test('two processes that purge the same tree remove it once, and count it once', options, async () => {
  const root = await aTree(30, 7)
  const other = postgresStore({ url })
  const purge = async (handle: PostgresStore, limit: number) => {
    while (!(await handle.purge(root, limit)));
  }
  await Promise.all([purge(store, 10), purge(other, 7), purge(store, 13)])
  assert.equal(await left(), '0|0|0|0|0')
  assert.deepEqual(await store.recount([null], null), [])
  assert.equal((await store.tombstones([root]))[0]?.lanes[0]?.total, 30)
  await other.close()
})

test('what gets a child while its purging waits for its lock is left until that is gone', options, async () => {
  const root = await aTree(2, 0)
  const [child] = (await store.list({ parent: root, limit: 1 })).entities
  await outside.query('BEGIN')
  await outside.query('SELECT 1 FROM entity WHERE id = $1 FOR UPDATE', [child!.id])
  const first = store.purge(root, 10)
  await waiting(1)
  // A late commit of whoever has the child: it spawns one of its own.
  await outside.query(
    `INSERT INTO lane (parent, name, machine, counts, total, open, reasons, sums, wake, seen, watches, entered, gate, status, awaited, hidden)
     SELECT $1, name, machine, counts, total, open, reasons, sums, wake, seen, watches, entered, gate, status, awaited, hidden
     FROM lane WHERE id = (SELECT lane FROM entity WHERE id = $1)`,
    [child!.id],
  )
  await outside.query('CREATE TEMPORARY TABLE late AS SELECT * FROM entity WHERE id = $1', [child!.id])
  await outside.query(
    `UPDATE late SET id = nextval('entity_id'), lane = (SELECT id FROM lane WHERE parent = $1), source = $1, ordinal = 0`,
    [child!.id],
  )
  await outside.query('INSERT INTO entity SELECT * FROM late')
  await outside.query('COMMIT')
  assert.equal(await first, false, 'there is more to do')
  assert.notEqual((await store.get([child!.id]))[0], null, 'it has somebody below it')
  while (!(await store.purge(root, 10)));
  assert.equal(await left(), '0|0|0|0|0')
})

test('a move that waits for the root while it is marked comes too late', options, async () => {
  const root = await aTree(3, 0)
  const [verdict] = await store.create('alike', [aBirth({ machine: 'shipment', state: 'done' })])
  const alike = verdict?.kind === 'saved' ? verdict.id : 0
  const [entity, before] = await store.get([root, alike])
  const reopening = { state: 'filled', generation: 1, wait: { for: 'nothing' } } as const
  // From then on this process knows all names of such a move, and need not begin anew to learn them.
  assert.deepEqual(await store.commit('alike', [aMove(before!, reopening)]), [{ kind: 'saved' }])
  await outside.query('BEGIN')
  await outside.query('SELECT 1 FROM entity WHERE id = $1 FOR UPDATE', [root])
  const other = postgresStore({ url })
  const purged = other.purge(root, 1)
  await waiting(1)
  const reopened = store.commit('reopen', [aMove(entity!, reopening)])
  await waiting(2)
  await outside.query('COMMIT')
  assert.equal(await purged, false)
  assert.deepEqual(await reopened, [{ kind: 'stale' }])
  while (!(await store.purge(root, 10)));
  assert.equal(await left(), '1|0|0|0|0')
  await other.close()
})

/** Until so many wait for a lock. */
async function waiting(count: number): Promise<void> {
  for (let tries = 0; tries < 1_000; tries += 1) {
    const found = await server.psql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'", url)
    if (Number(found) >= count) return
  }
  assert.fail(`nobody waits for a lock`)
}
