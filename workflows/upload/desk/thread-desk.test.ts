import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { itemTypes } from '../hn-item.ts'
import type { PlacedItem } from './places.ts'
import { ThreadDesk } from './thread-desk.ts'
import { verdicts } from './wire.ts'

const signal = new AbortController().signal
const content =
  '[{"id":1,"type":"story","title":"One"},{"id":2,"type":"comment","parent":1},{"id":3,"type":"song"},null]'

async function open(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-desk-'))
  const settings = {
    folder,
    catalogue: join(folder, 'catalogue.db'),
    textIndex: true,
    itemBytesMax: 1_000,
    depthMax: 32,
  }
  const desk = new ThreadDesk(settings)
  t.after(async () => {
    await desk.stop().catch(() => {})
    await rm(folder, { recursive: true, force: true })
  })
  const store = async (text: string | Uint8Array) => {
    const sha256 = createHash('sha256').update(text).digest('hex')
    await writeFile(join(folder, sha256), text)
    return sha256
  }
  return { desk, folder, store, settings }
}

/** As entities 10, 11 and so on. */
async function itemsOf(desk: ThreadDesk, sha256: string): Promise<PlacedItem[]> {
  const file = await desk.numberOf(sha256)
  const { offsets, lengths } = await desk.elements(sha256, null, 100)
  return Array.from(offsets, (offset, itemIndex) => ({
    entity: { id: 10 + itemIndex },
    data: { batchId: 1, sourceType: 'BULK_UPLOAD', itemIndex, file, offset, length: lengths[itemIndex]! },
  }))
}

/** The same content as another entity of another batch. */
const as = (id: number, { data }: PlacedItem): PlacedItem => ({ entity: { id }, data: { ...data, batchId: 2 } })

test('checks, walks, loads, compares and indexes', async (t) => {
  const { desk, store } = await open(t)
  await desk.start()
  const sha256 = await store(content)
  const bytes: number[] = []
  const check = await desk.check(sha256, (at) => bytes.push(at), signal)
  assert.deepEqual([check.form, check.total, check.withoutId, check.withoutType, check.fault], ['array', 4, 1, 1, null])
  assert.equal(await desk.numberOf(sha256), await desk.numberOf(sha256))

  const first = await desk.elements(sha256, null, 3)
  assert.equal(first.offsets.length, 3)
  const second = await desk.elements(sha256, first.next, 3)
  assert.deepEqual([second.first, second.offsets.length, second.next], [3, 1, null])
  // Whoever comes with an old cursor begins there again.
  assert.deepEqual((await desk.elements(sha256, first.next, 3)).offsets, second.offsets)

  const items = (await itemsOf(desk, sha256)).slice(0, 3)
  const loaded = await desk.load(items)
  assert.deepEqual([...loaded.hnIds], [1, 2, 3])
  assert.deepEqual([...loaded.parents], [Number.NaN, 1, Number.NaN])
  assert.deepEqual(
    Array.from(loaded.types.subarray(0, 2), (type) => itemTypes[type]),
    ['story', 'comment'],
  )
  assert.deepEqual(
    loaded.remarks.map(({ position, fault }) => [position, fault?.reason]),
    [[2, 'unknown type']],
  )
  const good = items.slice(0, 2)
  assert.deepEqual([...(await desk.index(good)).codes], [verdicts.fine, verdicts.fine])
  assert.deepEqual([...(await desk.index(good)).codes], [verdicts.fine, verdicts.fine], 'once more is harmless')
  const compared = await desk.compare([as(99, items[0]!), items[0]!])
  assert.deepEqual([...compared.codes], [verdicts.duplicate, verdicts.fine])
  assert.equal(compared.of[0], 10)
  const { codes, of } = await desk.index([as(99, items[0]!)])
  assert.deepEqual([codes[0], of[0]], [verdicts.duplicate, 10])
  assert.deepEqual([...(await desk.known(good))], [0, 1])
  assert.equal(await desk.unresolved(1), 0)
})

