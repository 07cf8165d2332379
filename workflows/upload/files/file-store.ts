import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { SluiceError } from 'sluice/errors'
import { sniffContentType } from './content-type.ts'
import { sanitiseFileName } from './file-name.ts'
import { SliceReader } from './slice-reader.ts'
import { sweepTempFiles, syncFolder, TempFile } from './temp-file.ts'

const blockBytes = 524_288
const headBytes = 65_536

export interface FileLimits {
  /** Of the received bytes, and of what they become when inflated. */
  readonly fileBytesMax: number
}

export const defaultFileLimits: FileLimits = { fileBytesMax: 10 * 1024 ** 3 }

export interface FileStoreOptions {
  readonly folder: string
  readonly limits?: FileLimits
}

export interface Receiving {
  /** Only a label. */
  readonly fileName: string
  readonly contentType?: string | undefined
  /** How big the file is said to be: one too big is refused before it is sent, and one that turns out otherwise is not stored. */
  readonly expectedBytes?: number | undefined
  /** Digests of the bytes as they are sent, in hexadecimal. A file that has another is not stored. */
  readonly sha256?: string | undefined
  readonly md5?: string | undefined
  /** Received bytes so far. */
  readonly onProgress?: ((bytes: number) => void) | undefined
  /** So many bytes can be read from a file that does not count yet. It may be gone at any time. */
  readonly onWritten?: ((path: string, bytes: number) => void) | undefined
}

export interface StoredFile {
  /** Digests of the bytes as they were received. */
  readonly sha256: string
  readonly md5: string
  /** Received bytes. */
  readonly fileSize: number
  /** Bytes as they are stored, inflated, and their digest. */
  readonly storedBytes: number
  readonly storedSha256: string
  readonly contentType: string
  readonly fileName: string
  readonly gzip: boolean
}

/**
 * Keeps files in a folder, each under its digest. What is stored is plain: gzip is inflated on the way, so that any place of it
 * can be read at once. Several processes may share the folder.
 */
export class FileStore {
  readonly #folder: string
  readonly #limits: FileLimits

