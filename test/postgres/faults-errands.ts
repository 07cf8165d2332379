import assert from 'node:assert/strict'
import type { Entity } from '../../src/entity.ts'
import type { ClaimRun, CreateVerdict, Move, Store, Verdict } from '../../src/store.ts'
import {
  aBirth,
  aChange,
  aMove,
  aRun,
  aWorker,
  parcelMachine,
  shipmentMachine,
  someChildren,
  waitForChildren,
} from '../../src/testing/builders.ts'

/** Something that is asked of a store whose connection may be lost, and how one finds out that it was done exactly once. */
export interface Errand<Ready, Answer> {
  readonly name: string
  /** What must be there before, by a store that loses nothing, or by the one that is about to lose something. */
  prepare(near: Store, operation: string, far: Store): Promise<Ready>
  send(far: Store, ready: Ready, operation: string): Promise<Answer>
  /** Asks again, as whoever lost the answer does, and looks at what is there. */
  conclude(end: Conclusion<Ready, Answer>): Promise<void>
}

export interface Conclusion<Ready, Answer> {
  readonly far: Store
  readonly near: Store
  readonly ready: Ready
  readonly operation: string
  /** Null: it was lost. */
  readonly answer: Answer | null
}

const leaseMs = 600_000
const runs = [aRun(), aRun({ state: 'working' })]

async function created(store: Store, operation: string, births: Parameters<Store['create']>[1]) {
  const verdicts = await store.create(operation, births)
  return store.get(verdicts.map((verdict) => (verdict.kind === 'refused' ? 0 : verdict.id))) as Promise<
    readonly Entity[]
  >
}

/** Parcels that a worker of their own has begun. */
async function claimed(
  store: Store,
  operation: string,
  count: number,
  claimer = store,
): Promise<{ worker: number; parcels: readonly Entity[] }> {
  await store.define([parcelMachine, shipmentMachine])
  await created(
    store,
    `${operation}-before`,
    Array.from({ length: count }, () => aBirth({ labels: [operation, null] })),
  )
  const { id: worker } = await store.renew({ id: null, identity: aWorker({ name: operation }), leaseMs })
  const { entities } = await claimer.claim({ worker, runs, limit: 100, bytes: 2 ** 30 })
  assert.equal(entities.length, count)
  return { worker, parcels: entities }
}

async function movesOf(store: Store, id: number): Promise<readonly string[]> {
  const { moves } = await store.events({ entity: id, afterSeq: 0, limit: 100 })
  return moves.map(({ hops }) => hops.map(({ transition }) => transition).join('+'))
}

const create: Errand<null, readonly CreateVerdict[]> = {
  name: 'create',
  async prepare(near, operation) {
    await near.define([parcelMachine, shipmentMachine])
    await created(near, `${operation}-before`, [aBirth({ key: `${operation}-taken`, state: 'done' })])
    return null
  },
  send: (far, _, operation) => far.create(operation, birthsOf(operation)),
  async conclude({ far, near, operation, answer }) {
    const verdicts = await far.create(operation, birthsOf(operation))
    assert.deepEqual(answer ?? verdicts, verdicts, 'The answer is the same.')
    assert.deepEqual(
      verdicts.map(({ kind }) => kind),
      ['saved', 'saved', 'existing', 'saved'],
    )
    const { entities } = await near.list({ label: { name: 'collection', value: operation }, limit: 100 })
    const ids = verdicts.flatMap((verdict) => (verdict.kind === 'saved' ? verdict.id : []))
    assert.deepEqual(
      entities.map(({ id }) => id),
      ids,
      'Each was made once.',
    )
    // A key that another asks for finds the same one.
    const [again] = await far.create(`${operation}-again`, [aBirth({ key: `${operation}-a` })])
    assert.deepEqual(again, { kind: 'existing', id: ids[0] })
    // Out of the way of the claims of later errands.
    await near.commit(
      `${operation}-after`,
      entities.map((entity) => aMove(entity)),
    )
  },
}

