import { type FileHandle, open } from 'node:fs/promises'

/** How much of a file is read at once: less costs time, more costs memory. */
const readBytes = 524_288

/**
 * The bytes of a file, in pieces that hold until the next one is asked for: two buffers take turns, so that one is filled while
 * the other is looked at. A new one for each piece would leave tens of MiB of dead buffers in memory that the process never gives back.
 */
export async function* fileBytes(file: string, signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
  const handle = await open(file)
  let [filling, full] = [Buffer.allocUnsafeSlow(readBytes), Buffer.allocUnsafeSlow(readBytes)]
  let reading = read(handle, filling)
  try {
    for (;;) {
      const count = await reading
      signal.throwIfAborted()
      if (count === 0) return
      ;[filling, full] = [full, filling]
      reading = read(handle, filling)
      yield full.subarray(0, count)
    }
  } finally {
    // Whoever went away early leaves a read under way: the buffer and the file are its own until it is over.
    await reading.catch(() => undefined)
    await handle.close()
  }
}

function read(handle: FileHandle, buffer: Buffer): Promise<number> {
  const reading = handle.read(buffer, 0, buffer.length, null).then(({ bytesRead }) => bytesRead)
  // Awaited when its turn comes: until then its failure is nobody's.
  reading.catch(() => undefined)
  return reading
}
