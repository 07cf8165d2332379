import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openSluice } from 'sluice'
import { durableStore } from './test/durable-store.ts'
import { openUpload } from './upload.ts'

async function* bytesOf(items: readonly object[]): AsyncGenerator<Uint8Array> {
  yield Buffer.from(items.map((item) => JSON.stringify(item)).join('\n'))
}

test('a later process merges newer versions with documents of a file that it has not opened yet', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-merging-'))
  const older = [
    { id: 1, type: 'story', by: 'ann', title: 'Locks', score: 3, url: 'https://example.com' },
    { id: 2, type: 'story', by: 'bob', title: 'Weirs', score: 4 },
  ]
  const newer = [
    { id: 1, type: 'story', by: 'ann', title: 'Locks', score: 9, kids: [3] },
    { id: 2, type: 'story', by: 'bob', title: 'Weirs', score: 4 },
  ]
  const run = async (items: readonly object[]) => {
    const upload = await openUpload({ folder })
    const store = durableStore(join(folder, 'sluice.db'))
    const sluice = await openSluice({ store, implementations: upload.implementations })
    try {
      const { id } = await upload.receive(sluice, bytesOf(items), { fileName: 'items.ndjson', uploadedBy: 'ann' })
      await sluice.settled(id, 30_000)
      return { batch: await upload.batch(sluice, id), locks: (await upload.descendants(1)).item.item }
    } finally {
      await sluice.stop()
      await store.close()
      await upload.stop()
    }
  }
  try {
    assert.equal((await run(older)).batch.state, 'completed')
    const { batch, locks } = await run(newer)
    assert.deepEqual(
      [batch.state, batch.itemsProcessed, batch.itemsSkipped, batch.itemsErrored, batch.resultSummary?.merged],
      ['completed', 1, 1, 0, 1],
    )
    // What only the older version says is kept.
    assert.deepEqual([locks.score, locks.kids, locks.url], [9, [3], 'https://example.com'])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
