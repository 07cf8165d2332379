import type { Multipart, MultipartFile } from '@fastify/multipart'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../clock.ts'
import { messageOf } from '../errors.ts'
import { textFault } from '../storable-text.ts'
import type { HttpLimits } from './http-limits.ts'
import { HttpRefusal, invalid } from './problem.ts'
import { isMultipart } from './route.ts'

/** A file as it arrives. It is never in memory as a whole. */
export interface SentFile {
  readonly fieldName: string
  readonly fileName: string
  readonly contentType: string
  readonly source: AsyncIterable<Uint8Array>
}

export interface SentForm {
  /** All that came before the first file. */
  readonly fields: Readonly<Record<string, string>>
  /** One after another; each must be read to its end before the next. */
  readonly files: AsyncIterable<SentFile>
}

const fieldsMax = 20
/** An upload that brings less than this within `receiveMs`, while it is waited for, has got stuck. */
const windowBytesMin = 1_024

/** Reads a form up to its first file. */
export async function readForm(
  request: FastifyRequest,
  reply: FastifyReply,
  limits: HttpLimits,
  clock: Clock,
): Promise<SentForm> {
  if (!isMultipart(request)) {
    throw new HttpRefusal('wrong-content-type', 'The body must be multipart/form-data here.')
  }
  const watch = new Watch(request, limits.receiveMs, clock)
  // Whoever refuses a form does not read it to its end: with the answer the watch is over in any case.
  reply.raw.once('close', () => watch.end())
  const parts = request.parts({
    limits: {
      fileSize: limits.fileBytesMax,
      files: limits.filesMax,
      fields: fieldsMax,
      fieldSize: limits.bodyBytesMax,
      parts: limits.filesMax + fieldsMax,
      headerPairs: 50,
    },
  }) as AsyncIterator<Multipart>
  const next = () => watch.wait(parts.next(), 0)
  const fields: Record<string, string> = Object.create(null)
  for (;;) {
    const step = await next()
    if (step.done) return { fields, files: filesFrom(null, next, watch, limits) }
    const part = step.value
    if (part.type === 'file') return { fields, files: filesFrom(part, next, watch, limits) }
    addField(fields, part)
  }
}

/** The only file of a form. */
export async function singleFile({ files }: SentForm, fieldName: string): Promise<SentFile> {
  const iterator = files[Symbol.asyncIterator]()
  const first = await iterator.next()
  if (first.done) throw invalid([{ in: 'body', path: fieldName, message: 'there must be a file' }])
  const file = first.value
  if (file.fieldName !== fieldName) {
    const fault = `the file must be in the field ${fieldName}; it was in ${file.fieldName}`
    throw invalid([{ in: 'body', path: file.fieldName.slice(0, 100), message: fault }])
  }
  return { ...file, source: alone(file, iterator) }
}

/** The file does not end before the form does: a form that breaks off, or that goes on, stores nothing. */
async function* alone(file: SentFile, iterator: AsyncIterator<SentFile>): AsyncGenerator<Uint8Array, void, undefined> {
  yield* file.source
  const { done } = await iterator.next()
  if (!done) throw invalid([{ in: 'body', path: '', message: 'there must be one file only' }])
}

async function* filesFrom(
  first: MultipartFile | null,
  next: () => Promise<IteratorResult<Multipart>>,
  watch: Watch,
  limits: HttpLimits,
): AsyncGenerator<SentFile, void, undefined> {
  try {
    for (let part = first; part; ) {
      yield { ...namesOf(part), source: blocksOf(part, watch, limits) }
      const step = await next()
      if (step.done) return
      const following: Multipart = step.value
      if (following.type === 'field') {
        throw invalid([
          {
            in: 'body',
            path: following.fieldname.slice(0, 100),
            message: 'fields must come before the files, or be in the query',
          },
        ])
      }
      part = following
    }
  } finally {
    watch.end()
  }
}

function namesOf({ fieldname, filename, mimetype }: MultipartFile): Omit<SentFile, 'source'> {
  const fault = textFault(filename)
  if (fault !== null) throw invalid([{ in: 'body', path: fieldname.slice(0, 100), message: `the file name ${fault}` }])
  return { fieldName: fieldname, fileName: filename, contentType: mimetype }
}

