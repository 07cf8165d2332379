import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Clock, sleep } from 'sluice'
import { type Dialer, dialErrorDetail } from 'sluice/dial'
import type { FhirLimits } from './fhir-limits.ts'
import { overtaken, syncFolder, WholeFile } from './whole-file.ts'

export interface DownloadTools {
  readonly dialer: Dialer
  readonly clock: Clock
  readonly limits: FhirLimits
  readonly acceptGzip: boolean
  readonly attempt: number
  readonly signal: AbortSignal
  progress(value: unknown): void
}

export interface Downloaded {
  readonly path: string
  /** Of what the server sent: what is read from the disk must be the same. */
  readonly sha256: string
}

/** What is certainly on the disk. */
interface State {
  readonly bytes: number
  /** Names the version that they are of; null: it cannot be gone on with. */
  readonly validator: string | null
  /** Of the whole, once it is there. */
  readonly sha256: string | null
}

const nothing: State = { bytes: 0, validator: null, sha256: null }
const waitMsMax = 30_000

/**
 * Fetches a file to a path, and goes on where it was after a cut connection, an attempt that failed or a crash. Three files:
 * `.part` grows; `.state` says how much of it is durable and of which version; the path itself appears when all is there.
 *
 * A crash while a block is written: the state does not know of it, and what follows cuts the part back to what the state says.
 * A crash between the last block and the state, or between the state and the new name: the rest is asked for again, which is
 * nothing or little. A crash after that: the path is there, and nothing is fetched. An attempt that lost its lease may write on for
 * a moment beside its successor: whatever the two make of the part, it counts only if its digest is that of what was sent.
 */
export async function download(url: string, path: string, tools: DownloadTools): Promise<Downloaded> {
  await mkdir(dirname(path), { recursive: true })
  const { limits, clock, signal } = tools
  for (let resumes = 0; ; resumes += 1) {
    const state = await readState(path)
    if (state.sha256 !== null && (await isThere(path))) return { path, sha256: state.sha256 }
    try {
      return { path, sha256: await fetchRest(url, path, state, tools) }
    } catch (error) {
      const detail = dialErrorDetail(error)
      signal.throwIfAborted()
      // It has changed since: its beginning is worth nothing any more.
      if (detail?.reason === 'range') await rm(`${path}.state`, { force: true })
      else if (!detail?.retryable) throw error
      const waitMs = Math.min(limits.retryMs * 2 ** resumes, waitMsMax)
      // A server that wants to be left alone for longer is: the chunk waits, not this process.
      if (resumes >= limits.resumesMax || (detail.retryAfterMs ?? 0) > waitMs) throw error
      await sleep(clock, waitMs, signal)
    }
  }
}

async function fetchRest(url: string, path: string, state: State, tools: DownloadTools): Promise<string> {
  const { dialer, limits, acceptGzip, attempt, signal, progress } = tools
  const part = await Part.open(path, state, attempt)
  try {
    const { downloadMs: timeoutMs, idleMs, fileBytesMax: bytesMax, saveBytes } = limits
    const rest = part.validator === null ? {} : { rangeFrom: part.bytes, validator: part.validator }
    const answer = await dialer.get(url, { timeoutMs, idleMs, bytesMax, acceptGzip, signal, ...rest })
    await part.begin(answer.offset, answer.validator)
    try {
      for await (const block of answer.body) {
        await part.write(block)
        if (part.unsaved < saveBytes) continue
        await part.save()
        progress({ bytes: part.bytes, of: answer.length })
      }
    } catch (error) {
      // What came before the cut need not come again. Whoever was told to end leaves the files to its successor.
      if (!signal.aborted) await part.save()
      throw error
    }
    signal.throwIfAborted()
    return await part.complete()
  } finally {
    await part.close()
  }
}

/** The growing file. */
class Part {
  readonly #path: string
  readonly #handle: FileHandle
  readonly #attempt: number
  #hash: Hash
  bytes: number
  validator: string | null
  #saved: number

  private constructor(path: string, handle: FileHandle, attempt: number, hash: Hash, state: State) {
    this.#path = path
    this.#handle = handle
    this.#attempt = attempt
    this.#hash = hash
    this.bytes = state.bytes
    this.validator = state.validator
    this.#saved = state.bytes
  }

  static async open(path: string, state: State, attempt: number): Promise<Part> {
    const part = `${path}.part`
    const size = (await stat(part).catch(() => null))?.size ?? 0
    const isUsable = state.validator !== null && state.bytes > 0 && size >= state.bytes
    const from = isUsable ? state : nothing
    const hash = await hashOf(part, from.bytes)
    const handle = await open(part, isUsable ? 'r+' : 'w')
    await handle.truncate(from.bytes)
    return new Part(path, handle, attempt, hash, from)
  }

  get unsaved(): number {
    return this.bytes - this.#saved
  }

  /** The server goes on, or begins anew with what may be another version. */
  async begin(offset: number, validator: string | null): Promise<void> {
    if (offset === this.bytes && offset > 0) return
    await rm(`${this.#path}.state`, { force: true })
    await this.#handle.truncate(0)
    this.#hash = createHash('sha256')
    this.bytes = 0
    this.#saved = 0
    this.validator = validator
  }

  async write(block: Uint8Array): Promise<void> {
    for (let at = 0; at < block.length; ) {
      const { bytesWritten } = await this.#handle.write(block, at, block.length - at, this.bytes + at)
      at += bytesWritten
    }
    this.#hash.update(block)
    this.bytes += block.length
  }

  /** First the bytes, then the state that says so. */
  async save(sha256: string | null = null): Promise<void> {
    await this.#handle.sync()
    this.#saved = this.bytes
    const state: State = { bytes: this.bytes, validator: this.validator, sha256 }
    await WholeFile.write(`${this.#path}.state`, this.#attempt, JSON.stringify(state))
  }

  async complete(): Promise<string> {
    const sha256 = this.#hash.digest('hex')
    await this.save(sha256)
    await rename(`${this.#path}.part`, this.#path).catch((error: unknown) => {
      throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? overtaken(this.#path) : error
    })
    await syncFolder(dirname(this.#path))
    return sha256
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }
}

async function hashOf(file: string, bytes: number): Promise<Hash> {
  const hash = createHash('sha256')
  if (bytes === 0) return hash
  const stream = createReadStream(file, { end: bytes - 1, highWaterMark: 1024 * 1024 })
  for await (const block of stream as AsyncIterable<Buffer>) hash.update(block)
  return hash
}

async function readState(path: string): Promise<State> {
  try {
    return JSON.parse(await readFile(`${path}.state`, 'utf8')) as State
  } catch {
    // None, or none that can be read: then it begins anew.
    return nothing
  }
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null
}

/** What was fetched is not what lies there: it is fetched again. */
export async function forget(path: string): Promise<void> {
  for (const file of [`${path}.state`, `${path}.part`, path]) await rm(file, { force: true })
}
