import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { newFolder, removeFolders, resultIn, sluice, start } from '../../src/cli/command-process.ts'
import type { Store } from '../../src/store.ts'
import { aBirth, aMove, aRun, aWorker, hop, parcelMachine } from '../../src/testing/index.ts'
import { Random } from '../../src/testing/simulation/random.ts'
import { abandonMove, copyStore } from '../../src/transfer/moving.ts'
import { sections, type Transfer } from '../../src/transfer.ts'
import { dying, killed } from '../transfer/dying-transfer.ts'
import { carry, dumpOf, type Place, sideOf, sqlitePlace } from '../transfer/place.ts'
import { type PostgresPlace, postgresPlaces } from '../transfer/postgres-place.ts'
import { arrive, setOut } from '../transfer/voyage.ts'
import { type PostgresServer, skipOwn, startPostgres } from './server.ts'

describe('between sqlite and postgres', { skip: skipOwn }, () => {
  let server: PostgresServer
  const postgres = postgresPlaces(() => server)
  const places: Place[] = []

  before(async () => {
    // The feed shows what is older than the oldest transaction of the whole server: here nobody else has one.
    server = await startPostgres({ own: true })
  })
  after(async () => {
    removeFolders()
    for (const place of places) await place.remove()
    await postgres.close()
    await server?.close()
  })

  async function inFile() {
    const place = await sqlitePlace()
    places.push(place)
    return place
  }

  async function onServer(): Promise<PostgresPlace> {
    const place = await postgres.place()
    places.push(place)
    return place
  }

  test('everything is carried there and back, and what was half-way comes to the same end in all three', async () => {
    const [from, there, copy, back] = [await inFile(), await onServer(), await onServer(), await inFile()]
    await using(from, setOut)
    const dump = await dumpOf(from)
    for (const section of sections) assert.ok(dump[section].length > 0, `There are ${section} to move.`)
    const first = await carry(from, copy, copyStore)
    const outward = await carry(from, there)
    assert.deepEqual(outward.report, first.report)
    assert.deepEqual(await dumpOf(there), dump)
    // A copy of it goes on at once; the other is carried back first.
    const homeward = await carry(there, back)
    assert.deepEqual(homeward.report, outward.report)
    assert.deepEqual(await dumpOf(back), dump)
    const arrivals = [await using(copy, arrive), await using(back, arrive)]
    assert.deepEqual(arrivals[0], arrivals[1])
    assert.deepEqual(arrivals[0]?.existing, [true, true, true, true])
    assert.equal(arrivals[0]?.drifts, 0)
    for (const place of [from, there]) {
      await assert.rejects(
        using(place, (store) => store.migrate()),
        { code: 'conflict', message: /was moved to/ },
      )
    }
    // What has gone on is moved as well: histories that left their rows, and those that have not.
    const last = await inFile()
    await carry(copy, last)
    const end = await dumpOf(last)
    assert.equal(end.history.length > dump.history.length, true)
    assert.deepEqual(end, await dumpOf(copy))
  })

  test('answers, numbers and the feed go on', async () => {
    const [from, to] = [await withParcels(await inFile(), 3), await onServer()]
    const verdicts = await using(from, (store) => store.create('before', [aBirth({ key: 'a' })]))
    const fed = await using(from, (store) => store.events({ after: 0, limit: 100 }))
    await carry(from, to)
    await using(to, async (store) => {
      await store.migrate()
      assert.deepEqual(await store.create('before', [aBirth({ key: 'a' })]), verdicts)
      assert.deepEqual(await store.create('again', [aBirth({ key: 'a' })]), [{ kind: 'existing', id: 4 }])
      const page = await store.events({ after: 0, limit: 100 })
      assert.deepEqual([page.moves, page.births, page.missed], [fed.moves, fed.births, true])
      const [saved] = await store.create('new', [aBirth()])
      assert.ok(saved?.kind === 'saved' && saved.id > 4)
      const positions = await to.query('SELECT position FROM operation ORDER BY at, position')
      assert.deepEqual(
        positions,
        positions.toSorted(([one], [other]) => Number(one) - Number(other)),
      )
    })
  })

  test('a fence stops those who were connected before', async () => {
    const [from, to] = [await withParcels(await onServer(), 3), await inFile()]
    await using(from, async (early) => {
      await early.migrate()
      await carry(from, to)
      const moved = /moved, to sqlite:/
      await assert.rejects(early.create('late', [aBirth()]), moved)
      await assert.rejects(early.renew({ id: null, identity: aWorker(), leaseMs: 1_000 }), moved)
      await assert.rejects(early.holds({ set: { entity: 1 }, reason: 'none', owner: 'olga', until: null }), moved)
      const { entities } = await early.list({ limit: 1 })
      await assert.rejects(early.purge(entities[0]!.id, 10), moved)
      await assert.rejects(early.define([{ ...parcelMachine, version: 2 }]), moved)
    })
  })

  test('a lease that is held stops a fence, and leaves nothing of it', async () => {
    const from = await withParcels(await onServer(), 2)
    await using(from, async (store) => {
      await store.create('one', [aBirth()])
      const { id: worker } = await store.renew({ id: null, identity: aWorker(), leaseMs: 30_000 })
      await store.claim({ worker, runs: [aRun()], limit: 1, bytes: 1_000 })
      await assert.rejects(carry(from, await inFile()), { code: 'conflict', message: /Workers are at work/ })
      const side = sideOf(from)
      await assert.rejects(side.transfer.fence({ id: 'x', peer: 'y' }, 0), { code: 'conflict', message: /1 leases/ })
      await side.transfer.close()
      assert.equal((await store.create('on', [aBirth()]))[0]?.kind, 'saved')
    })
  })

  test('it goes on wherever it was killed, in both directions', async () => {
    let kills = 0
    for (const [first, second] of [
      [inFile, onServer],
      [onServer, inFile],
    ] as const) {
      for (let calls = 0; ; calls += 1) {
        const [from, to] = [await withParcels(await first(), 5), await second()]
        const dump = await dumpOf(from)
        const isKilled = await carry(...dying([from, to], calls)).then(
          () => false,
          (error) => {
            assert.equal(error, killed)
            return true
          },
        )
        kills += isKilled ? 1 : 0
        await carry(from, to)
        assert.deepEqual(await dumpOf(to), dump)
        await using(to, (store) => store.migrate())
        if (!isKilled) break
      }
    }
    assert.ok(kills > 20, `It was killed ${kills} times.`)
  })

  test('a difference is refused, and named', async () => {
    const damages = {
      'entity 3: its data': "UPDATE entity SET data = '666' WHERE id = 3",
      'move 2 of entity 5': "UPDATE history SET records = split_part(records, E'\\n', 1) || E'\\n' WHERE entity = 5",
      'pool key:k3': "DELETE FROM pool_share WHERE pool = 'key:k3'",
    }
    for (const [what, sql] of Object.entries(damages)) {
      const [from, to] = [await withParcels(await inFile(), 10), await onServer()]
      await assert.rejects(carry(from, damagedBy(to, sql)), {
        code: 'conflict',
        message: new RegExp(`Source and target differ in .*${what}`),
      })
      await assert.rejects(
        using(to, (store) => store.migrate()),
        { code: 'conflict', message: /is not finished/ },
      )
      const sides = { source: sideOf(from), target: sideOf(to) }
      await abandonMove(sides)
      for (const side of Object.values(sides)) await side.transfer.close()
      await using(from, (store) => store.migrate())
      await using(to, (store) => store.migrate())
    }
  })

  test('what PostgreSQL cannot keep is named, and the source goes on', async () => {
    const [source, to] = [await inFile(), await onServer()]
    const from = await withParcels(source, 2)
    const data = JSON.stringify({ text: 'c\u0000', other: '\\u0000 \\\\u0000' })
    await using(from, (store) => store.create('bad', [aBirth({ labels: ['a\u0000b', null], data })]))
    await assert.rejects(carry(from, to), {
      code: 'unsupported',
      message: /The label0 of entity 3 has a NUL character/,
    })
    const sides = { source: sideOf(from), target: sideOf(to) }
    await abandonMove(sides)
    for (const side of Object.values(sides)) await side.transfer.close()
    await using(from, (store) => store.migrate())

    // The guide's own program replaces it: then the store can be moved.
    const guide = readFileSync(new URL('../../docs/operating/moving.md', import.meta.url), 'utf8')
    const program = /```js\n\/\/ replace-nul\.mjs\n(.*?)```/s.exec(guide)?.[1] ?? 'the guide has none'
    const file = join(dirname(source.file), 'replace-nul.mjs')
    writeFileSync(file, program)
    const said = execFileSync(process.execPath, [file, source.file], { encoding: 'utf8' })
    assert.equal(said, 'entity.label0: 1 rows\nentity.data: 1 rows\n')
    await carry(from, to)
    const [, , moved] = await using(to, (store) => store.get([1, 2, 3]))
    assert.deepEqual(moved?.labels, ['a\ufffdb', null])
    assert.deepEqual(JSON.parse(moved?.data ?? ''), { text: 'c\ufffd', other: '\\u0000 \\\\u0000' })
  })

  test('a target that is in use leaves a source on the server as it was', async () => {
    const [from, to] = [await withParcels(await onServer(), 2), await withParcels(await inFile(), 1)]
    await assert.rejects(carry(from, to), { code: 'conflict', message: /is not empty/ })
    await using(from, async (store) => {
      await store.migrate()
      assert.equal((await store.create('on', [aBirth()]))[0]?.kind, 'saved')
    })
  })

  test('who may not make tables is told so, and the source stays as it was', async () => {
    const from = await withParcels(await inFile(), 2)
    const to = await onServer()
    await to.query('DROP ROLE IF EXISTS deckhand; CREATE ROLE deckhand LOGIN')
    const url = new URL(to.url)
    url.username = 'deckhand'
    const { postgresTransfer } = await import('../../src/store/postgres/index.ts')
    const poor: Place = { ...to, transfer: () => postgresTransfer({ url: url.href, schema: 'forbidden' }) }
    await assert.rejects(carry(from, poor), { code: 'forbidden' })
    await using(from, async (store) => {
      await store.migrate()
      assert.equal((await store.create('on', [aBirth()]))[0]?.kind, 'saved')
    })
  })

  test('the command is killed again and again, and moves all', { timeout: 120_000 }, async () => {
    const [from, to] = [await withParcels(await inFile(), 12_000), await onServer()]
    const dump = await dumpOf(from)
    const seed = Number(process.env.SLUICE_CRASH_SEED ?? Math.floor(Math.random() * 2 ** 31))
    const random = new Random(seed)
    const folder = newFolder()
    const words = ['move', '--from', from.name, '--to', to.name]
    let kills = 0
    for (let life = 0; life < 12; life += 1) {
      const running = start(folder, words)
      // Somewhere behind this line; a kill that comes too late is none.
      const lines = [/copying machines/, /copying entities/, /copying history/, /copying shares/, /verifying entities/]
      await running.heard(lines[random.below(lines.length)]!)
      await new Promise((resolve) => setTimeout(resolve, random.below(250)))
      running.process.kill('SIGKILL')
      const { status } = await running.ending
      if (status !== null) break
      kills += 1
    }
    assert.ok(kills > 0, 'It was killed.')
    const ending = await sluice(folder, ...words, '--json')
    assert.equal(ending.status, 0, `SLUICE_CRASH_SEED=${seed}: ${ending.err}`)
    const { sections: told } = resultIn(ending) as { readonly sections: readonly { readonly count: number }[] }
    assert.deepEqual(
      told.map(({ count }) => count),
      sections.map((section) => dump[section].length),
    )
    assert.deepEqual(await dumpOf(to), dump)
    const { status, err } = await sluice(folder, 'status', '--store', from.name)
    assert.equal(status, 5)
    assert.match(err, /was moved to/)
    assert.equal((await sluice(folder, 'status', '--store', to.name)).status, 0)
    // And back, as a person would.
    const file = join(folder, 'deep', 'back.db')
    const back = await sluice(folder, 'move', '--from', to.name, '--to', `sqlite:${file}`)
    assert.equal(back.status, 0, back.err)
    assert.match(back.out, /Moved 12,000 entities/)
  })
})

