import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Entity } from '../../src/entity.ts'
import type { MoveRecord } from '../../src/event.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { Store } from '../../src/store.ts'
import {
  aBirth,
  aMove,
  aRun,
  aWorker,
  hop,
  parcelMachine,
  shipmentMachine,
  someChildren,
  waitForChildren,
} from '../../src/testing/builders.ts'
import { CuttingProxy } from './proxy.ts'
import { type PostgresServer, skipOwn, startPostgres } from './server.ts'

/** Two processes at the same moment, one of them held up in the middle of its transaction. */
describe('whoever is held up', { skip: skipOwn, timeout: 60_000 }, () => {
  let server: PostgresServer
  let url: string
  let proxy: CuttingProxy
  let near: Store
  let far: Store
  let worker: number
  let rounds = 0

  before(async () => {
    // The feed shows what is older than the oldest transaction of the whole server: here nobody else has one.
    server = await startPostgres({ own: true, settings: { autovacuum: 'off' } })
    url = await server.database()
    proxy = await CuttingProxy.start(server.port)
    near = postgresStore({ url, connectionsMax: 2 })
    far = postgresStore({ url: proxy.through(url), connectionsMax: 1 })
    await near.migrate()
    await near.define([parcelMachine, shipmentMachine])
    await far.migrate()
    worker = (await far.renew({ id: null, identity: aWorker(), leaseMs: 600_000 })).id
    // All names are known from here on: nothing is begun anew for their sake.
    await makeWay(await ready())
    await claim()
    await finish()
  })
  after(async () => {
    await far?.close()
    await near?.close()
    await proxy?.[Symbol.asyncDispose]()
    await server?.close()
  })

  interface Ready {
    readonly parent: Entity
    readonly parked: Entity
  }

  /** A parent with two children behind a shut gate, and a parcel that waits for nothing. */
  async function ready(): Promise<Ready> {
    rounds += 1
    const [open, parked] = await created(`round-${rounds}`, [
      aBirth({ machine: 'shipment', state: 'open', labels: [null], wait: { for: 'nothing' } }),
      aBirth({ state: 'parked', wait: { for: 'nothing' } }),
    ])
    const children = someChildren(open!, 2, { wait: { for: 'run', at: 0, gated: true } })
    await saved(aMove(open!, { state: 'filled', wait: waitForChildren, children, spawned: 2 }))
    const [parent] = await near.get([open!.id])
    return { parent: parent!, parked: parked! }
  }

  async function created(operation: string, births: Parameters<Store['create']>[1]): Promise<readonly Entity[]> {
    const verdicts = await near.create(operation, births)
    return (await near.get(verdicts.map((verdict) => (verdict.kind === 'saved' ? verdict.id : 0)))) as readonly Entity[]
  }

  async function saved(...moves: Parameters<Store['commit']>[1]): Promise<void> {
    rounds += 1
    const verdicts = await near.commit(`move-${rounds}`, moves)
    assert.deepEqual(new Set(verdicts.map(({ kind }) => kind)), new Set(['saved']))
  }

  /** The gate opens, and the parcel may run. */
  function makeWay({ parent, parked }: Ready): Promise<void> {
    const open = { hops: [hop('filled', 'opened', 'open')], state: 'opened', wait: waitForChildren, opens: ['parcels'] }
    return saved(aMove(parent, open), aMove(parked, { state: 'ready' }))
  }

  async function claim(): Promise<readonly Entity[]> {
    return (await far.claim({ worker, runs: [aRun()], limit: 10, bytes: 2 ** 30 })).entities
  }

  async function finish(): Promise<void> {
    const { entities } = await near.list({ machine: 'parcel', states: ['working'], limit: 100 })
    // Under a parent that was cancelled nothing is finished any more.
    await saved(...entities.filter(({ stopped }) => !stopped).map((entity) => aMove(entity)))
  }

  /** Claims while the way is made: behind each statement of the claim in turn. */
  async function claimHeldBehind(text: string): Promise<{ readonly ready: Ready; readonly held: readonly Entity[] }> {
    const story = await ready()
    await proxy.hangUp()
    const hold = proxy.holdBehind(text)
    const claiming = claim()
    await hold.held
    await makeWay(story)
    hold.resume()
    return { ready: story, held: await claiming }
  }

  async function positionOfFeed(): Promise<number> {
    for (let after = 0; ; ) {
      const { position } = await near.events({ after, limit: 1_000 })
      if (position === after) return after
      after = position
    }
  }

  async function feed(): Promise<readonly MoveRecord[]> {
    const all: MoveRecord[] = []
    for (let after = 0; ; ) {
      const { moves, position } = await near.events({ after, limit: 1_000 })
      all.push(...moves)
      if (position === after) return all
      after = position
    }
  }

  for (const text of ['BEGIN', 'FROM counter', 'FROM worker', 'FROM line']) {
    test(`a claim that is held up behind ${text}: the feed tells in order, and no history steps back in time`, async () => {
      const { ready: story } = await claimHeldBehind(text)
      await claim()
      await finish()
      const moves = await feed()
      const position = (id: number, seq: number) => moves.findIndex((move) => move.entity === id && move.seq === seq)
      const { parked, parent } = story
      assert.ok(position(parked.id, 1) < position(parked.id, 2), 'Its first move comes before its second.')
      const children = (await near.list({ parent: parent.id, limit: 10 })).entities
      for (const { id } of children)
        assert.ok(position(parent.id, 2) < position(id, 1), 'Nobody passes the gate before it was opened.')
      for (const { id, createdAt } of [parked, ...children]) {
        const times = moves.filter(({ entity }) => entity === id).map(({ at }) => at)
        const ordered = [createdAt, ...times]
        assert.deepEqual(
          ordered,
          ordered.toSorted((one, other) => one - other),
          'Time never steps back.',
        )
      }
    })
  }

  test('a cancel that is held up: what its children did before it stands before it in the feed', async () => {
    const cancel = async (parent: Entity, isHeld: boolean, meanwhile: () => Promise<void>) => {
      const [latest] = await near.get([parent.id])
      const move = aMove(latest!, { state: 'cancelled', settled: true, lanes: 'stop' })
      await proxy.hangUp()
      const hold = isHeld ? proxy.holdBehind('BEGIN') : null
      const committing = far.commit(`cancel-${parent.id}`, [move])
      await hold?.held
      await meanwhile()
      hold?.resume()
      assert.deepEqual(await committing, [{ kind: 'saved' }])
    }
    const before = await ready()
    await makeWay(before)
    await cancel(before.parent, false, async () => {})
    const { parent, parked } = await ready()
    await makeWay({ parent, parked })
    const [child] = (await claim()).filter((entity) => entity.parent === parent.id)
    await cancel(parent, true, () => saved(aMove(child!)))
    const moves = await feed()
    const told = moves.filter(({ entity }) => entity === parent.id || entity === child!.id)
    assert.deepEqual(
      told.slice(-2).map(({ entity }) => entity),
      [child!.id, parent.id],
    )
  })

  test('a claim that is held up while its lane is stopped takes nothing of it', async () => {
    const story = await ready()
    await makeWay(story)
    const { parent } = story
    const [opened] = await near.get([parent.id])
    await proxy.hangUp()
    const hold = proxy.holdBehind('FROM lane WHERE id = ANY')
    const claiming = claim()
    await hold.held
    await saved(aMove(opened!, { state: 'cancelled', settled: true, lanes: 'stop' }))
    hold.resume()
    const claimed = await claiming
    assert.deepEqual(
      claimed.filter((entity) => entity.parent === parent.id),
      [],
    )
    const children = (await near.list({ parent: parent.id, limit: 10 })).entities
    assert.deepEqual(
      children.map(({ seq, owner }) => [seq, owner]),
      [
        [0, null],
        [0, null],
      ],
      'Under an ended parent whatever has not begun never will.',
    )
    await finish()
  })

  test('a commit that is held up before its end: nobody reads on past it', async () => {
    const [shipment, parcel] = await created('behind', [
      aBirth({ machine: 'shipment', state: 'open', labels: [null], wait: { for: 'nothing' } }),
      aBirth({ state: 'parked', wait: { for: 'nothing' } }),
    ])
    const behind = await positionOfFeed()
    await proxy.hangUp()
    const hold = proxy.holdBehind('INTO operation')
    const committing = far.commit('held up', [aMove(parcel!)])
    await hold.held
    await saved(aMove(shipment!))
    const early = await near.events({ after: behind, limit: 100 })
    hold.resume()
    assert.deepEqual(await committing, [{ kind: 'saved' }])
    const late = await near.events({ after: early.position, limit: 100 })
    assert.deepEqual(
      [...early.moves, ...late.moves].map(({ entity }) => entity).sort((one, other) => one - other),
      [shipment!.id, parcel!.id],
      'Whoever reads on from where he was sees both.',
    )
  })

  test('whoever is stopped in the middle of its transaction is waited for no longer than a lease', async () => {
    const [first, second] = await created('stopped', [
      aBirth({ state: 'parked', wait: { for: 'nothing' } }),
      aBirth({ state: 'parked', wait: { for: 'nothing' } }),
    ])
    const brief = postgresStore({
      url: proxy.through(url),
      connectionsMax: 1,
      limits: { leaseMs: 1_000, renewMs: 300 },
    })
    try {
      await brief.migrate()
      await proxy.hangUp()
      const hold = proxy.holdBehind('INTO operation')
      const committing = Promise.allSettled([brief.commit('stopped', [aMove(first!)])])
      await hold.held
      // Both are counted in one lane, which the other one has locked and would not give back.
      await saved(aMove(second!))
      hold.resume()
      const [ended] = await committing
      assert.equal(ended?.status, 'rejected')
      assert.deepEqual(await brief.commit('stopped', [aMove(first!)]), [{ kind: 'saved' }])
      assert.deepEqual(await near.recount([null], null), [])
    } finally {
      await brief.close()
    }
  })
})
