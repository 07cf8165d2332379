import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { type IdempotencyStore, idempotencyInMemory, openIdempotencyFile } from '../src/http/index.ts'
import { type Clock, systemClock } from '../src/index.ts'
import { type House, openHouse, storeKinds } from './http/house.ts'

const keyed = (key: string) => ({ headers: { 'idempotency-key': key } })
const crates = async (house: House) => (await house.control.list({ machine: 'crate' })).entities.length

async function inHouse(options: Parameters<typeof openHouse>[0], story: (house: House) => Promise<unknown>) {
  let house = await openHouse(options)
  try {
    house = ((await story(house)) as House | undefined) ?? house
  } finally {
    await house.close()
  }
}

describe('an Idempotency-Key', () => {
  test('does a request once and gives its answer again, also after a restart', () =>
    inHouse({ store: 'sqlite' }, async (house) => {
      const body = { machine: 'crate', data: { collection: 'a' } }
      const first = await house.ask('POST', '/api/entities', { body, ...keyed('one') })
      const again = await house.ask('POST', '/api/entities', { body, ...keyed('one') })
      assert.deepEqual([first.status, again.status, again.text], [201, 201, first.text])
      assert.deepEqual(
        [first.headers.get('idempotent-replayed'), again.headers.get('idempotent-replayed')],
        [null, 'true'],
      )
      const restarted = await house.restart()
      const later = await restarted.ask('POST', '/api/entities', { body, ...keyed('one') })
      assert.deepEqual([later.status, later.text], [201, first.text])
      assert.equal(await crates(restarted), 1)
      return restarted
    }))

  test('stands for one body, one path and one caller', () =>
    inHouse({}, async (house) => {
      const [ann, bob] = [
        await house.token({ name: 'ann', role: 'operator' }),
        await house.token({ name: 'bob', role: 'operator' }),
      ]
      const ask = (token: string, data: object, path = '/api/entities') =>
        house.ask('POST', path, {
          token,
          body: path.endsWith('batch') ? { machine: 'crate', items: [{ data }] } : { machine: 'crate', data },
          ...keyed('same'),
        })
      const first = await ask(ann, { note: 1 })
      const other = await ask(ann, { note: 2 })
      assert.deepEqual([first.status, other.status], [201, 422])
      assert.equal(other.body.type, 'urn:sluice:problem:idempotency-mismatch')
      const foreign = await ask(bob, { note: 2 })
      assert.equal(foreign.status, 201)
      assert.notEqual(foreign.body.id, first.body.id)
      assert.equal((await ask(ann, { note: 3 }, '/api/entities/batch')).status, 200)
      assert.equal(await crates(house), 3)
    }))

  test('holds while the first request is under way', () =>
    inHouse({}, async (house) => {
      const body = { machine: 'crate', data: {} }
      const all = await Promise.all(
        Array.from({ length: 20 }, () => house.ask('POST', '/api/entities', { body, ...keyed('race') })),
      )
      for (const { status } of all) assert.ok(status === 201 || status === 409, String(status))
      assert.ok(all.some(({ status }) => status === 201))
      assert.equal(await crates(house), 1)
    }))

  test('of a request that failed does not keep the failure', () =>
    inHouse({}, async (house) => {
      const { id } = (await house.ask('POST', '/api/entities', { body: { machine: 'crate', data: {} } })).body
      const path = `/api/entities/${id}/actions/reopen`
      assert.equal((await house.ask('POST', path, { body: {}, ...keyed('later') })).status, 409)
      await house.control.act(id, 'pack')
      await house.control.settled(id, 5_000)
      assert.equal((await house.ask('POST', path, { body: {}, ...keyed('later') })).status, 200)
    }))

  test('is forgotten after a day', async () => {
    const system = systemClock()
    let aheadMs = 0
    const clock: Clock = { ...system, now: () => system.now() + aheadMs }
    await inHouse({ clock }, async (house) => {
      const { id } = (await house.ask('POST', '/api/entities', { body: { machine: 'crate', data: {} } })).body
      const look = () => house.ask('POST', `/api/entities/${id}/actions/look`, { body: {}, ...keyed('day') })
      assert.equal((await look()).headers.get('idempotent-replayed'), null)
      assert.equal((await look()).headers.get('idempotent-replayed'), 'true')
      aheadMs = 24 * 60 * 60 * 1_000 + 1
      assert.equal((await look()).headers.get('idempotent-replayed'), null)
    })
  })

  /** Keeps nothing the first time that it is asked to: as if the process had died between the effect and its record. */
  function forgetful(): IdempotencyStore {
    const store = idempotencyInMemory()
    const lost = new Set<string>()
    return {
      ...store,
      async put(key, answer) {
        if (lost.has(key)) return store.put(key, answer)
        lost.add(key)
        throw new Error('died')
      },
    }
  }

  for (const store of storeKinds) {
    test(`repeats nothing if the answer was lost after the effect, on ${store}`, () =>
      inHouse({ store, idempotency: forgetful }, async (house) => {
        const twice = async (method: string, path: string, body: object) => {
          const first = await house.ask(method, path, { body, ...keyed(`${method} ${path}`.replaceAll(' ', '-')) })
          assert.equal(first.status, 500, first.text)
          assert.doesNotMatch(first.text, /died/)
          const said = await house.ask(method, path, { body, ...keyed(`${method} ${path}`.replaceAll(' ', '-')) })
          assert.ok(said.status < 300, said.text)
          return said
        }
        const { id } = (await twice('POST', '/api/entities', { machine: 'crate', data: { collection: 'a' } })).body
        assert.equal(await crates(house), 1)
        const items = [{ data: {} }, { data: {} }]
        await twice('POST', '/api/entities/batch', { machine: 'crate', items })
        assert.equal(await crates(house), 3)

        const looked = await twice('POST', `/api/entities/${id}/actions/look`, { reason: 'see' })
        assert.deepEqual(looked.body, { id, kind: 'done', state: 'draft' })
        const looks = (await house.control.history(id)).filter(({ transition }) => transition === 'look')
        assert.equal(looks.length, 1)

        const scope = { label: { name: 'collection', value: 'x' } }
        await twice('POST', '/api/holds', { scope, reason: 'x' })
        assert.equal((await house.control.holds()).length, 1)

        const filter = { filter: { machine: 'crate', states: ['draft'] }, action: 'look', reason: 'all' }
        const dry = await house.ask('POST', '/api/actions', { body: filter })
        const walked = await twice('POST', '/api/actions', { confirmation: dry.body.confirmation })
        assert.equal((await house.control.list({ machine: 'walk' })).entities.length, 1)
        assert.ok(walked.body.walk)
      }))
  }
})

test('the file of answers keeps them, whole and in order, until they are swept', () =>
  inHouse({}, async ({ folder }) => {
    const file = join(folder, 'answers.db')
    const clock = systemClock()
    const one = openIdempotencyFile({ file, clock })
    const answer = (at: number) => ({ fingerprint: 'f', status: 201, body: `{"at":${at}}`, at })
    await Promise.all(Array.from({ length: 100 }, (_, at) => one.put(`k${at}`, answer(at))))
    assert.deepEqual(await one.get('k7'), answer(7))
    await one.close()
    const two = openIdempotencyFile({ file, clock })
    assert.deepEqual(await two.get('k99'), answer(99))
    await two.sweep(50)
    assert.equal(await two.get('k49'), null)
    assert.deepEqual(await two.get('k50'), answer(50))
    await two.close()
  }))
