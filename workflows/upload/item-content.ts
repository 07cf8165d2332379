import { open } from 'node:fs/promises'
import { type Control, SluiceError } from 'sluice'
import type { BatchData } from './batch-data.ts'
import type { ItemData } from './item-data.ts'
import { uploadItem } from './item-machine.ts'

/** Enough to see what is wrong with an element; the rest is in the file. */
const shownBytesMax = 4_096

/** The bytes of one item as they stand in its file. */
export interface ItemContent {
  readonly id: number
  readonly fileName: string
  readonly itemIndex: number
  /** Where it begins in the (inflated) file, and how long it is, in bytes. */
  readonly offset: number
  readonly length: number
  /** Its first bytes as UTF-8; what is no UTF-8 becomes U+FFFD. */
  readonly text: string
  /** Whether there is more than `text` shows. */
  readonly truncated: boolean
}

export async function itemContent(
  control: Control,
  pathOf: (sha256: string) => string,
  id: number,
): Promise<ItemContent> {
  const detail = await control.get(id)
  if (detail.machine !== uploadItem.name) {
    throw new SluiceError('not_found', `Entity ${id} is no item of an upload; it is of machine ${detail.machine}.`, {
      id,
    })
  }
  const { batchId, itemIndex, offset, length } = detail.data as ItemData
  const { fileName, sha256 } = (await control.get(batchId)).data as BatchData
  const bytes = await bytesAt(pathOf(sha256), offset, Math.min(length, shownBytesMax))
  if (bytes === null) {
    throw new SluiceError('not_found', `The file ${fileName} of batch ${batchId} is not kept any more.`, {
      id,
      batchId,
    })
  }
  const text = bytes.toString('utf8')
  return { id, fileName, itemIndex, offset, length, text, truncated: bytes.length < length }
}

/** Null: the file is gone. Fewer bytes than asked for: it ends there. */
async function bytesAt(path: string, offset: number, length: number): Promise<Buffer | null> {
  let file: Awaited<ReturnType<typeof open>>
  try {
    file = await open(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}
