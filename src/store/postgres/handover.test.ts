import assert from 'node:assert/strict'
import { after, before, beforeEach, suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type PostgresServer, skipOwn, startPostgres } from '../../../test/postgres/server.ts'
import { overheard, settingFor } from '../../../test/postgres/setting.ts'
import type { Entity } from '../../entity.ts'
import type { Birth, ClaimRequest, LeaseProof } from '../../store.ts'
import { aBirth, aMove, aRun, aWorker, manualClock } from '../../testing/builders.ts'
import type { Plan } from './habit.ts'
import { Handover } from './handover.ts'
import type { PostgresStore } from './index.ts'

const plain = [aRun({ hops: [] })]

suite('who waits for a birth', () => {
  const plan = { places: [{ run: plain[0] }] } as unknown as Plan
  const entity = { id: 9, epoch: 1, machine: 'parcel', version: 1, state: 'ready' } as Entity
  const request = (changes: Partial<ClaimRequest> = {}): ClaimRequest => ({
    ...{ worker: 1, runs: plain, limit: 10, bytes: 1_000 },
    ...changes,
  })

  function aHandover() {
    const clock = manualClock()
    const handover = new Handover(clock)
    const back: [number, LeaseProof][] = []
    handover.giveBack = async (worker, lease) => void back.push([worker, { id: lease.id, epoch: lease.epoch }])
    handover.waits({ worker: 1, runs: plain, plan })
    const bear = () => {
      const taker = handover.takerOf(aBirth(), clock.now())
      assert.ok(taker)
      handover.born(taker, entity)
      handover.decided()
    }
    return { clock, handover, back, bear }
  }

  test('gets it with its next claim, and waits on', () => {
    const { clock, handover, bear } = aHandover()
    bear()
    assert.equal(handover.takerOf(aBirth(), clock.now()), null, 'One at a time.')
    assert.deepEqual(handover.take(request()), { entities: [entity], suspects: false, idle: plain })
    assert.ok(handover.takerOf(aBirth(), clock.now()))
  })

  test('waits no more once it has asked for others, or has no more room', () => {
    for (const changes of [{ limit: 1 }, { runs: [...plain, aRun({ state: 'packed', hops: [] })] }]) {
      const { clock, handover, bear } = aHandover()
      bear()
      assert.equal(handover.take(request(changes))?.entities.length, 1)
      assert.equal(handover.takerOf(aBirth(), clock.now()), null)
    }
    const { clock, handover } = aHandover()
    assert.equal(handover.take(request()), null)
    assert.equal(handover.takerOf(aBirth(), clock.now()), null)
  })

  test('gets nothing that has to wait for something else, or is of another kind', () => {
    const { clock, handover } = aHandover()
    const now = clock.now()
    const others: readonly Partial<Birth>[] = [
      { wait: { for: 'nothing' } },
      { wait: { for: 'run', at: now + 1 } },
      { wait: { for: 'run', at: 0, gated: true } },
      { wait: { for: 'run', at: 0, pool: 'disk' } },
      { state: 'packed' },
      { version: 2 },
      { machine: 'shipment' },
    ]
    for (const other of others) assert.equal(handover.takerOf(aBirth(other), now), null, JSON.stringify(other))
    assert.ok(handover.takerOf(aBirth(), now))
  })

  test('that does not come for it, or asks for others, does not keep it', () => {
    const { clock, handover, back, bear } = aHandover()
    bear()
    assert.equal(handover.take(request({ worker: 2 })), null)
    assert.equal(handover.take(request({ runs: [aRun({ state: 'packed' })] })), null)
    assert.equal(handover.take(request({ runs: [aRun({ hops: [], limit: 0 })] })), null)
    assert.deepEqual(back, [])
    clock.advance(1_000)
    assert.deepEqual(back, [[1, { id: 9, epoch: 1 }]])
    assert.equal(handover.take(request()), null)
  })

  test('is told if nobody knows what became of it, once', async () => {
    const { clock, handover, bear } = aHandover()
    const taker = handover.takerOf(aBirth(), clock.now())!
    handover.lost(taker, new Error('lost'))
    handover.decided()
    assert.equal(handover.take(request({ worker: 2 })), null)
    assert.throws(() => handover.take(request()), /lost/)
    assert.equal(handover.take(request()), null)
    handover.waits({ worker: 1, runs: plain, plan })
    handover.giveBack = () => Promise.reject(new Error('not given back'))
    bear()
    clock.advance(1_000)
    await new Promise((resolve) => setImmediate(resolve))
    assert.throws(() => handover.take(request()), /not given back/)
  })

  test('that gives back all it does not know of gives back this one, too', () => {
    const { clock, handover, back, bear } = aHandover()
    bear()
    handover.forget(2)
    handover.forget(1)
    assert.equal(handover.take(request()), null)
    handover.waits({ worker: 1, runs: plain, plan })
    bear()
    handover.ended([8])
    handover.ended([7, 9])
    assert.equal(handover.take(request()), null)
    clock.advance(1_000)
    assert.deepEqual(back, [])
    handover.waits({ worker: 1, runs: plain, plan })
    const taker = handover.takerOf(aBirth(), clock.now())!
    handover.forget(1)
    handover.born(taker, entity)
    handover.decided()
    assert.deepEqual(back, [[1, { id: 9, epoch: 1 }]], 'Born before or after that: it is not kept.')
    assert.equal(handover.take(request()), null)
  })

  test('gets one at a time, also if it asks again while one is being born', () => {
    const { clock, handover } = aHandover()
    const taker = handover.takerOf(aBirth(), clock.now())!
    handover.waits({ worker: 1, runs: plain, plan })
    assert.equal(handover.takerOf(aBirth(), clock.now()), null)
    handover.born(taker, entity)
    handover.decided()
    assert.equal(handover.takerOf(aBirth(), clock.now()), null)
    assert.equal(handover.take(request())?.entities.length, 1)
    assert.ok(handover.takerOf(aBirth(), clock.now()))
  })

  test('asks the server once more if somebody may have come since', () => {
    const { clock, handover, bear } = aHandover()
    bear()
    handover.heard(9)
    assert.deepEqual(handover.take(request())?.idle, plain, 'Only of its own birth was heard.')
    bear()
    handover.heard(10)
    assert.deepEqual(handover.take(request())?.idle, [])
    assert.equal(handover.takerOf(aBirth(), clock.now()), null)
  })
})