async function* blocksOf(
  { file }: MultipartFile,
  watch: Watch,
  limits: HttpLimits,
): AsyncGenerator<Uint8Array, void, undefined> {
  const blocks = (file as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
  let bytes = 0
  try {
    for (;;) {
      const step = await watch.wait(blocks.next(), bytes)
      if (step.done) break
      bytes = step.value.length
      yield step.value
    }
  } finally {
    file.destroy()
  }
  if (file.truncated) {
    throw new HttpRefusal('too-large', `A file has at most ${limits.fileBytesMax} bytes; nothing was stored.`)
  }
}

function addField(fields: Record<string, string>, part: Exclude<Multipart, MultipartFile>): void {
  const { fieldname, value, fieldnameTruncated, valueTruncated } = part
  const fault = (message: string) => invalid([{ in: 'body', path: fieldname.slice(0, 100), message }])
  if (fieldnameTruncated || valueTruncated) throw fault('the field is too long')
  if (typeof value !== 'string') throw fault('the field must be plain text: leave its content type out')
  if (fields[fieldname] !== undefined) throw fault('the field is there twice')
  const odd = textFault(value)
  if (odd !== null) throw fault(odd)
  fields[fieldname] = value
}

/** The parser's own faults have no status: whoever sent the form has to hear them all the same. */
function isAnswer(error: unknown): boolean {
  return error instanceof HttpRefusal || typeof (error as { statusCode?: unknown }).statusCode === 'number'
}

/** Sees to it that what is waited for comes, or that waiting ends: the sender may be gone, or as good as gone. */
class Watch {
  readonly #receiveMs: number
  readonly #clock: Clock
  /** Ends the wait that is under way. */
  #interrupt: (reason: HttpRefusal) => void = () => {}
  #failure: HttpRefusal | null = null
  #bytes = 0
  #waitedMs = 0
  #waitingSince: number | null = null
  #cancel = () => {}
  #isEnded = false

  constructor(request: FastifyRequest, receiveMs: number, clock: Clock) {
    this.#receiveMs = receiveMs
    this.#clock = clock
    request.raw.once('close', () => {
      if (!request.raw.complete) this.#refuse(new HttpRefusal('invalid', 'The upload broke off; nothing was stored.'))
    })
    this.#look()
  }

  /** `bytes`: what came since the last time. */
  async wait<T>(coming: Promise<T>, bytes: number): Promise<T> {
    this.#bytes += bytes
    const begin = this.#clock.now()
    this.#waitingSince = begin
    try {
      return await this.#race(coming)
    } catch (error) {
      throw isAnswer(error)
        ? error
        : new HttpRefusal('invalid', `The form cannot be read: ${messageOf(error, 300)}; nothing was stored.`)
    } finally {
      this.#waitedMs += this.#clock.now() - Math.max(begin, this.#waitingSince ?? begin)
      this.#waitingSince = null
    }
  }

  /** Not Promise.race with one promise for all waits: that one would keep every block that was ever waited for. */
  #race<T>(coming: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#interrupt = reject
      coming.then(resolve, reject)
      if (this.#failure) reject(this.#failure)
    })
  }

  #refuse(reason: HttpRefusal): void {
    this.#failure = reason
    this.#interrupt(reason)
  }

  end(): void {
    this.#isEnded = true
    this.#cancel()
  }

  #look(): void {
    this.#cancel = this.#clock.after(this.#receiveMs, () => {
      if (this.#isEnded) return
      const now = this.#clock.now()
      const waitedMs = this.#waitedMs + (this.#waitingSince === null ? 0 : now - this.#waitingSince)
      // Time that the disk took is not the sender's.
      if (waitedMs > this.#receiveMs / 2 && this.#bytes < windowBytesMin) {
        this.#refuse(new HttpRefusal('timeout', 'The upload got stuck; nothing was stored. Send it again.'))
        return
      }
      this.#bytes = 0
      this.#waitedMs = 0
      if (this.#waitingSince !== null) this.#waitingSince = now
      this.#look()
    })
  }
}
