import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, SluiceError } from 'sluice'
import type { Attachment } from './job-data.ts'
import type { ChunkedLimits } from './settings.ts'

/** A file that somebody hands over with a job. */
export interface GivenAttachment {
  readonly name: string
  readonly contentType?: string
  readonly source: AsyncIterable<Uint8Array>
}

export interface StoredAttachments {
  readonly folder: string
  readonly attachments: readonly Attachment[]
}

const nameRule = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/
const folderRule = /^[0-9a-f]{64}$/

/**
 * Big inputs of jobs: one folder for each set of files, named by their content. A set appears whole and durable, or not at all; the same
 * set is stored once. Processes that work on the same jobs share the folder.
 */
export class AttachmentStore {
  readonly #folder: string
  readonly #limits: ChunkedLimits
  readonly #clock: Clock

  constructor(folder: string, limits: ChunkedLimits, clock: Clock) {
    this.#folder = folder
    this.#limits = limits
    this.#clock = clock
  }

  /** Those of a form that is streamed are known one after another: each is checked when it comes. */
  async store(given: Iterable<GivenAttachment> | AsyncIterable<GivenAttachment>): Promise<StoredAttachments | null> {
    await mkdir(this.#folder, { recursive: true })
    const mark = Math.floor(this.#clock.random() * 1e12).toString(36)
    const receiving = join(this.#folder, `receiving-${process.pid}-${this.#clock.now()}-${mark}`)
    await mkdir(receiving)
    try {
      const attachments: Attachment[] = []
      for await (const attachment of given) {
        this.#check(attachment.name, attachments)
        attachments.push(await this.#receive(receiving, attachment))
      }
      if (attachments.length === 0) {
        await rm(receiving, { recursive: true, force: true })
        return null
      }
      const folder = createHash('sha256').update(JSON.stringify(attachments)).digest('hex')
      await syncFolder(receiving)
      await this.#publish(receiving, join(this.#folder, folder))
      return { folder, attachments }
    } catch (error) {
      await rm(receiving, { recursive: true, force: true })
      throw error
    }
  }

  /** The content, checked while it is read: whoever gets to its end has read what was handed over. */
  async *read(folder: string, { name, bytes, sha256 }: Attachment): AsyncIterable<Uint8Array> {
    if (!folderRule.test(folder) || !nameRule.test(name)) throw damaged(name, 'its name is no name')
    const hash = createHash('sha256')
    let read = 0
    const stream = createReadStream(join(this.#folder, folder, name), { highWaterMark: 256 * 1024 })
    for await (const block of stream as AsyncIterable<Buffer>) {
      hash.update(block)
      read += block.length
      yield block
    }
    if (read !== bytes) throw damaged(name, `it has ${read} bytes and should have ${bytes}`)
    if (hash.digest('hex') !== sha256) throw damaged(name, 'its digest is another')
  }

  /** Removes what no job names any more. What is young may belong to a job that is just being started. */
  async sweep(isNamed: (folder: string) => Promise<boolean>, ageMs: number): Promise<number> {
    let removed = 0
    for (const name of await readdir(this.#folder).catch(() => [])) {
      const path = join(this.#folder, name)
      const found = await stat(path).catch(() => null)
      if (!found || this.#clock.now() - found.mtimeMs < ageMs) continue
      if (folderRule.test(name) ? await isNamed(name) : !name.startsWith('receiving-')) continue
      await rm(path, { recursive: true, force: true })
      removed += 1
    }
    return removed
  }

  #check(name: string, before: readonly Attachment[]): void {
    const { attachmentsMax } = this.#limits
    const field = `attachments.${before.length}`
    if (before.length >= attachmentsMax) {
      throw new SluiceError('invalid', `A job has at most ${attachmentsMax} attachments; more were given.`)
    }
    if (!nameRule.test(name)) {
      throw new SluiceError(
        'invalid',
        `${field}.name must be up to 128 letters, digits, dots, dashes or underscores; it was ${JSON.stringify(name)}.`,
      )
    }
    if (before.some((other) => other.name === name)) {
      throw new SluiceError('invalid', `${field}.name is ${name}, and another one has that name.`)
    }
  }

  async #receive(folder: string, { name, contentType, source }: GivenAttachment): Promise<Attachment> {
    const { attachmentBytesMax } = this.#limits
    const hash = createHash('sha256')
    let bytes = 0
    const file = await open(join(folder, name), 'wx')
    try {
      for await (const block of source) {
        bytes += block.length
        if (bytes > attachmentBytesMax) {
          throw new SluiceError('invalid', `Attachment ${name} has more than ${attachmentBytesMax} bytes.`, { name })
        }
        hash.update(block)
        await file.writeFile(block)
      }
      await file.sync()
    } finally {
      await file.close()
    }
    return { name, contentType: contentType ?? null, bytes, sha256: hash.digest('hex') }
  }

  /** The same set may be there already, and may be in use: then that one stays. */
  async #publish(receiving: string, path: string): Promise<void> {
    try {
      await rename(receiving, path)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error
      await rm(receiving, { recursive: true, force: true })
    }
    // As young as the job that is about to name it: a sweep leaves it alone.
    const now = new Date(this.#clock.now())
    await utimes(path, now, now)
    await syncFolder(this.#folder)
  }
}

function damaged(name: string, why: string): SluiceError {
  return new SluiceError('invalid', `Attachment ${name} is damaged: ${why}.`, { name })
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