async function using<Result>(place: Place, work: (store: Store) => Promise<Result>): Promise<Result> {
  const store = place.store()
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** Damage is done when all has been written and nobody has read it yet. */
function damagedBy(place: PostgresPlace, sql: string): Place {
  const transfer = (): Transfer => {
    const own = place.transfer()
    const reading: Transfer['reading'] = async (work) => {
      await place.query(sql)
      return own.reading(work)
    }
    return new Proxy(own, { get: (_, name: keyof Transfer) => (name === 'reading' ? reading : own[name].bind(own)) })
  }
  return { ...place, transfer }
}

/** So many parcels, each of which has made two moves. */
async function withParcels<Kind extends Place>(place: Kind, count: number): Promise<Kind> {
  await using(place, async (store) => {
    await store.migrate()
    await store.define([parcelMachine])
    for (let first = 0; first < count; first += 1_000) {
      const size = Math.min(1_000, count - first)
      await store.create(
        `some ${first}`,
        Array.from({ length: size }, (_, index) => aBirth({ data: `${first + index}`, key: `k${first + index}` })),
      )
    }
    const { id: worker } = await store.renew({ id: null, identity: aWorker(), leaseMs: 30_000 })
    for (let group = 0; group < count; group += 1_000) {
      const { entities } = await store.claim({ worker, runs: [aRun()], limit: 1_000, bytes: 2 ** 24 })
      const moves = entities.map((entity) => aMove(entity, { state: 'done', hops: [hop('working', 'done')] }))
      await store.commit(`done ${group}`, moves)
    }
    await store.release({ kind: 'retire', worker })
  })
  return place
}