/** In a lane that it knows: all of it goes out at once. */
const createOne: Errand<null, readonly CreateVerdict[]> = {
  name: 'a create of one',
  async prepare(near, operation, far) {
    await near.define([parcelMachine, shipmentMachine])
    await far.create(`${operation}-before`, [aBirth({ state: 'done' })])
    return null
  },
  send: (far, _, operation) => far.create(operation, [aBirth({ labels: [operation, null] })]),
  async conclude({ far, near, operation, answer }) {
    const verdicts = await far.create(operation, [aBirth({ labels: [operation, null] })])
    assert.deepEqual(answer ?? verdicts, verdicts, 'The answer is the same.')
    const { entities } = await near.list({ label: { name: 'collection', value: operation }, limit: 100 })
    assert.deepEqual(
      verdicts,
      entities.map(({ id }) => ({ kind: 'saved', id })),
      'It was made once.',
    )
    await near.commit(
      `${operation}-after`,
      entities.map((entity) => aMove(entity)),
    )
  },
}

const birthsOf = (operation: string) => [
  aBirth({ key: `${operation}-a`, labels: [operation, null] }),
  aBirth({ labels: [operation, null], data: JSON.stringify({ long: 'x'.repeat(500) }) }),
  aBirth({ key: `${operation}-taken`, labels: [operation, null] }),
  aBirth({ key: `${operation}-b`, labels: [operation, null], wait: { for: 'nothing' } }),
]

const alike: Errand<{ readonly parcels: readonly Entity[] }, readonly Verdict[]> = {
  name: 'a commit of moves that are alike',
  prepare: (near, operation) => claimed(near, operation, 3),
  send: (far, { parcels }, operation) =>
    far.commit(
      operation,
      parcels.map((parcel) => aMove(parcel)),
    ),
  async conclude({ far, near, ready: { parcels }, operation, answer }) {
    const verdicts = await far.commit(
      operation,
      parcels.map((parcel) => aMove(parcel)),
    )
    assert.deepEqual(answer ?? verdicts, verdicts, 'The answer is the same.')
    assert.deepEqual(verdicts, [{ kind: 'saved' }, { kind: 'saved' }, { kind: 'saved' }])
    for (const { id, seq } of parcels) {
      const [entity] = await near.get([id])
      assert.deepEqual([entity?.state, entity?.seq, entity?.owner], ['done', seq + 1, null])
      assert.deepEqual(await movesOf(near, id), ['start', 'to_done'])
    }
    // Under another name it is another order, and comes too late.
    const late = await far.commit(
      `${operation}-late`,
      parcels.map((parcel) => aMove(parcel)),
    )
    assert.deepEqual(late, [{ kind: 'stale' }, { kind: 'stale' }, { kind: 'stale' }])
  },
}

/** Claimed by the same process as roots of one machine: all of it goes out at once. */
const sealed: typeof alike = {
  ...alike,
  name: 'a commit of roots that are alike',
  prepare: (near, operation, far) => claimed(near, operation, 3, far),
}

interface Mixture {
  readonly moves: readonly Move[]
  readonly parent: number
  readonly parcels: readonly Entity[]
  readonly pool: string
}