  constructor(options: FileStoreOptions) {
    this.#folder = options.folder
    this.#limits = options.limits ?? defaultFileLimits
    makeFolder(this.#folder)
    sweepTempFiles(this.#folder)
  }

  /** Streams a file into the folder. It holds a block or two in memory, however big the file. Whatever goes wrong leaves nothing. */
  async receive(source: AsyncIterable<Uint8Array>, receiving: Receiving): Promise<StoredFile> {
    checkDigests(receiving)
    await this.#refuseEarly(receiving.expectedBytes)
    const temp = await TempFile.create(this.#folder)
    try {
      const reception = new Reception(temp, this.#limits, receiving)
      await reception.run(source)
      const stored = reception.result()
      refuseOther(stored, receiving)
      await this.#keep(temp, stored)
      return stored
    } catch (error) {
      await temp.discard()
      throw error
    }
  }

  pathOf(sha256: string): string {
    if (!/^[0-9a-f]{64}$/.test(sha256)) {
      throw new SluiceError(
        'invalid',
        `A stored file is named by 64 hexadecimal digits; found "${sha256.slice(0, 80)}".`,
      )
    }
    return join(this.#folder, sha256)
  }

  exists(sha256: string): boolean {
    return existsSync(this.pathOf(sha256))
  }

  /** For reading single elements. Whoever opens it closes it. */
  open(sha256: string): SliceReader {
    return new SliceReader(this.pathOf(sha256))
  }

  /** Removes a stored file; that it is not there is no error. */
  async remove(sha256: string): Promise<void> {
    rmSync(this.pathOf(sha256), { force: true })
    await syncFolder(this.#folder)
  }

  async #refuseEarly(expectedBytes: number | undefined): Promise<void> {
    if (expectedBytes === undefined) return
    if (!Number.isSafeInteger(expectedBytes) || expectedBytes < 0) {
      throw new SluiceError('invalid', `expectedBytes must be a whole number of bytes; found ${expectedBytes}.`)
    }
    if (expectedBytes > this.#limits.fileBytesMax) throw tooBig('is', expectedBytes, this.#limits)
    const { bavail, bsize } = await statfs(this.#folder)
    if (expectedBytes > bavail * bsize) {
      const message = `The file has ${expectedBytes} bytes, but only ${bavail * bsize} are free on the disk of ${this.#folder}.`
      throw new SluiceError('internal', message, { expectedBytes, free: bavail * bsize })
    }
  }

  /**
   * The same content may be there already. It is replaced all the same, as it may be damaged without another length. A reader that has it
   * open notices. Windows does not replace an open file: there one of the same length stays.
   */
  async #keep(temp: TempFile, stored: StoredFile): Promise<void> {
    const path = this.pathOf(stored.sha256)
    if (process.platform === 'win32' && statSync(path, { throwIfNoEntry: false })?.size === stored.storedBytes) {
      await temp.discard()
    } else {
      await temp.commit(path)
    }
  }
}

/** Step by step: a recursive mkdir calls a parent that cannot be made one that does not exist, whatever is wrong with it. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return
  const parent = dirname(resolve(folder))
  makeFolder(parent)
  try {
    mkdirSync(folder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return
    const why = code === 'EROFS' ? 'its disk is read only' : `the system says ${code}`
    throw new SluiceError('forbidden', `The folder ${folder} cannot be made: ${why}.`, { folder, code }, error)
  }
}

/** One file on its way in. */
class Reception {
  readonly #temp: TempFile
  readonly #limits: FileLimits
  readonly #receiving: Receiving
  readonly #md5 = createHash('md5')
  readonly #sha256 = createHash('sha256')
  /** Of what gzip was inflated to. */
  readonly #inflatedSha256 = createHash('sha256')
  #received = 0
  #gzip = false
  #head: Buffer = Buffer.alloc(0)

  constructor(temp: TempFile, limits: FileLimits, receiving: Receiving) {
    this.#temp = temp
    this.#limits = limits
    this.#receiving = receiving
  }

  async run(source: AsyncIterable<Uint8Array>): Promise<void> {
    const blocks = this.#blocks(source)
    const first = await blocks.next()
    if (first.done) return
    this.#gzip = first.value[0] === 0x1f && first.value[1] === 0x8b
    if (this.#gzip) {
      await this.#inflate(first.value, blocks)
    } else {
      await this.#store(first.value)
      for await (const block of blocks) await this.#store(block)
    }
  }

  result(): StoredFile {
    const { fileName: given, contentType: header } = this.#receiving
    const fileName = sanitiseFileName(given)
    const head = { bytes: this.#head, offset: 0, whole: this.#temp.bytes === this.#head.length }
    const sha256 = this.#sha256.digest('hex')
    return {
      sha256,
      storedSha256: this.#gzip ? this.#inflatedSha256.digest('hex') : sha256,
      md5: this.#md5.digest('hex'),
      fileSize: this.#received,
      storedBytes: this.#temp.bytes,
      contentType: sniffContentType(head, { header, fileName }),
      fileName,
      gzip: this.#gzip,
    }
  }

  /** The received bytes in big blocks. A block holds until the next one is asked for. */
  async *#blocks(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void, undefined> {
    const block = Buffer.allocUnsafe(blockBytes)
    let filled = 0
    for await (const chunk of source) {
      if (this.#received + chunk.length > this.#limits.fileBytesMax) {
        throw tooBig('has more than', this.#received + chunk.length, this.#limits)
      }
      const { expectedBytes = Number.POSITIVE_INFINITY } = this.#receiving
      if (this.#received + chunk.length > expectedBytes) {
        const message = `The file goes on after the ${expectedBytes} bytes that were announced. Was it changed while it was sent?`
        throw new SluiceError('invalid', message, { expectedBytes })
      }
      this.#received += chunk.length
      for (let at = 0; at < chunk.length; ) {
        const part = chunk.subarray(at, at + blockBytes - filled)
        block.set(part, filled)
        filled += part.length
        at += part.length
        if (filled === blockBytes) {
          yield block
          this.#receiving.onProgress?.(this.#received)
          filled = 0
        }
      }
    }
    if (filled > 0) yield block.subarray(0, filled)
    this.#receiving.onProgress?.(this.#received)
  }

  /** The disk writes while the digests are computed. */
  async #store(block: Buffer): Promise<void> {
    const writing = this.#write(block)
    this.#digest(block)
    await writing
  }

  #digest(block: Buffer): void {
    this.#md5.update(block)
    this.#sha256.update(block)
  }

  async #write(bytes: Buffer): Promise<void> {
    if (this.#head.length < headBytes) {
      this.#head = Buffer.concat([this.#head, bytes.subarray(0, headBytes - this.#head.length)])
    }
    if (this.#gzip) this.#inflatedSha256.update(bytes)
    await this.#temp.write(bytes)
    this.#receiving.onWritten?.(this.#temp.path, this.#temp.bytes)
  }

  async #inflate(first: Buffer, rest: AsyncIterable<Buffer>): Promise<void> {
    const gunzip = createGunzip({ chunkSize: blockBytes / 2 })
    const digested = this.#digested(first, rest)
    try {
      await pipeline(digested, gunzip, async (inflated: AsyncIterable<Buffer>) => {
        for await (const bytes of inflated) {
          if (this.#temp.bytes + bytes.length > this.#limits.fileBytesMax) {
            throw tooBig('inflates to more than', this.#temp.bytes + bytes.length, this.#limits)
          }
          await this.#write(bytes)
        }
      })
    } catch (error) {
      // The inflated stream has ended and the received one has not.
      if (!gunzip.readableEnded) throw gzipFault(error, this.#received) ?? error
    }
    // Zeros after the last member are passed over by zlib in silence, with all that follows them: it could be data.
    if (gunzip.bytesWritten < this.#received) {
      const message = `After byte ${gunzip.bytesWritten} the gzip file goes on with bytes that are not gzip.`
      throw new SluiceError('invalid', message, { offset: gunzip.bytesWritten })
    }
  }

  async *#digested(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
    this.#digest(first)
    // Copies, because zlib may still look at a block when the next one is filled.
    yield Buffer.from(first)
    for await (const block of rest) {
      this.#digest(block)
      yield Buffer.from(block)
    }
  }
}

const digestLengths = { sha256: 64, md5: 32 } as const

function checkDigests(receiving: Receiving): void {
  for (const [name, length] of Object.entries(digestLengths)) {
    const said = receiving[name as keyof typeof digestLengths]
    if (said === undefined || (said.length === length && /^[0-9a-f]+$/i.test(said))) continue
    throw new SluiceError('invalid', `${name} must be ${length} hexadecimal digits; found "${said.slice(0, 80)}".`)
  }
}

/** A sender that died at the end of a line leaves a file that looks whole: only what it announced tells. */
function refuseOther(stored: StoredFile, receiving: Receiving): void {
  const { expectedBytes } = receiving
  const { fileSize } = stored
  if (expectedBytes !== undefined && fileSize !== expectedBytes) {
    const message = `The file is incomplete: ${fileSize} bytes arrived, ${expectedBytes} were announced. Send it again from its beginning.`
    throw new SluiceError('invalid', message, { expectedBytes, fileSize })
  }
  for (const name of ['sha256', 'md5'] as const) {
    const said = receiving[name]?.toLowerCase()
    if (said === undefined || said === stored[name]) continue
    const message = `The ${name} of what arrived is ${stored[name]}, not ${said} as was announced. Send the file again.`
    throw new SluiceError('invalid', message, { expected: said, found: stored[name] })
  }
}

function tooBig(verb: string, bytes: number, limits: FileLimits): SluiceError {
  const message =
    verb === 'is'
      ? `The file has ${bytes} bytes; at most ${limits.fileBytesMax} are taken.`
      : `The file ${verb} the ${limits.fileBytesMax} bytes that are taken.`
  return new SluiceError('invalid', message, { bytes, fileBytesMax: limits.fileBytesMax })
}

function gzipFault(error: unknown, received: number): SluiceError | null {
  const code = (error as NodeJS.ErrnoException).code
  if (code === 'Z_BUF_ERROR') {
    const message = `The gzip file is truncated: it ends after ${received} bytes inside its data.`
    return new SluiceError('invalid', message, { received }, error)
  }
  if (code?.startsWith('Z_')) {
    const message = `The gzip file is broken (${(error as Error).message}) within its first ${received} bytes.`
    return new SluiceError('invalid', message, { received }, error)
  }
  return null
}