suite('a birth while a worker of the same process waits', { skip: skipOwn }, () => {
  let server: PostgresServer
  let store: PostgresStore
  let other: PostgresStore
  let url: string
  let worker: number
  let operations = 0

  before(async () => {
    server = await startPostgres({ settings: { log_statement: 'all' } })
  })
  after(async () => {
    await server?.close()
  })
  beforeEach(async (context) => {
    ;({ url, store, other, worker } = await settingFor(context, server))
    // The first claim learns, the second takes for granted what was learned, and finds nobody.
    await store.create(operation(), [aBirth()])
    const { entities } = await claim()
    await store.commit(operation(), [aMove(entities[0]!)])
    assert.deepEqual((await claim()).entities, [])
  })

  const operation = () => `handover-${++operations}`
  const claim = (awaits = true, from = store, by = worker) =>
    from.claim({ worker: by, runs: plain, limit: 100, bytes: 2 ** 20, awaits })

  async function born(changes: Partial<Birth> = {}, from = store, name = operation()): Promise<number> {
    const [verdict] = await from.create(name, [aBirth(changes)])
    return verdict?.kind === 'saved' ? verdict.id : assert.fail(verdict?.kind)
  }

  const ownerOf = async (id: number) => (await other.get([id]))[0]!.owner

  test('is leased from its first moment on, and its claim asks nobody', async () => {
    for (let round = 0; round < 3; round += 1) {
      const id = await born({
        labels: ['Ünal', null],
        priority: 5,
        createdBy: 'ann',
        data: '{"text":"naïve \u{1f600}"}',
      })
      assert.equal(await ownerOf(id), worker)
      const [{ entities, idle }, said] = await overheard(server, () => claim())
      assert.doesNotMatch(said, /claimed/)
      assert.deepEqual(entities, await other.get([id]), 'What it got is what is there.')
      assert.deepEqual([entities[0]!.epoch, entities[0]!.attempts], [1, 1])
      assert.deepEqual(idle, plain)
      assert.equal((await other.workers())[0]!.leases, 1)
      assert.deepEqual(await store.commit(operation(), [aMove(entities[0]!)]), [{ kind: 'saved' }])
    }
    assert.equal(await server.psql('SELECT count(*) FROM sluice.claimed', url), '1', 'What is over leaves the table.')
    assert.deepEqual(await store.recount([null], null), [])
    const { births } = await store.events({ after: 0, limit: 100 })
    assert.equal(births.length, 4)
  })

  test('is given back if nobody comes for it, and is another’s then', async () => {
    const id = await born()
    assert.equal(await ownerOf(id), worker)
    while ((await ownerOf(id)) !== null) await sleep(5)
    const { id: second } = await other.renew({ id: null, identity: aWorker({ name: 'second' }), leaseMs: 600_000 })
    const { entities } = await claim(true, other, second)
    assert.deepEqual(
      entities.map(({ id, attempts, epoch }) => ({ id, attempts, epoch })),
      [{ id, attempts: 1, epoch: 3 }],
    )
    assert.deepEqual((await claim()).entities, [])
  })

  test('only if the worker said that it waits', async () => {
    await claim(false)
    assert.equal(await ownerOf(await born()), null)
  })

  const obstacles: Readonly<Record<string, () => Promise<unknown>>> = {
    'somebody stands in line': () => born({}, other),
    'there is a hold': () =>
      other.holds({ set: { state: 'packed' }, reason: 'Stocktaking.', owner: 'ann', until: null }),
    'its lease has run out': () => server.psql('UPDATE sluice.worker SET expires_at = 1', url),
    'it is gone': () => server.psql('DELETE FROM sluice.worker', url),
  }
  for (const [name, put] of Object.entries(obstacles)) {
    test(`waits in line if ${name}`, async () => {
      const first = await put()
      const id = await born()
      assert.equal(await ownerOf(id), null)
      assert.equal((await other.lanes([null]))[0]!.total, typeof first === 'number' ? 3 : 2)
      if (typeof first !== 'number') return
      const { entities } = await claim()
      assert.deepEqual(
        entities.map(({ id }) => id),
        [first, id],
        'In the order in which they came.',
      )
    })
  }

  test('waits in line if its worker goes while it is being born', async () => {
    const outside = new pg.Client({ connectionString: url })
    await outside.connect()
    try {
      await outside.query('BEGIN; SELECT FROM sluice.lane FOR UPDATE')
      const birth = born()
      const waits = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
      while ((await outside.query(waits)).rowCount === 0) await sleep(1)
      await server.psql('DELETE FROM sluice.worker', url)
      await outside.query('COMMIT')
      assert.equal(await ownerOf(await birth), null)
    } finally {
      await outside.end()
    }
  })

  test('is one birth, however often it is asked for', async () => {
    const name = operation()
    const id = await born({}, store, name)
    assert.equal(await born({}, store, name), id)
    assert.equal(await born({}, other, name), id)
    assert.deepEqual(
      (await claim()).entities.map((entity) => entity.id),
      [id],
    )
    assert.deepEqual((await claim()).entities, [])
  })

  test('goes back with all that the worker does not know of, and is claimed as others are', async () => {
    const id = await born()
    assert.deepEqual(await store.release({ kind: 'all_but', worker, keep: [] }), [id])
    const { entities } = await claim()
    assert.deepEqual(
      entities.map(({ id, epoch }) => ({ id, epoch })),
      [{ id, epoch: 3 }],
    )
    const next = await born()
    assert.deepEqual(await store.release({ kind: 'retire', worker }), [id, next])
    await assert.rejects(claim(), /lease of worker/)
  })
})