const mixed: Errand<Mixture, readonly Verdict[]> = {
  name: 'a commit of all kinds',
  async prepare(near, operation) {
    const { parcels } = await claimed(near, operation, 4)
    const [first, second, third, fourth] = parcels as [Entity, Entity, Entity, Entity]
    const [parent] = (await created(near, `${operation}-parent`, [
      aBirth({ machine: 'shipment', state: 'open', labels: [null], wait: { for: 'nothing' } }),
    ])) as [Entity]
    const pool = `disk-${operation}`
    const children = someChildren(parent, 3, { state: 'done' }).map((child, index) =>
      index === 0 ? { ...child, key: `${operation}-child` } : child,
    )
    const moves = [
      aMove(first, { takes: [{ pool, amount: 2, ceiling: 2 }], data: '{"kept":true}', sums: { bytes: 7 } }),
      aMove(second, { takes: [{ pool, amount: 1, ceiling: 2 }] }),
      aMove(third, { seq: third.seq + 5 }),
      aMove(fourth, { state: 'failed', cause: 'fail', reason: 'torn', error: 'The paper tore.' }),
      aMove(parent, { state: 'filled', wait: waitForChildren, children, spawned: 3 }),
    ]
    return { moves, parent: parent.id, parcels, pool }
  },
  send: (far, { moves }, operation) => far.commit(operation, moves),
  async conclude({ far, near, ready: { moves, parent, parcels, pool }, operation, answer }) {
    const verdicts = await far.commit(operation, moves)
    assert.deepEqual(answer ?? verdicts, verdicts, 'The answer is the same.')
    assert.deepEqual(
      verdicts.map(({ kind }) => kind),
      ['saved', 'full', 'stale', 'saved', 'saved'],
    )
    assert.deepEqual(
      (await near.pools([pool])).map(({ taken }) => taken),
      [2],
    )
    const children = (await near.list({ parent, limit: 100 })).entities
    assert.deepEqual(
      children.map(({ ordinal }) => ordinal),
      [0, 1, 2],
    )
    const [lane] = await near.lanes([parent])
    assert.deepEqual([lane?.total, lane?.open, lane?.counts], [3, 0, { done: 3 }])
    assert.deepEqual(await near.recount([parent], null), [])
    const states = (await near.get([...parcels.map(({ id }) => id), parent])).map((entity) => entity?.state)
    assert.deepEqual(states, ['done', 'working', 'working', 'failed', 'filled'])
    assert.deepEqual(await movesOf(near, parent), ['to_filled'])
    assert.deepEqual(await movesOf(near, parcels[0]!.id), ['start', 'to_done'])
    const [, second, third] = parcels as [Entity, Entity, Entity]
    const [full] = await near.get([parent])
    const rest = [aMove(second), aMove(third), aChange(full!, { wait: { for: 'nothing' } })]
    assert.deepEqual(
      (await far.commit(`${operation}-rest`, rest)).map(({ kind }) => kind),
      ['saved', 'saved', 'saved'],
    )
  },
}

interface Claimable {
  readonly worker: number
  readonly ids: readonly number[]
}

async function claimable(near: Store, operation: string, state = 'ready'): Promise<Claimable> {
  await near.define([parcelMachine, shipmentMachine])
  const births = Array.from({ length: 3 }, () => aBirth({ labels: [operation, null], state }))
  const parcels = await created(near, `${operation}-before`, births)
  const { id: worker } = await near.renew({ id: null, identity: aWorker({ name: operation }), leaseMs })
  return { worker, ids: parcels.map(({ id }) => id) }
}

const claimOf = (runs: readonly ClaimRun[], moves: readonly string[]): Errand<Claimable, readonly Entity[]> => ({
  name: 'a claim',
  prepare: (near, operation) => claimable(near, operation),
  send: async (far, { worker }) => (await far.claim({ worker, runs, limit: 100, bytes: 2 ** 20 })).entities,
  async conclude({ far, near, ready: { worker, ids }, operation, answer }) {
    const known = answer ?? []
    const before = await near.get(ids)
    const unknown = before.filter((entity) => entity?.owner === worker && !known.some(({ id }) => id === entity.id))
    const given = await far.release({ kind: 'all_but', worker, keep: known.map(({ id }) => id) })
    assert.deepEqual(
      [...given].sort(byNumber),
      unknown.map((entity) => entity!.id).sort(byNumber),
      'What it does not know of goes back.',
    )
    const { entities: rest } = await far.claim({ worker, runs, limit: 100, bytes: 2 ** 20 })
    const held = [...known, ...rest].sort((one, other) => one.id - other.id)
    assert.deepEqual(
      held.map(({ id }) => id),
      ids,
      'In the end it has all of them, each once.',
    )
    for (const [index, entity] of held.entries()) {
      assert.equal(entity.attempts, 1, 'An attempt that never began does not count.')
      const isGivenBack = given.includes(entity.id)
      const epoch = before[index]!.epoch
      if (isGivenBack) assert.ok(entity.epoch > epoch, `Epoch ${entity.epoch} was given before.`)
      assert.deepEqual(await movesOf(near, entity.id), moves)
    }
    const verdicts = await far.commit(
      operation,
      held.map((entity) => aMove(entity)),
    )
    assert.deepEqual(
      verdicts.map(({ kind }) => kind),
      ['saved', 'saved', 'saved'],
    )
    // Whoever still believes in the lost claim comes too late.
    const late = before.flatMap((entity) => (entity && entity.owner === worker ? aMove(entity) : []))
    const refused = await far.commit(`${operation}-late`, late)
    assert.ok(refused.every(({ kind }) => kind === 'stale'))
    assert.deepEqual(await far.release({ kind: 'retire', worker }), [])
  },
})

