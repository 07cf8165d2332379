import assert from 'node:assert/strict'
import { rootLane } from '../../entity.ts'
import { aBirth, aMove, parcelMachine, runNow } from '../builders.ts'
import type { Tell } from './story.ts'
import { conflict } from './story.ts'

/** Roots come into being once per key, and machines mean one thing per version. */
export function create(tell: Tell): void {
  tell('a root is born as it was decided', async (story) => {
    const birth = aBirth({
      state: 'packed',
      data: '{"a":1}',
      labels: ['maps', 'ann'],
      priority: -2,
      wait: { for: 'time', at: 5 },
      reason: 'gift',
      sums: { bytes: 3 },
      key: 'k',
      createdBy: 'ada',
    })
    const entity = await story.create(birth)
    const now = story.store.time()
    assert.deepEqual(entity, {
      id: entity.id,
      machine: 'parcel',
      version: 1,
      state: 'packed',
      born: 'packed',
      seq: 0,
      epoch: 0,
      generation: 0,
      settled: false,
      attempts: 0,
      suspect: 0,
      parent: null,
      lane: rootLane('parcel', 1),
      source: null,
      ordinal: null,
      labels: ['maps', 'ann'],
      priority: -2,
      data: '{"a":1}',
      wait: { for: 'time', at: 5 },
      request: null,
      owner: null,
      stopped: false,
      spawned: 0,
      checkpoint: null,
      progress: null,
      reason: 'gift',
      sums: { bytes: 3 },
      error: null,
      key: 'k',
      createdAt: now,
      createdBy: 'ada',
      changedAt: now,
    })
  })

  tell('ids grow in the order of the births', async (story) => {
    const entities = await story.createMany(20)
    const later = await story.create()
    const ids = [...entities, later].map((entity) => entity.id)
    assert.deepEqual(
      ids,
      [...new Set(ids)].sort((a, b) => a - b),
    )
  })

  tell('a key that is taken answers existing with the entity that has it', async (story) => {
    const first = await story.create({ key: 'k', data: '1' })
    assert.deepEqual(await story.store.create('second', [aBirth({ key: 'k', data: '2' })]), [
      { kind: 'existing', id: first.id },
    ])
    assert.equal((await story.get(first.id)).data, '1')
    await story.saved(aMove(first))
    assert.deepEqual(
      await story.store.create('third', [aBirth({ key: 'k' })]),
      [{ kind: 'existing', id: first.id }],
      'for ever',
    )
    assert.equal((await story.lane(null, rootLane('parcel', 1))).total, 1)
  })

  tell('a key twice in one create is one entity', async (story) => {
    const [first, second] = await story.store.create('twice', [aBirth({ key: 'k' }), aBirth({ key: 'k' })])
    assert.ok(first?.kind === 'saved')
    assert.deepEqual(second, { kind: 'existing', id: first.id })
  })

  tell('two processes that race for a key get one entity', async (story) => {
    const other = await story.reopen()
    for (let round = 0; round < 5; round += 1) {
      const births = [aBirth({ key: `race-${round}` })]
      const [mine, theirs] = await Promise.all([
        story.store.create(`mine-${round}`, births),
        other.create(`theirs-${round}`, births),
      ])
      assert.deepEqual([mine[0]?.kind, theirs[0]?.kind].sort(), ['existing', 'saved'])
      assert.ok(mine[0]?.kind !== 'refused' && theirs[0]?.kind !== 'refused')
      assert.equal(mine[0]?.id, theirs[0]?.id)
    }
  })

  tell(
    'data beyond the limit is refused, its neighbours are saved',
    async (story) => {
      const births = [aBirth(), aBirth({ data: JSON.stringify('é'.repeat(50)), key: 'k' }), aBirth()]
      const verdicts = await story.store.create('mixed', births)
      assert.deepEqual(
        verdicts.map((verdict) => verdict.kind),
        ['saved', 'refused', 'saved'],
      )
      assert.equal((await story.store.list({ limit: 10 })).entities.length, 2)
      const [again] = await story.store.create('smaller', [aBirth({ key: 'k' })])
      assert.equal(again?.kind, 'saved', 'a refused birth takes no key')
    },
    { dataBytesMax: 100 },
  )

  tell('nothing created is an empty answer', async (story) => {
    assert.deepEqual(await story.store.create('none', []), [])
  })

  tell('a created entity is durable', async (story) => {
    const entity = await story.create({ key: 'k' })
    assert.deepEqual(await (await story.reopen()).get([entity.id]), [entity])
  })

  tell('a machine may be made known again, and in another version', async (story) => {
    await story.store.define([parcelMachine])
    await story.store.define([{ ...parcelMachine, version: 2, digest: 'parcel-2' }])
    await (await story.reopen()).define([parcelMachine])
  })

  tell('another digest under a known version is refused, naming the machine', async (story) => {
    const changed = { ...parcelMachine, digest: 'changed' }
    await assert.rejects(story.store.define([changed]), { ...conflict, message: /parcel/ })
    await assert.rejects((await story.reopen()).define([changed]), conflict)
    await story.store.define([parcelMachine])
  })

  tell('making the tables again keeps what is there', async (story) => {
    const entity = await story.create({ wait: runNow })
    await story.store.migrate()
    assert.deepEqual(await story.get(entity.id), entity)
  })
}
