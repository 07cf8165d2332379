import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openSluice } from 'sluice'
import { memoryStore } from 'sluice/memory'
import { Stage } from './test/stage.ts'
import { openUpload, type Upload } from './upload.ts'

const items = '[{"id":1,"type":"story"},{"id":2,"type":"story"},null]'

async function withUpload(folder: string, use: (upload: Upload) => Promise<void>): Promise<void> {
  const upload = await openUpload({ folder })
  try {
    await use(upload)
  } finally {
    await upload.stop()
  }
}

test('a catalogue that was lost, or that lacks the newest items, is noticed', async () => {
  await using stage = await Stage.open('memory')
  const folder = await mkdtemp(join(tmpdir(), 'sluice-catalogue-check-'))
  try {
    assert.equal((await stage.run(items)).state, 'partially_completed')
    await stage.upload.checkCatalogue(stage.control)
    await withUpload(folder, (upload) =>
      assert.rejects(upload.checkCatalogue(stage.control), {
        code: 'conflict',
        message:
          /^The search index was lost, or it is older than the store: item [12] is completed and not in it\. .*rebuild-index/,
      }),
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

test('a catalogue that has outlived its store is noticed', async () => {
  await using stage = await Stage.open('memory')
  assert.equal((await stage.run(items)).state, 'partially_completed')
  const store = memoryStore()
  const other = await openSluice({ store, implementations: stage.upload.implementations })
  try {
    await withUpload(stage.folder, (upload) =>
      assert.rejects(upload.checkCatalogue(other), {
        code: 'conflict',
        message: /^The search index belongs to another store, or to a newer state of this one: .*rebuild-index/,
      }),
    )
  } finally {
    await other.stop()
    await store.close()
  }
})