const claim = claimOf(runs, ['start'])

/** As the one before it, of roots that wait for nothing but a worker: all of it goes out at once. */
const plainRuns = [aRun({ state: 'packed', hops: [] })]
const plainClaim: typeof claim = {
  ...claimOf(plainRuns, []),
  name: 'a claim like the one before',
  async prepare(near, operation, far) {
    await near.define([parcelMachine, shipmentMachine])
    const [before] = await created(near, `${operation}-first`, [aBirth({ state: 'packed' })])
    const { id: worker } = await near.renew({ id: null, identity: aWorker({ name: `${operation}-first` }), leaseMs })
    const { entities } = await far.claim({ worker, runs: plainRuns, limit: 100, bytes: 2 ** 20 })
    assert.deepEqual(
      entities.map(({ id }) => id),
      [before!.id],
    )
    await near.commit(`${operation}-first-done`, [aMove(entities[0]!)])
    await near.release({ kind: 'retire', worker })
    return claimable(near, operation, 'packed')
  },
}

/** While a worker of the same process waits for it: made and leased at once. */
const createFor: Errand<{ readonly worker: number }, readonly CreateVerdict[]> = {
  name: 'a create for a worker that waits',
  async prepare(near, operation, far) {
    await near.define([parcelMachine, shipmentMachine])
    const { id: worker } = await near.renew({ id: null, identity: aWorker({ name: operation }), leaseMs })
    const asked = { worker, runs: plainRuns, limit: 100, bytes: 2 ** 20, awaits: true }
    // The first claim learns, if none has before; the last one finds nobody, and waits.
    await far.create(`${operation}-first`, [aBirth({ state: 'packed' })])
    const { entities } = await far.claim(asked)
    await near.commit(
      `${operation}-first-done`,
      entities.map((entity) => aMove(entity)),
    )
    assert.deepEqual((await far.claim(asked)).entities, [])
    return { worker }
  },
  send: (far, _, operation) => far.create(operation, [aBirth({ labels: [operation, null], state: 'packed' })]),
  async conclude({ far, near, ready: { worker }, operation, answer }) {
    const verdicts = await far.create(operation, [aBirth({ labels: [operation, null], state: 'packed' })])
    assert.deepEqual(answer ?? verdicts, verdicts, 'The answer is the same.')
    const { entities } = await near.list({ label: { name: 'collection', value: operation }, limit: 100 })
    assert.deepEqual(
      verdicts,
      entities.map(({ id }) => ({ kind: 'saved', id })),
      'It was made once.',
    )
    const asked = { worker, runs: plainRuns, limit: 100, bytes: 2 ** 20, awaits: true }
    // As a worker does: after a claim that failed it gives back what it does not know of.
    const claimed = await far.claim(asked).catch(async () => {
      await far.release({ kind: 'all_but', worker, keep: [] })
      return far.claim(asked)
    })
    // Given back meanwhile, if nobody came for it in time.
    const held = claimed.entities.length > 0 ? claimed.entities : (await far.claim(asked)).entities
    assert.deepEqual(
      held.map(({ id, attempts }) => ({ id, attempts })),
      entities.map(({ id }) => ({ id, attempts: 1 })),
      'In the end it has it.',
    )
    assert.deepEqual(await far.commit(`${operation}-done`, [aMove(held[0]!)]), [{ kind: 'saved' }])
    assert.deepEqual(await far.release({ kind: 'retire', worker }), [])
  },
}

function byNumber(one: number, other: number): number {
  return one - other
}

// Each is whole in itself: what it makes ready is what it sends.
export const errands = [
  create,
  createOne,
  alike,
  sealed,
  mixed,
  claim,
  plainClaim,
  createFor,
] as unknown as readonly Errand<unknown, unknown>[]
