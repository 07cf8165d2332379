import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import type { Entity } from '../../entity.ts'
import type { ChildBirth, Move, Store } from '../../store.ts'
import {
  aBirth,
  aCheckpoint,
  aChild,
  aMove,
  aRun,
  aWorker,
  hop,
  type ManualClock,
  manualClock,
  parcelMachine,
  shipmentMachine,
  waitForNothing,
} from '../../testing/builders.ts'
import { memoryStore } from '../memory/index.ts'
import { sqliteStore } from './index.ts'

// What is alike is written together in SQLite. The memory store writes one by one, and says what must come of it.

type Told = (store: Store, clock: ManualClock) => Promise<readonly unknown[]>

/** Tells the story on both stores: verdicts, rows, lanes and histories must be the same. */
async function sameOnBoth(story: Told, expected?: readonly unknown[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-alike-'))
  const told: unknown[] = []
  try {
    for (const kind of ['memory', 'sqlite']) {
      const clock = manualClock()
      const store = kind === 'memory' ? memoryStore({ clock }) : sqliteStore({ file: join(folder, 'sluice.db'), clock })
      await store.migrate()
      await store.define([parcelMachine, shipmentMachine])
      try {
        const answers = await story(store, clock)
        const { entities } = await store.list({ limit: 200 })
        const lanes = await store.lanes([null, ...entities.map(({ id }) => id)])
        const histories = await Promise.all(
          entities.map(({ id }) => store.events({ entity: id, afterSeq: 0, limit: 100 })),
        )
        told.push(named({ answers, entities, histories, lanes: lanes.filter(({ total }) => total > 0) }, entities))
      } finally {
        await store.close()
      }
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  assert.deepEqual(told[1], told[0])
  if (expected) assert.deepEqual((told[1] as { answers: readonly unknown[] }).answers, expected)
}

/** Stores may leave gaps between ids: each is known by its place in the list. */
function named(told: unknown, entities: readonly Entity[]): unknown {
  const places = new Map(entities.map(({ id }, place) => [id, place]))
  const isName = (key: string) => ['id', 'entity', 'entityId', 'parent', 'source'].includes(key)
  const text = JSON.stringify(told, (key, value) =>
    isName(key) && places.has(value) ? `#${places.get(value)}` : value,
  )
  return JSON.parse(text)
}

async function claimed(store: Store, count: number): Promise<readonly Entity[]> {
  await store.create(
    'create',
    Array.from({ length: count }, () => aBirth()),
  )
  const { id: worker } = await store.renew({ id: null, identity: aWorker(), leaseMs: 60_000 })
  const { entities } = await store.claim({ worker, runs: [aRun()], limit: count, bytes: 2 ** 20 })
  assert.equal(entities.length, count)
  return entities
}

const verdicts = async (store: Store, operation: string, moves: readonly Move[]) =>
  (await store.commit(operation, moves)).map(({ kind }) => kind)

suite('moves alike', () => {
  test('some with data, some without, some with a shape of their own', () =>
    sameOnBoth(async (store) => {
      const entities = await claimed(store, 12)
      return verdicts(
        store,
        'commit',
        entities.map((entity, index) =>
          aMove(entity, {
            data: index % 3 === 0 ? `{"number":${index}}` : null,
            ...(index % 5 === 4 ? { state: 'failed', reason: 'torn' } : {}),
            ...(index === 7 ? { state: 'ready', wait: { for: 'run', at: 0 } } : {}),
          }),
        ),
      )
    }))

  test('again after moves from outside, with new data', () =>
    sameOnBoth(async (store) => {
      const entities = await claimed(store, 8)
      const parked = entities.map((entity) =>
        aMove(entity, { by: 'outside', state: 'parked', settled: false, wait: waitForNothing }),
      )
      const answers = [...(await verdicts(store, 'park', parked))]
      const now = (await store.get(entities.map(({ id }) => id))).filter((entity) => entity !== null)
      const again = now.map((entity, index) =>
        aMove(entity, { state: 'ready', wait: { for: 'run', at: 0 }, data: index % 2 ? `[${index}]` : null }),
      )
      answers.push(...(await verdicts(store, 'again', again)))
      // What was proven by the lease is stale now, for all of them.
      return [
        ...answers,
        ...(await verdicts(
          store,
          'late',
          entities.map((entity) => aMove(entity)),
        )),
      ]
    }))

  test('one of many whose lease is over is stale, and the others are saved', async () => {
    const story: Told = async (store) => {
      const entities = await claimed(store, 6)
      await store.release({ kind: 'timed_out', leases: [entities[2]!], error: 'late' })
      return verdicts(
        store,
        'commit',
        entities.map((entity) => aMove(entity)),
      )
    }
    await sameOnBoth(story, ['saved', 'saved', 'stale', 'saved', 'saved', 'saved'])
  })

  test('one of many that was moved by another worker meanwhile is stale', () =>
    sameOnBoth(async (store) => {
      const entities = await claimed(store, 6)
      await store.release({ kind: 'timed_out', leases: [entities[0]!], error: 'late' })
      const { id: worker } = await store.renew({ id: null, identity: aWorker(), leaseMs: 60_000 })
      await store.claim({ worker, runs: [aRun()], limit: 1, bytes: 2 ** 20 })
      return verdicts(
        store,
        'commit',
        entities.map((entity) => aMove(entity)),
      )
    }))

  test('a suspect that is moved from outside with others stays one', () =>
    sameOnBoth(async (store, clock) => {
      // All of them die with their worker: none of them is above suspicion.
      const entities = await claimed(store, 5)
      clock.advance(60_000)
      await store.release({ kind: 'dead' })
      await store.create('innocent', [aBirth()])
      const now = (await store.get(entities.map(({ id }) => id))).filter((entity) => entity !== null)
      const again = now.map((entity) => aMove(entity, { by: 'outside', state: 'ready', wait: { for: 'run', at: 0 } }))
      const answers = await verdicts(store, 'again', again)
      const { id: worker } = await store.renew({ id: null, identity: aWorker(), leaseMs: 60_000 })
      const { entities: next } = await store.claim({ worker, runs: [aRun()], limit: 10, bytes: 2 ** 20 })
      return [...answers, ...next.map(({ id, suspect }) => `${id} ${suspect}`)]
    }))
})

suite('the feed of a commit', () => {
  for (const other of [0, 3, 7]) {
    test(`tells of moves in their order, though all but number ${other} are alike`, () =>
      sameOnBoth(async (store) => {
        const entities = await claimed(store, 8)
        const moves = entities.map((entity, index) =>
          index === other ? aMove(entity, { state: 'failed', reason: 'torn' }) : aMove(entity, { data: `[${index}]` }),
        )
        const answers = await verdicts(store, 'commit', moves)
        const page = await store.events({ after: 0, limit: 1_000 })
        const told = page.moves.map(({ entity }) => entities.findIndex(({ id }) => id === entity))
        return [...answers, told.slice(-8).join()]
      }))
  }
})

suite('children alike', () => {
  const plain: Partial<ChildBirth> = { data: '1' }
  const labelled: Partial<ChildBirth> = { labels: ['maps', null], data: '2' }
  const failed: Partial<ChildBirth> = { state: 'failed', reason: 'torn' }
  const respawned: Partial<ChildBirth> = {
    data: '3',
    respawn: { from: ['failed'], transition: 'retry', to: 'ready', wait: { for: 'run', at: 0 } },
  }

  async function parent(store: Store): Promise<Entity> {
    const [entity] = await claimed(store, 1)
    return entity!
  }

  /** The children that a parent's move makes, in the order of these ordinals and kinds. */
  const litter = (parent: Entity, kinds: readonly (readonly [number, Partial<ChildBirth>])[]) =>
    kinds.map(([ordinal, changes]) => aChild(parent, ordinal, changes))

  const fifty = Array.from({ length: 50 }, (_, ordinal) => [ordinal, plain] as const)
  const many = Array.from({ length: 547 }, (_, ordinal) => [ordinal, { data: `${ordinal}` }] as const)
  const long = Array.from(
    { length: 9 },
    (_, ordinal) => [ordinal, { data: `"${'x'.repeat(60_000)}${ordinal}"` }] as const,
  )

  for (const [what, kinds] of [
    ['more than are written at once', many],
    ['more characters than are written at once', long],
    [
      'plain and not plain in turn',
      [0, 1, 2, 3, 4, 5].map((ordinal) => [ordinal, ordinal % 2 ? labelled : plain] as const),
    ],
    ['one that differs among many', fifty.map(([ordinal, kind]) => [ordinal, ordinal === 17 ? failed : kind] as const)],
    [
      'the same ordinal twice',
      [
        [0, plain],
        [1, plain],
        [1, { data: '"other"' }],
        [2, plain],
      ],
    ],
    [
      'the same ordinal twice, plain and not',
      [
        [0, labelled],
        [0, plain],
        [1, plain],
        [1, labelled],
      ],
    ],
    [
      'ordinals in any order',
      [
        [9, plain],
        [2, plain],
        [5, plain],
      ],
    ],
  ] as const satisfies readonly (readonly [string, readonly (readonly [number, Partial<ChildBirth>])[]])[]) {
    test(`${what}: seen at once`, () =>
      sameOnBoth(async (store) => {
        const source = await parent(store)
        return verdicts(store, 'spawn', [aMove(source, { children: litter(source, kinds), spawned: 50 })])
      }))

    test(`${what}: staged, and published`, () =>
      sameOnBoth(async (store) => {
        const source = await parent(store)
        const staged = aCheckpoint(source, { children: litter(source, kinds), staging: 'stage' })
        const answers = await verdicts(store, 'stage', [staged])
        return [...answers, ...(await verdicts(store, 'publish', [aMove(source, { staging: 'publish', spawned: 40 })]))]
      }))

    test(`${what}: staged twice, and published`, () =>
      sameOnBoth(async (store) => {
        const source = await parent(store)
        const answers: unknown[] = []
        for (const operation of ['one', 'two']) {
          const staged = aCheckpoint(source, { children: litter(source, kinds), staging: 'stage' })
          answers.push(...(await verdicts(store, operation, [staged])))
        }
        return [...answers, ...(await verdicts(store, 'publish', [aMove(source, { staging: 'publish', spawned: 40 })]))]
      }))
  }

  test('some of the generation before are reopened between new ones', () =>
    sameOnBoth(async (store) => {
      const source = await parent(store)
      const first = litter(source, [
        [1, { ...respawned, ...failed }],
        [3, { ...respawned, ...failed }],
        [4, plain],
      ])
      const answers = await verdicts(store, 'first', [aMove(source, { children: first, spawned: 5, state: 'ready' })])
      const [again] = await store.get([source.id])
      const second = litter(
        again!,
        [0, 1, 2, 3, 4, 5].map((ordinal) => [ordinal, respawned] as const),
      )
      const reopening = aMove(again!, {
        children: second,
        spawned: 6,
        generation: 1,
        state: 'filled',
        hops: [hop('ready', 'filled')],
      })
      return [...answers, ...(await verdicts(store, 'second', [reopening]))]
    }))
})

suite('many sources in one commit', () => {
  const spawning = (entity: Entity, count: number, changes: Partial<ChildBirth> = {}) =>
    aMove(entity, {
      children: Array.from({ length: count }, (_, ordinal) => aChild(entity, ordinal, changes)),
      spawned: count,
    })

  test('each spawns one, none or several', () =>
    sameOnBoth(async (store) => {
      const entities = await claimed(store, 30)
      return verdicts(
        store,
        'commit',
        entities.map((entity, index) => spawning(entity, index % 4, { data: `${index}` })),
      )
    }))

  test('whoever is created afterwards has a number of its own', () =>
    sameOnBoth(async (store) => {
      const entities = await claimed(store, 6)
      const answers = await verdicts(
        store,
        'commit',
        entities.map((entity) => spawning(entity, 2)),
      )
      const created = await store.create('later', [aBirth(), aBirth()])
      return [...answers, ...created.map(({ kind }) => kind)]
    }))

  test('some have spawned before: what exists is left alone or reopened', () =>
    sameOnBoth(async (store) => {
      const entities = await claimed(store, 8)
      const first = entities.map((entity, index) => ({
        ...spawning(entity, index % 2, { state: 'failed', settled: true, reason: 'torn' }),
        state: 'ready',
        settled: false,
        wait: { for: 'run', at: 0 } as const,
      }))
      const answers = [...(await verdicts(store, 'first', first))]
      const { id: worker } = await store.renew({ id: null, identity: aWorker(), leaseMs: 60_000 })
      const { entities: again } = await store.claim({ worker, runs: [aRun()], limit: 8, bytes: 2 ** 20 })
      const respawn = { from: ['failed'], transition: 'retry', to: 'ready', wait: { for: 'run', at: 0 } } as const
      return [
        ...answers,
        ...(await verdicts(
          store,
          'second',
          again.map((entity) => spawning(entity, 2, { respawn, data: '"new"' })),
        )),
      ]
    }))

  test('some have children staged by an attempt before, which give way', () =>
    sameOnBoth(async (store) => {
      const entities = await claimed(store, 6)
      const staged = entities
        .slice(0, 3)
        .map((entity) => aCheckpoint(entity, { children: spawning(entity, 3).children, staging: 'stage' }))
      const answers = await verdicts(store, 'stage', staged)
      return [
        ...answers,
        ...(await verdicts(
          store,
          'commit',
          entities.map((entity, index) => ({
            ...spawning(entity, 2, { data: '"new"' }),
            staging: index < 3 ? ('publish' as const) : ('none' as const),
          })),
        )),
      ]
    }))

  test('one of them is stale, one names a parent that is not there, one has a child with a key that is taken', () =>
    sameOnBoth(async (store) => {
      const entities = await claimed(store, 8)
      await store.create('keyed', [aBirth({ key: 'taken' })])
      await store.release({ kind: 'timed_out', leases: [entities[1]!], error: 'late' })
      return verdicts(
        store,
        'commit',
        entities.map((entity, index) =>
          spawning(entity, 2, index === 3 ? { parent: 99_999 } : index === 5 ? { key: 'taken' } : {}),
        ),
      )
    }))

  test('sums of their own, with and without data and children', () =>
    sameOnBoth(async (store) => {
      const entities = await claimed(store, 20)
      return verdicts(
        store,
        'commit',
        entities.map((entity, index) => ({
          ...spawning(entity, index % 3 === 0 ? 1 : 0),
          data: index % 2 === 0 ? `[${index}]` : null,
          ...(index % 5 === 0 ? {} : { sums: { records: index, ...(index % 7 === 0 ? { errors: 1 } : {}) } }),
        })),
      )
    }))
})
