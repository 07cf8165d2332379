import { createHash } from 'node:crypto'
import { type FileHandle, stat } from 'node:fs/promises'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { fail, retry, type StepOutcome } from 'sluice/chunked'
import { messageOf } from 'sluice/errors'
import { forget } from './download.ts'
import { tooBig } from './input-files.ts'
import { WholeFile } from './whole-file.ts'

export type OpenFile = (path: string) => Promise<FileHandle>

export async function isGzip(path: string, open: OpenFile): Promise<boolean> {
  const handle = await open(path)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0)
    return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b
  } finally {
    await handle.close()
  }
}

export interface PlainCopyOptions {
  /** What the compressed content must be, if it was fetched. */
  readonly sha256: string | null
  readonly bytesMax: number
  readonly attempt: number
  readonly signal: AbortSignal
}

/**
 * Unpacks a file, so that its lines can be found by their bytes. The copy appears whole or not at all; if it is there already, an
 * attempt before this one has made it.
 */
export async function plainCopy(
  from: string,
  to: string,
  name: string,
  open: OpenFile,
  options: PlainCopyOptions,
): Promise<void> {
  if (await stat(to).catch(() => null)) return
  const { sha256, bytesMax, attempt, signal } = options
  const hash = createHash('sha256')
  const digesting = new Transform({
    transform(block: Buffer, _, give) {
      hash.update(block)
      give(null, block)
    },
  })
  const file = await WholeFile.create(to, attempt)
  try {
    await pipeline(
      (await open(from)).createReadStream({ highWaterMark: 256 * 1024 }),
      digesting,
      createGunzip({ chunkSize: 256 * 1024 }),
      async (blocks: AsyncIterable<Buffer>) => {
        for await (const block of blocks) {
          if (file.bytes + block.length > bytesMax) {
            const { reason, message } = tooBig(`${name}, unpacked,`, bytesMax)
            throw fail(reason, message)
          }
          await file.write(block)
        }
      },
      { signal },
    )
    if (sha256 !== null && hash.digest('hex') !== sha256) {
      await forget(from)
      throw damaged(name)
    }
    await file.publish(signal)
  } catch (error) {
    signal.throwIfAborted()
    throw unpackingFault(error, name)
  } finally {
    await file.discard()
  }
}

export function damaged(name: string): StepOutcome {
  return retry(`What lies on the disk of ${name} is not what was fetched. It is fetched again.`)
}

function unpackingFault(error: unknown, name: string): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (!code?.startsWith('Z_') && code !== 'ERR_TRAILING_JUNK_AFTER_STREAM_END') return error
  return fail('damaged gzip', `${name} begins as gzip and cannot be unpacked: ${messageOf(error)}.`)
}
