import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { openUpload, uploadBatch } from 'sluice/upload'
import type { Layout } from '../family/layout.ts'
import { holdToLook } from '../place.ts'
import { type Found, trouble, well } from './finding.ts'

/** Whether what was uploaded can be searched by an index that belongs to the store. */
export async function indexFindings(layout: Layout): Promise<readonly Found[]> {
  const { control, stop } = await holdToLook(layout, {}, [])
  try {
    const isThere = existsSync(join(layout.upload, 'catalogue.db'))
    const { entities } = await control.list({ machine: uploadBatch.name, limit: 1 })
    if (!isThere && entities.length === 0) return []
    // Opening makes an index that is not there, and looking is not to make one.
    if (!isThere) return [trouble('It is lost: nothing can be found. Build it anew: sluice upload rebuild-index.')]
    const upload = await openUpload({ folder: layout.upload })
    try {
      await upload.checkCatalogue(control)
      return [well('It belongs to the store.')]
    } finally {
      await upload.stop()
    }
  } finally {
    await stop()
  }
}
