import { closeSync, openSync, readdirSync, rmSync } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { SluiceError } from 'sluice/errors'
import { mayLive, processMark } from './process-mark.ts'

const pattern = /^(?:receiving|repeats)-([0-9a-f]+-\d+-[0-9x]+)-\d+\.tmp$/
/** Files that one process receives at the same time. */
const temporariesMax = 10_000

/** A file that does not count yet. It appears under its final name whole and durable, or never. */
export class TempFile {
  readonly #folder: string
  readonly #path: string
  readonly #handle: FileHandle
  #bytes = 0

  private constructor(folder: string, path: string, handle: FileHandle) {
    this.#folder = folder
    this.#path = path
    this.#handle = handle
  }

  static async create(folder: string): Promise<TempFile> {
    const mark = processMark()
    // The threads of a process have the same mark and know nothing of each other: whoever creates the file owns the number.
    for (let number = 1; number <= temporariesMax; number += 1) {
      const path = join(folder, `receiving-${mark}-${number}.tmp`)
      try {
        return new TempFile(folder, path, await open(path, 'wx'))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw writeFault(error, folder, 0)
      }
    }
    throw new SluiceError('conflict', `More than ${temporariesMax} files are being received in ${folder}.`)
  }

  get path(): string {
    return this.#path
  }

  get bytes(): number {
    return this.#bytes
  }

  async write(block: Uint8Array): Promise<void> {
    try {
      for (let at = 0; at < block.length; ) {
        at += (await this.#handle.write(block, at, block.length - at)).bytesWritten
      }
    } catch (error) {
      throw writeFault(error, this.#folder, this.#bytes)
    }
    this.#bytes += block.length
  }

  /** First the content must be durable, then the name: a name that survives a crash never leads to half a file. */
  async commit(path: string): Promise<void> {
    try {
      await this.#handle.sync()
      await this.#handle.close()
      await rename(this.#path, path)
      await syncFolder(this.#folder)
    } catch (error) {
      throw writeFault(error, this.#folder, this.#bytes)
    }
  }

  /** Leaves nothing behind. It may be called at any point, also after a commit that went wrong. */
  async discard(): Promise<void> {
    await this.#handle.close().catch(() => undefined)
    await rm(this.#path, { force: true })
  }
}

/** An empty file for a purpose of this process, under a name of its own. If the process dies, a later start removes it. */
export function reserveTempFile(folder: string, purpose: 'repeats'): string {
  const mark = processMark()
  for (let number = 1; number <= temporariesMax; number += 1) {
    const path = join(folder, `${purpose}-${mark}-${number}.tmp`)
    try {
      closeSync(openSync(path, 'wx'))
      return path
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw writeFault(error, folder, 0)
    }
  }
  throw new SluiceError('conflict', `More than ${temporariesMax} temporary files of this process lie in ${folder}.`)
}

/** Removes what processes left that have ended. Those of living processes, and of other hosts, stay. */
export function sweepTempFiles(folder: string): void {
  for (const name of readdirSync(folder)) {
    const mark = pattern.exec(name)?.[1]
    if (mark !== undefined && !mayLive(mark)) rmSync(join(folder, name), { force: true })
  }
}

export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Says in one sentence why a file cannot be written. */
export function writeFault(error: unknown, folder: string, bytes: number): SluiceError {
  const code = (error as NodeJS.ErrnoException).code
  const after = `after ${bytes} bytes; nothing was kept`
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    const message = `The disk of ${folder} is full (${code}) ${after}. Make room and upload again.`
    return new SluiceError('internal', message, { folder, bytes, code }, error)
  }
  return new SluiceError(
    'internal',
    `The file cannot be written to ${folder} (${code}) ${after}.`,
    { folder, bytes, code },
    error,
  )
}
