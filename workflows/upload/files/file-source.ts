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
    if ((await handle.stat()).isDirectory()) {
      throw new SluiceError('invalid', `${path} is a folder; a file was expected.`, { path })
    }
    const block = Buffer.allocUnsafe(blockBytes)
    for (;;) {
      const { bytesRead } = await handle.read(block, 0, blockBytes)
      if (bytesRead === 0) return
      yield block.subarray(0, bytesRead)
    }
  } finally {
    await handle.close()
  }
}
