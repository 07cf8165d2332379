import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, test } from 'node:test'
import type { Store } from '../../src/store.ts'
import { aBirth, aMove, aRun, aWorker, hop, manualClock, parcelMachine } from '../../src/testing/index.ts'
import { abandonMove, copyStore, moveStore } from '../../src/transfer/moving.ts'
import type { TransferProgress } from '../../src/transfer/watcher.ts'
import { sections } from '../../src/transfer.ts'
import { dying, killed } from './dying-transfer.ts'
import { carry, dumpOf, type Place, sideOf, sqlitePlace } from './place.ts'
import { arrive, setOut } from './voyage.ts'

const places: Place[] = []
after(async () => {
  for (const place of places) await place.remove()
})

async function newPlace() {
  const place = await sqlitePlace()
  places.push(place)
  return place
}

async function using<Result>(place: Place, work: (store: Store) => Promise<Result>): Promise<Result> {
  const store = place.store()
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** So many parcels, each of which has made two moves. */
async function withParcels(count: number) {
  const place = await newPlace()
  await using(place, async (store) => {
    await store.migrate()
    await store.define([parcelMachine])
    await store.create(
      'some',
      Array.from({ length: count }, (_, index) => aBirth({ data: `${index}`, key: `k${index}` })),
    )
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

describe('a store that is moved', () => {
  test('is the same in its new place, and what was half-way comes to the same end', async () => {
    const [from, copy, to] = [await newPlace(), await newPlace(), await newPlace()]
    await using(from, setOut)
    const before = await dumpOf(from)
    for (const section of sections) assert.ok(before[section].length > 0, `There are ${section} to move.`)
    await carry(from, copy, copyStore)
    const { report, isResumed } = await carry(from, to)
    assert.equal(isResumed, false)
    assert.deepEqual(
      report.map(({ name, count }) => [name, count]),
      sections.map((section) => [section, before[section].length]),
    )
    assert.deepEqual(await dumpOf(copy), before)
    assert.deepEqual(await dumpOf(to), before)
    const [moved, stayed] = [await using(to, arrive), await using(copy, arrive)]
    assert.deepEqual(moved, stayed)
    assert.deepEqual(moved.existing, [true, true, true, true])
    assert.equal(moved.drifts, 0)
    assert.equal(moved.workersBefore, 0)
  })

  test('answers repeated operations as before, gives no number twice, and keeps what the feed had', async () => {
    const [from, to] = [await withParcels(3), await newPlace()]
    const first = aBirth({ key: 'another' })
    const verdicts = await using(from, (store) => store.create('asked before', [first, aBirth()]))
    const fed = await using(from, (store) => store.events({ after: 0, limit: 100 }))
    await carry(from, to)
    await using(to, async (store) => {
      await store.migrate()
      assert.deepEqual(await store.create('asked before', [first, aBirth()]), verdicts)
      assert.deepEqual(await store.create('asked now', [first]), [{ kind: 'existing', id: 4 }])
      const page = await store.events({ after: 0, limit: 100 })
      assert.deepEqual([page.moves, page.births], [fed.moves, fed.births])
      assert.equal(page.missed, true, 'Positions of before mean nothing here.')
      const [saved] = await store.create('new', [aBirth()])
      assert.deepEqual(saved, { kind: 'saved', id: 7 })
      const { id } = await store.renew({ id: null, identity: aWorker(), leaseMs: 1_000 })
      assert.equal(id, 2)
      const { births } = await store.events({ after: page.position, limit: 100 })
      assert.deepEqual(births, [7])
    })
  })

  test('cannot be changed any more, not even by whoever had it open before', async () => {
    const [from, to] = [await withParcels(2), await newPlace()]
    await using(from, async (early) => {
      await early.migrate()
      await carry(from, to)
      const moved = new RegExp(`moved, to ${to.name}`)
      await assert.rejects(early.create('late', [aBirth()]), moved)
      await assert.rejects(early.renew({ id: null, identity: aWorker(), leaseMs: 1_000 }), moved)
      await assert.rejects(early.holds({ set: { entity: 1 }, reason: 'none', owner: 'olga', until: null }), moved)
      await assert.rejects(early.purge(1, 10), moved)
      await assert.rejects(early.define([{ ...parcelMachine, version: 2 }]), moved)
      await assert.rejects(early.migrate(), { code: 'conflict', message: /was moved to .* Use that one\./ })
    })
    const other = await newPlace()
    await assert.rejects(carry(from, other), { code: 'conflict', message: /was moved to/ })
    await assert.rejects(carry(from, other, copyStore), { code: 'conflict', message: /is being moved to/ })
    // Asked for once more, it is done already.
    assert.equal((await carry(from, to)).report.find(({ name }) => name === 'entities')?.count, 2)
    await assert.rejects(
      abandonMove({ source: sideOf(from), target: sideOf(to) }),
      /was moved to .* Nothing was undone/,
    )
  })
})

describe('workers', () => {
  test('that are alive are named, and nothing is changed', async () => {
    const [from, to] = [await withParcels(2), await newPlace()]
    await using(from, async (store) => {
      await store.renew({ id: null, identity: aWorker({ name: 'w7', host: 'ship', pid: 71 }), leaseMs: 30_000 })
      await assert.rejects(carry(from, to), { code: 'conflict', message: /w7 \(ship, process 71\).*--wait 30000/ })
      assert.equal((await store.create('still', [aBirth()]))[0]?.kind, 'saved')
    })
  })

  test('that have died are waited for, and what they held is suspect afterwards', async () => {
    const [from, to] = [await newPlace(), await newPlace()]
    const clock = manualClock()
    const store = from.store(clock)
    await store.migrate()
    await store.define([parcelMachine])
    await store.create('some', [aBirth(), aBirth()])
    const { id: worker } = await store.renew({ id: null, identity: aWorker(), leaseMs: 1_000 })
    await store.claim({ worker, runs: [aRun()], limit: 1, bytes: 1_000 })
    await store.close()
    const waits: TransferProgress[] = []
    const watcher = {
      onProgress(progress: TransferProgress) {
        if (progress.phase !== 'waiting') return
        waits.push(progress)
        // What the mover waits for: time.
        clock.soon(() => clock.advance(250))
      },
    }
    await carry(from, to, moveStore, { clock, storeClock: clock, waitMs: 5_000, watcher })
    assert.ok(waits.length >= 4)
    const target = to.store(clock)
    await target.migrate()
    const [first, second] = await target.get([1, 2])
    assert.deepEqual([first?.suspect, first?.owner, second?.suspect], [1, null, 0])
    await target.close()
  })
})

describe('a move that is not finished', () => {
  test('goes on wherever it was killed', async () => {
    const before = await dumpOf(await withParcels(40))
    let kills = 0
    for (let calls = 0; ; calls += 1) {
      const [from, to] = [await withParcels(40), await newPlace()]
      const [mortalFrom, mortalTo] = dying([from, to], calls)
      const isKilled = await carry(mortalFrom, mortalTo).then(
        () => false,
        (error) => {
          assert.equal(error, killed)
          return true
        },
      )
      if (isKilled) {
        kills += 1
        await refusesHalf(from)
        await refusesHalf(to)
      }
      await carry(from, to)
      assert.deepEqual(counted(await dumpOf(to)), counted(before))
      await using(to, (store) => store.migrate())
      await assert.rejects(
        using(from, (store) => store.migrate()),
        /was moved to/,
      )
      if (!isKilled) break
    }
    assert.ok(kills > 12, `It was killed ${kills} times.`)
  })

  test('goes on within a section, from the group behind the last that was written', async () => {
    const [from, to] = [await withParcels(5_000), await newPlace()]
    const before = await dumpOf(from)
    const seen: string[] = []
    for (;;) {
      const stop = new AbortController()
      let groups = 0
      const onProgress = ({ phase, section, done }: TransferProgress) => {
        if (phase !== 'copying' || done === 0) return
        seen.push(`${section} ${done}`)
        groups += 1
        if (groups === 2) stop.abort()
      }
      const isDone = await carry(from, to, moveStore, { watcher: { signal: stop.signal, onProgress } }).then(
        () => true,
        (error) => {
          if (stop.signal.aborted) return false
          throw error
        },
      )
      if (isDone) break
    }
    assert.ok(seen.includes('entities 2000') && seen.includes('entities 4000') && seen.includes('history 8000'))
    assert.deepEqual(await dumpOf(to), before)
  })

  test('can be abandoned: the source goes on, the target is empty and takes the next one', async () => {
    const [from, to] = [await withParcels(10), await newPlace()]
    const [mortalFrom, mortalTo] = dying([from, to], 9)
    await assert.rejects(carry(mortalFrom, mortalTo), killed)
    const other = await withParcels(1)
    await assert.rejects(carry(other, to), { code: 'conflict', message: /holds an unfinished move from/ })
    await using(other, (store) => store.migrate())
    await assert.rejects(carry(from, await newPlace()), { code: 'conflict', message: /is being moved to/ })
    await abandon(from, to)
    await using(from, async (store) => {
      await store.migrate()
      assert.equal((await store.create('on', [aBirth()]))[0]?.kind, 'saved')
    })
    await carry(other, to)
    await assert.rejects(abandon(from, null), { code: 'not_found' })
  })

  test('lets one side be abandoned if the other is lost', async () => {
    const [from, to] = [await withParcels(10), await newPlace()]
    await assert.rejects(carry(...dying([from, to], 9)), killed)
    await abandon(null, to)
    await using(to, (store) => store.migrate())
    await abandon(from, null)
    await using(from, (store) => store.migrate())
  })
})

describe('a difference', () => {
  const damages = {
    'entity 3': "UPDATE entity SET data = '666' WHERE id = 3",
    'move 2 of entity 5': 'DELETE FROM history WHERE entity = 5 AND seq = 2',
    'the lane parcel@1 of the roots': "UPDATE lane SET wake = wake + 1 WHERE name = 'parcel@1'",
    'the share of entity 4 in pool key:k3': "DELETE FROM pool_share WHERE pool = 'key:k3'",
    'operation commit done 0': "UPDATE operation SET verdicts = '9' WHERE name = 'commit done 0'",
  }
  for (const [what, sql] of Object.entries(damages)) {
    test(`is refused, and named: ${what}`, async () => {
      const [from, to] = [await withParcels(10), await newPlace()]
      let isDamaged = false
      const onProgress = (progress: TransferProgress) => {
        if (!isCopied(progress) || isDamaged) return
        isDamaged = true
        const database = new DatabaseSync(to.file)
        assert.equal(database.prepare(sql).run().changes, 1)
        database.close()
      }
      await assert.rejects(carry(from, to, moveStore, { watcher: { onProgress } }), (error: Error) => {
        assert.match(error.message, new RegExp(`Source and target differ in .*${what}`))
        return true
      })
      await refusesHalf(from)
      await refusesHalf(to)
      await abandon(from, to)
      await carry(from, to)
    })
  }

  test('in a number that could be given twice is refused', async () => {
    const [from, to] = [await withParcels(3), await newPlace()]
    const onProgress = (progress: TransferProgress) => {
      if (!isCopied(progress)) return
      const database = new DatabaseSync(to.file)
      database.exec("UPDATE counter SET value = 2 WHERE name = 'entity'")
      database.close()
    }
    await assert.rejects(
      carry(from, to, moveStore, { watcher: { onProgress } }),
      /The last entity number of the source is 3, that of the target 2/,
    )
  })
})

describe('a target', () => {
  test('that holds something is refused, and the source stays as it was', async () => {
    const [from, to] = [await withParcels(2), await withParcels(3)]
    await assert.rejects(carry(from, to), { code: 'conflict', message: /is not empty \(3 rows of entity\)/ })
    await using(from, async (store) => {
      await store.migrate()
      assert.equal((await store.create('on', [aBirth()]))[0]?.kind, 'saved')
    })
  })

  test('in which machines were declared, and workers have been, counts as empty; its numbers go on', async () => {
    const [from, to] = [await withParcels(2), await newPlace()]
    await using(to, async (store) => {
      await store.migrate()
      await store.define([{ ...parcelMachine, name: 'letter', digest: 'other' }, parcelMachine])
      for (let worker = 1; worker <= 5; worker += 1) {
        await store.renew({ id: null, identity: aWorker(), leaseMs: 1_000 })
        await store.release({ kind: 'retire', worker })
      }
    })
    await carry(from, to)
    await using(to, async (store) => {
      await store.migrate()
      const { id } = await store.renew({ id: null, identity: aWorker(), leaseMs: 1_000 })
      assert.equal(id, 6)
    })
    assert.deepEqual((await dumpOf(to)).machines.length, 1)
  })
})

describe('a copy', () => {
  test('leaves the source as it was; one that was killed begins anew', async () => {
    const [from, to] = [await withParcels(20), await newPlace()]
    await assert.rejects(carry(...dying([from, to], 8), copyStore), killed)
    await using(from, async (store) => {
      await store.migrate()
      await store.create('more', [aBirth()])
    })
    await refusesHalf(to)
    await carry(from, to, copyStore)
    assert.deepEqual(await dumpOf(to), await dumpOf(from))
    for (const place of [from, to]) {
      await using(place, async (store) => {
        await store.migrate()
        assert.equal((await store.create('each its own', [aBirth()]))[0]?.kind, 'saved')
      })
    }
  })

  test('of a store in which somebody works is refused', async () => {
    const [from, to] = [await withParcels(1), await newPlace()]
    await using(from, async (store) => {
      await store.create('one', [aBirth()])
      await store.renew({ id: null, identity: aWorker(), leaseMs: 30_000 })
      await assert.rejects(carry(from, to, copyStore), { code: 'conflict', message: /Workers are at work/ })
    })
  })
})

/** All is in the target, and nobody has compared it yet. */
function isCopied({ phase, section, done }: TransferProgress): boolean {
  return phase === 'copying' && section === 'operations' && done > 0
}

async function abandon(from: Place | null, to: Place | null): Promise<void> {
  const [source, target] = [from && sideOf(from), to && sideOf(to)]
  try {
    await abandonMove({ source, target })
  } finally {
    await source?.transfer.close()
    await target?.transfer.close()
  }
}

/** Whatever is in it: it is untouched, or it cannot be used by mistake. */
async function refusesHalf(place: Place): Promise<void> {
  const side = sideOf(place)
  const { source, target } = await side.transfer.marks()
  await side.transfer.close()
  if (!source && (!target || target.status === 'finished')) return
  await assert.rejects(
    using(place, (store) => store.migrate()),
    { code: 'conflict', message: /is not finished|was moved to/ },
  )
}

/** Times differ from one making to the next; how much there is does not. */
function counted(dump: Awaited<ReturnType<typeof dumpOf>>): object {
  return Object.fromEntries(sections.map((section) => [section, dump[section].length]))
}
