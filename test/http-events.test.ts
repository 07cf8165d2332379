import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Clock, systemClock } from '../src/index.ts'
import { Ear } from './http/ear.ts'
import { type House, type HouseOptions, openHouse, storeKinds } from './http/house.ts'

async function inHouse(options: HouseOptions, story: (house: House) => Promise<unknown>) {
  let house = await openHouse(options)
  try {
    house = ((await story(house)) as House | undefined) ?? house
  } finally {
    await house.close()
  }
}

const keysOf = (ear: Ear) => ear.events.map(({ entity, seq, hop }) => `${entity}:${seq}:${hop}`)

async function crate(house: House, collection = 'a', parcels = 1): Promise<number> {
  const data = { collection, parcels: Array.from({ length: parcels }, () => ({ to: 'x' })) }
  return (await house.control.submit('crate', data, { state: 'packed' })).id
}

/** Every move of these crates and of their parcels, as their histories tell. */
async function movesOf(house: House, ...crates: readonly number[]): Promise<readonly string[]> {
  const lists = await Promise.all(crates.map((parent) => house.control.list({ parent })))
  const ids = [...crates, ...lists.flatMap(({ entities }) => entities.map(({ id }) => id))]
  const histories = await Promise.all(ids.map((id) => house.control.history(id)))
  return histories.flat().flatMap(({ entity, seq, hop }) => (seq === 0 ? [] : [`${entity}:${seq}:${hop}`]))
}

for (const store of storeKinds) {
  describe(`events over ${store}`, () => {
    test('tell every change, once, and go on where a connection broke', () =>
      inHouse({ store }, async (house) => {
        const ear = new Ear(`${house.url}/api/events`)
        const ready = await ear.message('ready')
        assert.equal(typeof ready.data.position, 'number')
        const first = await crate(house)
        await house.control.settled(first, 5_000)
        const wanted = await movesOf(house, first)
        await ear.until((one) => keysOf(one).length >= wanted.length)
        ear.close()
        const second = await crate(house)
        await house.control.settled(second, 5_000)

        const again = new Ear(`${house.url}/api/events`, { 'last-event-id': String(ear.lastId) })
        const missed = await movesOf(house, second)
        await again.until((one) => keysOf(one).length >= missed.length)
        assert.deepEqual(keysOf(again).toSorted(), missed.toSorted())
        assert.ok(again.births.includes(second))

        const behind = new Ear(`${house.url}/api/events?after=${ready.data.position}`)
        const all = [...wanted, ...missed]
        await behind.until((one) => keysOf(one).length >= all.length)
        const third = await crate(house)
        await house.control.settled(third, 5_000)
        const last = await movesOf(house, third)
        await behind.until((one) => keysOf(one).length >= all.length + last.length)
        assert.deepEqual(keysOf(behind).toSorted(), [...all, ...last].toSorted(), 'each once')
        again.close()
        behind.close()
      }))

    test('go on after a restart of the server', () =>
      inHouse({ store }, async (house) => {
        const ear = new Ear(`${house.url}/api/events`)
        const { data } = await ear.message('ready')
        const first = await crate(house)
        await house.control.settled(first, 5_000)
        await ear.until((one) => keysOf(one).some((key) => key.startsWith(`${first}:2`)))
        const seen = keysOf(ear)
        const restarted = await house.restart()
        await ear.until(({ isClosed }) => isClosed)
        const second = await crate(house)
        await house.control.settled(second, 5_000)
        const again = new Ear(`${restarted.url}/api/events`, { 'last-event-id': String(ear.lastId) })
        const third = await crate(house)
        await house.control.settled(third, 5_000)
        const all = await movesOf(house, first, second, third)
        await again.until((one) => seen.length + keysOf(one).length >= all.length)
        assert.deepEqual([...seen, ...keysOf(again)].toSorted(), all.toSorted())
        const whole = new Ear(`${restarted.url}/api/events?after=${data.position}`)
        await whole.until((one) => keysOf(one).length >= all.length)
        assert.deepEqual(keysOf(whole).toSorted(), all.toSorted())
        again.close()
        whole.close()
        return restarted
      }))
  })
}

