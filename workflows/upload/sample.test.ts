import assert from 'node:assert/strict'
import { createReadStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { isSluiceError } from 'sluice'
import { checkFile } from './files/file-check.ts'
import { forms } from './files/file-fault.ts'
import { FileStore } from './files/file-store.ts'
import { FileWalk } from './files/file-walk.ts'
import { SliceReader } from './files/slice-reader.ts'
import { type HNItem, itemTypes, parseItem } from './hn-item.ts'
import { badElements } from './sample/bad-element.ts'
import { Sample, type SampleContent, writeSample } from './sample.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-sample-'))
after(() => rmSync(folder, { recursive: true }))

const bytesOf = (content: SampleContent) => Buffer.concat([...new Sample(content).chunks()])

/** All sound items of a file in order, and the reasons of the others. */
function read(path: string): { readonly items: readonly HNItem[]; readonly reasons: Record<string, number> } {
  const walk = new FileWalk(path, null)
  const reader = new SliceReader(path)
  const items: HNItem[] = []
  const reasons: Record<string, number> = {}
  for (;;) {
    const group = walk.next(1_000)
    assert.equal(group.fault, null)
    const bad = new Set(group.faults.map((fault) => fault.position))
    for (const { reason } of group.faults) reasons[reason] = (reasons[reason] ?? 0) + 1
    for (let position = 0; position < group.offsets.length; position += 1) {
      if (bad.has(position)) continue
      items.push(parseItem(reader.read(group.offsets[position]!, group.lengths[position]!)).item!)
    }
    if (group.next === null) break
  }
  walk.close()
  reader.close()
  return { items, reasons }
}

for (const form of forms) {
  test(`${form}: a walk finds exactly what was announced`, async () => {
    const path = join(folder, form)
    const counts = await writeSample({ path, items: 5_000, bad: 0.05, duplicates: 0.1, orphans: 0.02, form, seed: 7 })
    assert.deepEqual(
      { ...counts, byReason: null },
      { total: 5_000, bad: 250, duplicatesNewer: 250, duplicatesSame: 250, orphans: 100, byReason: null },
    )
    const check = checkFile(path)
    assert.deepEqual([check.form, check.total, check.fault], [form, 5_000, null])
    const { items, reasons } = read(path)
    assert.deepEqual(reasons, counts.byReason)
    assert.equal(Object.keys(reasons).length, new Set(badElements.map((element) => element.reason)).size)

    const seen = new Map<number, HNItem>()
    let newer = 0
    let same = 0
    for (const item of items) {
      const before = seen.get(item.hnId)
      if (before === undefined) seen.set(item.hnId, item)
      else if (JSON.stringify(before) === JSON.stringify(item)) same += 1
      else {
        newer += 1
        const grown = (item.kids?.length ?? 0) - (before.kids?.length ?? 0) + (item.score ?? 0) - (before.score ?? 0)
        assert.ok(grown > 0)
      }
    }
    assert.deepEqual([newer, same], [counts.duplicatesNewer, counts.duplicatesSame])
    const linked = [...seen.values()].filter((item) => (item.parent ?? item.poll) !== undefined)
    assert.equal(linked.filter((item) => !seen.has(item.parent ?? item.poll!)).length, counts.orphans)
  })
}

describe('a sample', () => {
  test('is realistic: all types, about 440 bytes each, threads with parents before and after', () => {
    const path = join(folder, 'real')
    const bytes = bytesOf({ items: 20_000, form: 'lines' })
    writeFileSync(path, bytes)
    assert.ok(Math.abs(bytes.length / 20_000 - 440) < 15, `${bytes.length / 20_000} bytes each`)
    const { items, reasons } = read(path)
    assert.deepEqual(reasons, {})
    assert.deepEqual(new Set(items.map((item) => item.type)), new Set(itemTypes))
    const place = new Map(items.map((item, index) => [item.hnId, index]))
    const comments = items.filter((item) => item.type === 'comment')
    assert.ok(comments.length > 12_000)
    const early = comments.filter((item) => place.get(item.parent!)! > place.get(item.hnId)!).length
    assert.ok(early > 100 && early < comments.length / 5)
    for (const item of items) for (const kid of item.kids ?? []) assert.equal(items[place.get(kid)!]!.parent, item.hnId)
    assert.ok(items.some((item) => item.deleted) && items.some((item) => item.dead))
  })

  test('is the same for the same seed, and another for another', () => {
    const content = { items: 300, bad: 0.1, duplicates: 0.1 }
    assert.ok(bytesOf(content).equals(bytesOf(content)))
    assert.ok(!bytesOf(content).equals(bytesOf({ ...content, seed: 2 })))
  })

  test('keeps its counts at the edges', () => {
    for (const form of forms) {
      for (const content of [
        { items: 0 },
        { items: 1 },
        { items: 2 },
        { items: 60, bad: 1 },
        { items: 50, duplicates: 0.5 },
        { items: 40, orphans: 1 },
        { items: 10, duplicates: 1 },
      ]) {
        const sample = new Sample({ ...content, form })
        const path = join(folder, 'edge')
        writeFileSync(path, Buffer.concat([...sample.chunks()]))
        const check = checkFile(path)
        assert.equal(sample.counts.total, content.items)
        assert.equal(check.total, content.items)
        if (content.items > 2) assert.equal(check.form, form)
        if (content.items === 0) continue
        assert.deepEqual(read(path).reasons, sample.counts.byReason)
      }
    }
  })

  test('may be gzip, and goes through the store', async () => {
    const path = join(folder, 'sample.json.gz')
    const progress: number[] = []
    await writeSample({ path, items: 3_000, gzip: true, onProgress: (items) => progress.push(items) })
    const plain = bytesOf({ items: 3_000 })
    assert.ok(gunzipSync(readFileSync(path)).equals(plain))
    assert.equal(progress.at(-1), 3_000)
    const stored = await new FileStore({ folder: join(folder, 'store') }).receive(createReadStream(path), {
      fileName: path,
    })
    assert.deepEqual([stored.gzip, stored.storedBytes, stored.contentType], [true, plain.length, 'application/json'])
  })

  test('refuses shares and numbers that make no sense, naming them', () => {
    for (const [content, name] of [
      [{ items: -1 }, /^items/],
      [{ items: 1.5 }, /^items/],
      [{ items: 1, bad: 2 }, /^bad must/],
      [{ items: 1, duplicates: Number.NaN }, /^duplicates/],
      [{ items: 1, bad: 0.6, duplicates: 0.6 }, /^bad \+ duplicates/],
      [{ items: 1, form: 'xml' as 'lines' }, /^form/],
      [{ items: 1, seed: 0.5 }, /^seed/],
    ] as const) {
      assert.throws(
        () => new Sample(content),
        (error) => isSluiceError(error, 'invalid') && name.test(error.message),
      )
    }
  })
})
