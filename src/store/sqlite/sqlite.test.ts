import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { sleep, systemClock } from '../../clock.ts'
import type { Entity } from '../../entity.ts'
import type { Limits } from '../../limits.ts'
import type { Birth, ChildBirth, ClaimRun, Move, Signal } from '../../store.ts'
import { aMove } from '../../testing/builders.ts'
import { type SqliteStore, sqliteStore } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-sqlite-'))
after(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const newFile = (): string => {
  files += 1
  return join(folder, `${files}.db`)
}

async function opened(file = newFile(), limits: Partial<Limits> = {}): Promise<SqliteStore> {
  const store = sqliteStore({ file, limits })
  await store.migrate()
  await store.define([{ name: 'm', version: 1, digest: 'd', labels: ['collection'], declaration: '{}' }])
  return store
}

const identity = { name: 'w', host: 'h', pid: 1, program: '0', roles: [], machines: ['m@1'] }

function aBirth(changes: Partial<Birth> = {}): Birth {
  const wait = { for: 'run', at: 0 } as const
  const nothing = { reason: null, sums: null, key: null, createdBy: null }
  return {
    machine: 'm',
    version: 1,
    state: 'ready',
    settled: false,
    data: '{}',
    labels: [null],
    priority: 0,
    wait,
    ...nothing,
    ...changes,
  }
}

function someChildren(parent: number, count: number, changes: Partial<ChildBirth> = {}): readonly ChildBirth[] {
  return Array.from({ length: count }, (_, ordinal) => ({
    ...aBirth(),
    parent,
    lane: 'parts',
    ordinal,
    watches: [],
    respawn: null,
    ...changes,
  }))
}

const aRun: ClaimRun = {
  machine: 'm',
  version: 1,
  state: 'ready',
  edge: null,
  hops: [],
  holdable: true,
  limit: 10_000,
  pool: null,
  poolPer: null,
}

async function register(store: SqliteStore): Promise<number> {
  return (await store.renew({ id: null, identity, leaseMs: 60_000 })).id
}

async function claim(store: SqliteStore, worker: number, limit = 1_000): Promise<readonly Entity[]> {
  return (await store.claim({ worker, runs: [aRun], limit, bytes: 2 ** 30 })).entities
}

let operations = 0
async function saved(store: SqliteStore, ...moves: readonly Move[]): Promise<void> {
  operations += 1
  const verdicts = await store.commit(`operation-${operations}`, moves)
  for (const verdict of verdicts) assert.deepEqual(verdict, { kind: 'saved' })
}

/** A parent whose children are written in groups, and are seen at once. */
async function aParent(store: SqliteStore, count: number, changes: Partial<ChildBirth> = {}): Promise<Entity> {
  operations += 1
  const [verdict] = await store.create(`operation-${operations}`, [aBirth({ state: 'open', wait: { for: 'nothing' } })])
  assert.ok(verdict?.kind === 'saved')
  for (let from = 0; from < count; from += 1_000) {
    const [parent] = await store.get([verdict.id])
    const size = Math.min(1_000, count - from)
    const children = someChildren(parent!.id, size, changes).map((child, index) => ({
      ...child,
      ordinal: from + index,
    }))
    await saved(store, aMove(parent!, { by: 'aside', state: 'open', wait: null, attempts: 'stay', children }))
  }
  return (await store.get([verdict.id]))[0]!
}

async function rowsWritten(store: SqliteStore, act: () => Promise<unknown>): Promise<number> {
  const before = store.rowsWritten()
  await act()
  return store.rowsWritten() - before
}

describe('orders over many', () => {
  const count = 5_000

  test('a gate, a rest and a go write the same few rows for five thousand children as for five', async () => {
    const store = await opened()
    const orders: readonly Partial<Move>[] = [
      { opens: ['parts'] },
      { shuts: ['parts'] },
      { lanes: 'rest' },
      { lanes: 'stop' },
      { lanes: 'go' },
    ]
    const costs = []
    for (const children of [5, count]) {
      const parent = await aParent(store, children, { wait: { for: 'run', at: 0, gated: true } })
      const change = { by: 'aside', state: 'open', wait: null, attempts: 'stay' } as const
      const cost = []
      for (const order of orders)
        cost.push(await rowsWritten(store, () => saved(store, aMove(parent, { ...change, ...order }))))
      costs.push(cost)
    }
    assert.deepEqual(costs[0], costs[1])
    assert.ok(Math.max(...costs.flat()) <= 5, `${costs}`)
    await store.close()
  })

  test('a hold writes one row, and what it puts aside is put aside once', async () => {
    const store = await opened(newFile(), { asideMax: 500 })
    for (let from = 0; from < count; from += 1_000) {
      await store.create(
        `held-${from}`,
        Array.from({ length: 1_000 }, () => aBirth({ labels: ['maps'] })),
      )
    }
    await store.create('free', [aBirth({ labels: ['books'], priority: 5 })])
    const worker = await register(store)
    const set = { set: { label: { name: 'collection', value: 'maps' } }, reason: 'r', owner: 'o', until: null }
    const cost = await rowsWritten(store, () => store.holds(set))
    assert.ok(cost <= 3, `${cost} rows`)
    assert.equal((await claim(store, worker)).length, 1, 'it is found behind all that are held')
    assert.ok((await rowsWritten(store, () => claim(store, worker))) <= 2, 'nobody comes across them a second time')
    const [hold] = await store.holds()
    assert.ok((await rowsWritten(store, () => store.holds({ lift: hold!.id }))) <= 3)
    assert.equal((await claim(store, worker)).length, 1_000)
    await store.close()
  })

  test('a lane that is told to rest after its children stand in the shared line lets nobody through', async () => {
    const store = await opened(newFile(), { asideMax: 100 })
    const parent = await aParent(store, 900)
    const worker = await register(store)
    const order = { by: 'aside', state: 'open', wait: null, attempts: 'stay' } as const
    await saved(store, aMove(parent, { ...order, lanes: 'rest' }))
    assert.deepEqual(await claim(store, worker), [])
    await saved(store, aMove(parent, { ...order, lanes: 'go' }))
    assert.equal((await claim(store, worker)).length, 900)
    await store.close()
  })
})

describe('two handles on one file', () => {
  test('each sees what the other did, whatever it remembers', async () => {
    const file = newFile()
    const [one, two] = [await opened(file), await opened(file)]
    const [workerOne, workerTwo] = [await register(one), await register(two)]
    for (let round = 0; round < 20; round += 1) {
      const [here, there] = round % 2 === 0 ? [one, two] : [two, one]
      await here.create(`round-${round}`, [aBirth(), aBirth()])
      const mine = await claim(there, there === one ? workerOne : workerTwo, 1)
      const theirs = await claim(here, here === one ? workerOne : workerTwo, 1)
      assert.equal(new Set([...mine, ...theirs].map(({ id }) => id)).size, 2)
      await saved(here, ...theirs.map((entity) => aMove(entity)))
      await saved(there, ...mine.map((entity) => aMove(entity)))
    }
    for (const store of [one, two]) {
      const [lane] = await store.lanes([null])
      assert.deepEqual([lane!.counts, lane!.open], [{ done: 40 }, 0])
      assert.deepEqual(await store.recount([null], null), [])
    }
    await one.close()
    await two.close()
  })

  test('a signal tells one of what the other did', async () => {
    const file = newFile()
    const [one, two] = [await opened(file), await opened(file)]
    const told: Signal[] = []
    const end = two.signals!((signal) => told.push(signal))
    await one.create('elsewhere', [aBirth()])
    for (let tries = 0; tries < 100 && told.length === 0; tries += 1) await sleep(systemClock(), 20)
    assert.equal(told[0]?.work, true)
    end()
    await one.close()
    await two.close()
  })

  test('ids are not used again after all that had them are gone', async () => {
    const file = newFile()
    const store = await opened(file)
    const [verdict] = await store.create('first', [aBirth({ state: 'done', settled: true, wait: { for: 'nothing' } })])
    assert.ok(verdict?.kind === 'saved')
    assert.equal(await store.purge(verdict.id, 10), true)
    await store.close()
    const again = await opened(file)
    const [next] = await again.create('second', [aBirth()])
    assert.ok(next?.kind === 'saved' && next.id > verdict.id)
    await again.close()
  })
})

describe('purging in groups', () => {
  test('what a purged source had staged for its parent is never seen, however small the groups are', async () => {
    const store = await opened()
    const parent = await aParent(store, 1)
    const change = { by: 'aside', wait: null, attempts: 'stay' } as const
    const [source] = (await store.list({ parent: parent.id, limit: 1 })).entities
    const children = someChildren(parent.id, 3)
    await saved(store, aMove(source!, { ...change, state: 'ready', children, staging: 'stage' }))
    await saved(store, aMove(parent))
    const groups = []
    for (let done = false; !done; ) {
      done = await store.purge(parent.id, 1)
      groups.push((await store.list({ parent: parent.id, limit: 10 })).entities.length)
    }
    assert.deepEqual(groups, [0, 0, 0, 0])
    assert.deepEqual((await store.list({ limit: 10 })).entities, [])
    await store.close()
  })
})

describe('values', () => {
  test('what the database will not have is refused alone; the rest of the group is saved', async () => {
    const store = await opened()
    const verdicts = await store.create('three', [aBirth(), aBirth({ data: {} as string }), aBirth()])
    assert.deepEqual(
      verdicts.map(({ kind }) => kind),
      ['saved', 'refused', 'saved'],
    )
    const worker = await register(store)
    const [first, second] = await claim(store, worker)
    const answer = await store.commit('two', [aMove(first!, { data: {} as string }), aMove(second!)])
    assert.deepEqual(
      answer.map(({ kind }) => kind),
      ['refused', 'saved'],
    )
    assert.deepEqual((await store.get([first!.id]))[0], first)
    assert.deepEqual((await store.lanes([null]))[0]!.counts, { ready: 1, done: 1 })
    assert.equal((await store.events({ after: 0, limit: 100 })).moves.length, 1)
    await store.close()
  })

  test('a store that is closed says so', async () => {
    const store = await opened()
    await store.close()
    await store.close()
    await assert.rejects(store.get([1]), { name: 'SluiceError' })
  })
})
