import { open } from 'node:fs/promises'
import { SluiceError } from 'sluice/errors'

const blockBytes = 262_144

/**
 * The content of a file on this machine, to be received. Every block is read into the same memory, so it holds only until the
 * next one is asked for: a read stream allocates each block anew, and tens of megabytes of them wait to be collected.
 */
export async function* fileSource(path: string): AsyncGenerator<Uint8Array, void, undefined> {
  const handle = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw new SluiceError('not_found', `There is no file ${path}.`, { path }, error)
    throw new SluiceError('invalid', `The file ${path} cannot be opened (${error.code}).`, { path }, error)
  })
  try {
    const before = await handle.stat()
    if (before.isDirectory()) {
      throw new SluiceError('invalid', `${path} is a folder; a file was expected.`, { path })
    }
    const block = Buffer.allocUnsafe(blockBytes)
    let read = 0
    for (;;) {
      const { bytesRead } = await handle.read(block, 0, blockBytes)
      if (bytesRead === 0) break
      read += bytesRead
      yield block.subarray(0, bytesRead)
    }
    // Cut at the end of a line, a file of lines looks whole. What is no file, as a pipe, has no size.
    if (before.isFile() && read !== before.size) {
      const message = `The file ${path} was changed while it was read: it had ${before.size} bytes, and ${read} were read. Upload it again when nobody writes to it.`
      throw new SluiceError('invalid', message, { path, size: before.size, read })
    }
  } finally {
    await handle.close()
  }
}
