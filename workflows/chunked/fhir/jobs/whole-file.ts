import { createHash } from 'node:crypto'
import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Boundaries, fail, isHandleWithin, leadsWithin } from 'sluice/chunked'
import { SluiceError } from 'sluice/errors'
import { outside } from './place.ts'

/**
 * A file that appears under its name whole and durable, or not at all. Until then it stands beside it under the number of the
 * attempt that writes it: a later attempt removes what earlier ones left, and so takes the pen from one that still lives. A
 * number may be given twice, if the first one's lease was lost; so each looks whether what stands there is its own.
 */
export class WholeFile {
  readonly path: string
  readonly #temporary: string
  readonly #handle: FileHandle
  readonly #boundaries: Boundaries
  readonly #hash = createHash('sha256')
  #bytes = 0

  private constructor(path: string, temporary: string, handle: FileHandle, boundaries: Boundaries) {
    this.path = path
    this.#temporary = temporary
    this.#handle = handle
    this.#boundaries = boundaries
  }

  /** With boundaries the folder must be there, and within them, links resolved: now, and whenever the file is looked at by its name. */
  static async create(path: string, attempt: number, boundaries: Boundaries = []): Promise<WholeFile> {
    if (boundaries.length === 0) await mkdir(dirname(path), { recursive: true })
    else if (!(await leadsWithin(path, boundaries))) throw notAllowed(path)
    for (let earlier = 1; earlier <= attempt; earlier += 1) await rm(`${path}.${earlier}.tmp`, { force: true })
    const temporary = `${path}.${attempt}.tmp`
    const file = new WholeFile(path, temporary, await open(temporary, 'wx'), boundaries)
    if (await isHandleWithin(file.#handle, temporary, boundaries)) return file
    await file.discard()
    throw notAllowed(path)
  }

  /** All at once. */
  static async write(path: string, attempt: number, content: string, signal?: AbortSignal): Promise<void> {
    await (await WholeFile.create(path, attempt)).writeAll(content, signal)
  }

  async writeAll(content: string, signal?: AbortSignal): Promise<void> {
    try {
      await this.write(Buffer.from(content))
      await this.publish(signal)
    } catch (error) {
      await this.discard()
      throw error
    }
  }

  get bytes(): number {
    return this.#bytes
  }

  async write(block: Uint8Array): Promise<void> {
    for (let at = 0; at < block.length; ) {
      at += (await this.#handle.write(block, at, block.length - at)).bytesWritten
    }
    this.#hash.update(block)
    this.#bytes += block.length
  }

  /** First the content must be durable, then the name. Says the digest of the content. */
  async publish(signal?: AbortSignal): Promise<string> {
    await this.#handle.sync()
    // Whoever was told to end has a successor, whose file this must not become.
    signal?.throwIfAborted()
    if (!(await this.#isOwn())) throw overtaken(this.path)
    if (!(await isHandleWithin(this.#handle, this.#temporary, this.#boundaries))) throw notAllowed(this.path)
    await this.#handle.close()
    await rename(this.#temporary, this.path)
    await syncFolder(dirname(this.path))
    return this.#hash.digest('hex')
  }

  /** Leaves nothing behind, also after a publish that went wrong. */
  async discard(): Promise<void> {
    const isOwn = await this.#isOwn().catch(() => false)
    await this.#handle.close().catch(() => {})
    if (isOwn) await rm(this.#temporary, { force: true })
  }

  async #isOwn(): Promise<boolean> {
    const [own, there] = await Promise.all([this.#handle.stat(), stat(this.#temporary).catch(() => null)])
    return own.ino === there?.ino && own.dev === there.dev
  }
}

function notAllowed(path: string): unknown {
  const { reason, message } = outside(path)
  return fail(reason, message)
}

/** Worth another attempt, if there is nobody else. */
export function overtaken(path: string): SluiceError {
  return new SluiceError('lease_lost', `Another attempt writes ${path} now; this one leaves it alone.`, { path })
}

export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
