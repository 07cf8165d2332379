import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { sqliteStore } from '../store/sqlite/index.ts'
import { aBirth, aWorker, parcelMachine } from '../testing/index.ts'
import { newFolder, removeFolders, resultIn, sluice, start } from './command-process.ts'

after(removeFolders)

/** A folder with a store of so many parcels. */
async function withParcels(count: number, act?: (store: ReturnType<typeof sqliteStore>) => Promise<unknown>) {
  const folder = newFolder()
  const store = sqliteStore({ file: join(folder, 'a.db') })
  await store.migrate()
  await store.define([parcelMachine])
  for (let first = 0; first < count; first += 10_000) {
    await store.create(
      `some ${first}`,
      Array.from({ length: Math.min(10_000, count - first) }, () => aBirth()),
    )
  }
  await act?.(store)
  await store.close()
  return folder
}

describe('sluice move', () => {
  test('carries a store, says what it did, and closes the source', async () => {
    const folder = await withParcels(3)
    const { status, out, err } = await sluice(folder, 'move', '--from', 'a.db', '--to', 'sqlite:deep/b.db')
    assert.equal(status, 0, err)
    assert.match(
      out,
      /^Moved 3 entities from a\.db to sqlite:deep\/b\.db in .*\. Both were compared record by record\.\n/,
    )
    assert.match(out, /\n {2}entities +3 {2}[0-9a-f]{16}\n/)
    assert.match(out, /sluice serve --store sqlite:deep\/b\.db\n$/)
    const closed = await sluice(folder, 'status', '--store', 'a.db')
    assert.deepEqual([closed.status, closed.out], [5, ''])
    assert.match(closed.err, /^The store at a\.db was moved to sqlite:deep\/b\.db\. Use that one\.\n$/)
    assert.match((await sluice(folder, 'status', '--store', 'deep/b.db')).out, /^3 roots/)
  })

  test('tells programs the count and digest of every section', async () => {
    const folder = await withParcels(2)
    const copied = resultIn(await sluice(folder, 'move', '--from', 'a.db', '--to', 'b.db', '--copy', '--json'))
    const moved = resultIn(await sluice(folder, 'move', '--from', 'a.db', '--to', 'c.db', '--json'))
    assert.deepEqual([copied.copied, moved.copied, moved.resumed], [true, false, false])
    assert.deepEqual(copied.sections, moved.sections)
    const sections = moved.sections as { readonly name: string; readonly count: number; readonly digest: string }[]
    assert.deepEqual(
      sections.filter(({ count }) => count > 0).map(({ name, count }) => `${count} ${name}`),
      ['1 machines', '1 lanes', '2 entities', '1 operations'],
    )
    for (const { digest } of sections) assert.match(digest, /^[0-9a-f]{64}$/)
  })

  test('stops behind a group when asked to, refuses both stores, and goes on', async () => {
    const folder = await withParcels(40_000)
    const words = ['move', '--from', 'a.db', '--to', 'b.db']
    const running = start(folder, words)
    assert.ok(await running.heard(/copying entities/))
    running.process.kill('SIGINT')
    const { status, out, err } = await running.ending
    assert.deepEqual([status, out], [130, ''])
    assert.match(err, /Stopped\. Nothing is lost; run the same command again to go on, or with --abandon\.\n$/)
    for (const [store, why] of [
      ['a.db', /is being moved to b\.db, and that is not finished/],
      ['b.db', /A move from a\.db into the store at b\.db is not finished/],
    ] as const) {
      const refused = await sluice(folder, 'status', '--store', store)
      assert.equal(refused.status, 5)
      assert.match(refused.err, why)
    }
    const ended = resultIn(await sluice(folder, ...words, '--json'))
    assert.equal(ended.resumed, true)
    assert.match((await sluice(folder, 'status', '--store', 'b.db')).out, /^40,000 roots/)
  })

  test('is taken back by --abandon', async () => {
    const folder = await withParcels(40_000)
    const running = start(folder, ['move', '--from', 'a.db', '--to', 'b.db'])
    await running.heard(/copying entities/)
    running.process.kill('SIGKILL')
    await running.ending
    const { status, out, err } = await sluice(folder, 'move', '--from', 'a.db', '--to', 'b.db', '--abandon')
    assert.equal(status, 0, err)
    assert.equal(out, 'The move was taken back. a.db may be used again. b.db is empty.\n')
    assert.match((await sluice(folder, 'status', '--store', 'a.db')).out, /^40,000 roots/)
    const again = await sluice(folder, 'move', '--from', 'a.db', '--to', 'b.db', '--abandon')
    assert.equal(again.status, 4)
  })

  test('names the workers that are at work', async () => {
    const identity = aWorker({ pid: 77 })
    const folder = await withParcels(1, (store) => store.renew({ id: null, identity, leaseMs: 600_000 }))
    const { status, err } = await sluice(folder, 'move', '--from', 'a.db', '--to', 'b.db')
    assert.equal(status, 5)
    assert.match(err, /worker \(host\.example, process 77\)\. Stop them/)
    assert.equal((await sluice(folder, 'status', '--store', 'a.db')).status, 0)
  })

  test('waits for a dead worker, if it is told to', async () => {
    const folder = await withParcels(1, (store) => store.renew({ id: null, identity: aWorker(), leaseMs: 1_500 }))
    const { status, err } = await sluice(folder, 'move', '--from', 'a.db', '--to', 'b.db', '--wait', '60000')
    assert.equal(status, 0, err)
  })

  const mistakes: readonly (readonly [words: readonly string[], status: number, said: RegExp])[] = [
    [['--from', 'a.db'], 2, /Name the store that is moved by --from, and where to by --to\./],
    [['--from', 'a.db', '--to', './a.db'], 2, /are the same store/],
    [['--from', 'none.db', '--to', 'b.db'], 4, /There is no store at none\.db\./],
    [['--from', 'a.db', '--to', 'mysql://host/x'], 2, /no address of a store/],
    [['--from', 'a.db', '--to', 'postgres://me:secret@127.0.0.1:1/x'], 1, /nobody answers there/],
    [['--from', 'a.db', '--to', 'b.db', '--copy', '--abandon'], 2, /not both/],
    [['--abandon'], 2, /Name the two stores/],
    [['--from', 'a.db', '--to', 'b.db', '--wait', 'long'], 2, /whole number/],
  ]
  for (const [words, expected, said] of mistakes) {
    test(`a mistake is told in one sentence, and changes nothing: ${words.join(' ')}`, async () => {
      const folder = await withParcels(1)
      const { status, out, err } = await sluice(folder, 'move', ...words)
      assert.deepEqual([status, out], [expected, ''])
      assert.match(err, said)
      assert.doesNotMatch(err, /secret/)
      assert.equal(err.trimEnd().includes('\n'), false)
      assert.equal(existsSync(join(folder, 'none.db')), false)
      assert.equal((await sluice(folder, 'status', '--store', 'a.db')).status, 0)
    })
  }
})