test('a thread that ended is replaced at the next question, and nothing is lost with it', async (t) => {
  const { desk, store } = await open(t)
  const sha256 = await store(content)
  const [one, two] = (await itemsOf(desk, sha256)) as [PlacedItem, PlacedItem]
  await desk.load([one])
  await desk.index([one])
  const first = await desk.elements(sha256, null, 1)
  // Told behind the desk's back: for the desk its thread has died, with a question under way.
  const stopped = desk.ask('stop', null)
  const lost = desk.elements(sha256, first.next, 1)
  await stopped
  await assert.rejects(lost, { code: 'internal', message: /thread of the upload family ended/ })
  assert.equal((await desk.elements(sha256, first.next, 1)).first, 1)
  assert.equal((await desk.compare([as(99, one)])).of[0], 10)
  // One that nobody has loaded is read again.
  assert.deepEqual([...(await desk.index([two])).codes], [verdicts.fine])
})

test('a file that was cut and restored under a new inode is read again, item by item and group by group', async (t) => {
  const { desk, store, folder } = await open(t)
  const sha256 = await store(content)
  const [one, two] = (await itemsOf(desk, sha256)) as [PlacedItem, PlacedItem]
  await desk.load([one])
  const first = await desk.elements(sha256, null, 1)
  await truncate(join(folder, sha256), 0)
  await writeFile(join(folder, 'restored'), content)
  await rename(join(folder, 'restored'), join(folder, sha256))
  assert.deepEqual([...(await desk.load([two])).hnIds], [2])
  assert.deepEqual([...(await desk.elements(sha256, first.next, 1)).hnIds], [2])
})

test('what is wrong with the catalogue is said at the start', async (t) => {
  const { desk, settings } = await open(t)
  await mkdir(settings.catalogue)
  await assert.rejects(desk.start(), /catalogue/)
  await rm(settings.catalogue, { recursive: true })
  await desk.start()
})

test('an error keeps its code and its words on the way', async (t) => {
  const { desk } = await open(t)
  await assert.rejects(desk.ask('hierarchy', { direction: 'ancestors', hnId: 5 }), { code: 'not_found', message: /5/ })
  await assert.rejects(desk.ask('search', { limit: 0 }), { code: 'invalid', message: /limit/ })
  await assert.rejects(
    desk.check('0'.repeat(64), () => {}, signal),
    /0000/,
  )
})

test('a check that is given up ends at once; others go on', async (t) => {
  const { desk, store } = await open(t)
  const big = await store(Buffer.concat([Buffer.from('['), Buffer.alloc(40_000_000, ' '), Buffer.from(']')]))
  const small = await store(content)
  const giveUp = new AbortController()
  let reports = 0
  const checking = desk.check(
    big,
    () => {
      reports += 1
      giveUp.abort(new Error('enough'))
    },
    giveUp.signal,
  )
  const other = desk.check(small, () => {}, signal)
  await assert.rejects(checking, /enough/)
  assert.equal((await other).total, 4)
  assert.equal(reports, 1)
})

test('many checks and questions at the same time are told apart', async (t) => {
  const { desk, store } = await open(t)
  const files = await Promise.all(
    [1, 2, 3, 4].map((count) => store(`[${new Array(count).fill('{"id":1,"type":"job"}').join()}]`)),
  )
  const totals = await Promise.all(files.map(async (file) => (await desk.check(file, () => {}, signal)).total))
  assert.deepEqual(totals, [1, 2, 3, 4])
})

test('once stopped it answers no more, and may be stopped again', async (t) => {
  const { desk } = await open(t)
  await desk.start()
  const asked = desk.numberOf('a'.repeat(64))
  await Promise.all([desk.stop(), desk.stop()])
  assert.equal(await asked, 1, 'what was asked before is answered')
  await desk.stop()
  await assert.rejects(desk.unresolved(1), { code: 'conflict', message: /stopped/ })
})

test('one that was never asked can be stopped', async (t) => {
  const { desk } = await open(t)
  await desk.stop()
  await assert.rejects(desk.numberOf('a'), { code: 'conflict' })
})