describe('events', () => {
  test('are filtered by id, by machine and by collection', () =>
    inHouse({}, async (house) => {
      const ann = await house.token({ name: 'ann', role: 'submitter', collections: ['a'] })
      const chief = await house.token({ name: 'chief', role: 'admin' })
      const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
      const url = `${house.url}/api/events`
      assert.equal((await house.ask('GET', '/api/events')).status, 401)
      const [own, all, parcels] = [
        new Ear(url, bearer(ann)),
        new Ear(url, bearer(chief)),
        new Ear(`${url}?machine=parcel`, bearer(chief)),
      ]
      for (const ear of [own, all, parcels]) await ear.message('ready')
      const [mine, foreign, later] = [await crate(house, 'a'), await crate(house, 'b'), await crate(house, 'a')]
      const named = new Ear(`${url}?ids=${mine}&ids=${later}`, bearer(chief))
      for (const id of [mine, foreign, later]) await house.control.settled(id, 5_000)
      await own.until((ear) => ear.events.filter(({ entity }) => entity === later).length >= 2)
      await all.until((ear) => ear.events.length >= 9)
      await parcels.until((ear) => ear.events.length >= 3)
      const entitiesOf = (ear: Ear) => new Set([...ear.events.map(({ entity }) => entity), ...ear.births])
      const children = async (id: number) => (await house.control.list({ parent: id })).entities.map(({ id }) => id)
      const visible = new Set([mine, later, ...(await children(mine)), ...(await children(later))])
      assert.deepEqual(
        [...entitiesOf(own)].filter((id) => !visible.has(id)),
        [],
      )
      assert.ok(entitiesOf(all).has(foreign))
      assert.equal(entitiesOf(parcels).size, 3)
      for (const ear of [own, all, parcels, named]) ear.close()
    }))

  test('hold hostile text on one line', () =>
    inHouse({}, async (house) => {
      const ear = new Ear(`${house.url}/api/events`)
      await ear.message('ready')
      const { id } = await house.control.submit('crate', {})
      const reason = 'x\n\nevent: admin\ndata: {}\n\n\u2028\r\n'
      await house.ask('POST', `/api/entities/${id}/actions/look`, { body: { reason } })
      await ear.until(({ events }) => events.length > 0)
      assert.equal(
        ear.messages.find(({ event }) => event === 'admin'),
        undefined,
      )
      assert.equal((ear.events[0] as unknown as { reason: string }).reason, reason)
      ear.close()
    }))

  test('keep a quiet connection alive', async () => {
    const system = systemClock()
    const beats = new Set<() => void>()
    // Heartbeats come when the test says so; everything else by the machine's clock.
    const clock: Clock = {
      ...system,
      after: (delayMs, callback) => {
        if (delayMs !== 15_000) return system.after(delayMs, callback)
        beats.add(callback)
        return () => beats.delete(callback)
      },
    }
    await inHouse({ clock }, async (house) => {
      const ear = new Ear(`${house.url}/api/events`)
      await ear.message('ready')
      for (const beat of [...beats]) beat()
      await ear.until(({ comments }) => comments > 0)
      ear.close()
    })
  })

  test('from a position that is not kept any more say so', () =>
    inHouse(
      {
        control: (control) => ({
          ...boundTo(control),
          watch: (options) => {
            if (options?.after !== 1) return control.watch(options)
            // biome-ignore lint/correctness/useYield: it throws before there is anything to give
            return (async function* () {
              throw new Error('the feed begins later')
            })()
          },
        }),
      },
      async (house) => {
        const ear = new Ear(`${house.url}/api/events?after=1`)
        const { data } = await ear.message('resync')
        assert.match(data.reason, /the feed begins later/)
        await ear.until(({ isClosed }) => isClosed)
      },
    ))

  test('are cut for whoever does not read, and for nobody else', () =>
    inHouse({ limits: { behindBytesMax: 64 * 1024 } }, async (house) => {
      const url = `${house.url}/api/events`
      const good = new Ear(url)
      await good.message('ready')
      const deaf = Array.from({ length: 50 }, () => new Ear(url, {}, false))
      for (const ear of deaf) await ear.until(({ status }) => status === 200)
      const note = 'x'.repeat(1_500)
      const crates = await house.control.submitMany(
        'crate',
        Array.from({ length: 100 }, () => ({ data: {} })),
      )
      let acts = 0
      const listeners = async () =>
        Number(/^sluice_http_listeners (\d+)/m.exec((await house.ask('GET', '/metrics')).text)?.[1])
      // Kernel buffers take some megabytes before a socket is full.
      while ((await listeners()) > 1 && acts < 20_000) {
        await Promise.all(crates.map(({ id }) => house.control.act(id, 'look', { reason: note })))
        acts += 100
      }
      assert.equal(await listeners(), 1, 'only who reads is left')
      await good.until(({ events }) => events.length >= acts)
      assert.equal(good.events.length, acts)
      for (const ear of deaf) {
        ear.read()
        await ear.until(({ isClosed }) => isClosed)
      }
      good.close()
    }))

  test('are not cut for who hears little of much that happens', () =>
    inHouse(
      {
        limits: { behindBytesMax: 2_000 },
        // Finding out what it may hear takes its time.
        control: (control) =>
          Object.create(boundTo(control), {
            get: {
              value: async (id: number) => {
                await new Promise((resolve) => setTimeout(resolve, 10))
                return control.get(id)
              },
            },
          }) as typeof control,
      },
      async (house) => {
        const crates = await house.control.submitMany(
          'crate',
          Array.from({ length: 50 }, () => ({ data: {} })),
        )
        const ear = new Ear(`${house.url}/api/events?machine=parcel`)
        await ear.message('ready')
        const reason = 'x'.repeat(1_500)
        for (const { id } of crates) await house.control.act(id, 'look', { reason })
        await crate(house)
        await ear.until(({ births, isClosed }) => births.length > 0 || isClosed)
        assert.equal(ear.births.length, 1)
        ear.close()
      },
    ))

  test('of 500 clients cost no memory that grows', () =>
    inHouse({}, async (house) => {
      const ears = Array.from({ length: 500 }, (_, index) => new Ear(`${house.url}/api/events`, {}, index >= 50))
      for (const ear of ears) await ear.until(({ status }) => status === 200)
      const { id } = await house.control.submit('crate', {})
      const round = async () => {
        for (let times = 0; times < 20; times += 1) await house.control.act(id, 'look')
        for (const ear of ears) ear.messages.length = 0
      }
      await round()
      setFlagsFromString('--expose-gc')
      const collect = runInNewContext('gc') as () => void
      const used = () => {
        collect()
        const { heapUsed, external } = process.memoryUsage()
        return heapUsed + external
      }
      const before = used()
      for (let times = 0; times < 10; times += 1) await round()
      const grown = (used() - before) / 1024 / 1024
      assert.ok(grown < 10, `${grown.toFixed(1)} MiB more`)
      for (const ear of ears) ear.close()
    }))

  test('end with the token by which they were opened', () =>
    inHouse({}, async (house) => {
      const local = new Ear(`${house.url}/api/events`)
      await local.message('ready')
      const [kept, revoked] = [
        await house.token({ name: 'kept', role: 'submitter' }),
        await house.token({ name: 'revoked', role: 'submitter' }),
      ]
      const listen = (token: string) => new Ear(`${house.url}/api/events`, { authorization: `Bearer ${token}` })
      const [one, other] = [listen(kept), listen(revoked)]
      await Promise.all([one.message('ready'), other.message('ready')])
      await house.access.revoke('revoked')
      await other.until(({ isClosed }) => isClosed)
      await local.until(({ isClosed }) => isClosed)
      const { id } = await house.control.submit('crate', {})
      await one.until(({ births }) => births.includes(id))
      one.close()
    }))

  test('have a limit of listeners for each token', () =>
    inHouse({ limits: { listenersPerToken: 2 } }, async (house) => {
      const ears = [new Ear(`${house.url}/api/events`), new Ear(`${house.url}/api/events`)]
      for (const ear of ears) await ear.message('ready')
      const third = await house.ask('GET', '/api/events')
      assert.deepEqual([third.status, third.body.type], [429, 'urn:sluice:problem:rate-limited'])
      ears[0]?.close()
      const listeners = async () => (await house.ask('GET', '/metrics')).text.includes('sluice_http_listeners 1')
      while (!(await listeners()));
      const again = new Ear(`${house.url}/api/events`)
      await again.message('ready')
      for (const ear of [...ears, again]) ear.close()
    }))
})

/** The control of an engine has its methods on its class: spread alone would lose them. */
function boundTo<T extends object>(control: T): T {
  return new Proxy(control, {
    get: (target, name) => {
      const value = Reflect.get(target, name, target) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
