import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { SluiceError } from 'sluice'
import { type Form, forms } from './files/file-fault.ts'
import { badElements } from './sample/bad-element.ts'
import { Prose } from './sample/prose.ts'
import { Random } from './sample/random.ts'
import { newerCopy, type RawItem, Threads } from './sample/thread.ts'

const firstId = 1_000_000
const itemsLimit = 1_000_000_000
const chunkCharacters = 262_144
/** So many earlier items stand ready to be copied: the copies lie near and far from what they repeat. */
const repeatableMax = 4_096

export interface SampleContent {
  /** All elements of the file, the bad ones and the duplicates among them. */
  readonly items: number
  /** Shares of all elements, 0 to 1. */
  readonly bad?: number
  readonly duplicates?: number
  /** Comments whose parent never comes. */
  readonly orphans?: number
  readonly form?: Form
  readonly seed?: number
}

export interface SampleOptions extends SampleContent {
  readonly path: string
  readonly gzip?: boolean
  readonly onProgress?: (items: number) => void
}

/** What a run over the file must come to. */
export interface SampleCounts {
  readonly total: number
  readonly bad: number
  /** Copies of earlier items. Each item is repeated once at most, so the verdicts do not depend on each other. */
  readonly duplicatesNewer: number
  readonly duplicatesSame: number
  readonly byReason: Readonly<Record<string, number>>
  readonly orphans: number
}

/** Writes a file of made-up but realistic items, about 440 bytes each; the same for the same options. */
export async function writeSample(options: SampleOptions): Promise<SampleCounts> {
  const sample = new Sample(options)
  const { onProgress } = options
  const chunks = function* (): Generator<Buffer> {
    for (const chunk of sample.chunks()) {
      yield chunk
      onProgress?.(sample.counts.total)
    }
  }
  const target = createWriteStream(options.path)
  if (options.gzip === true) await pipeline(chunks, createGzip({ level: 3 }), target)
  else await pipeline(chunks, target)
  return sample.counts
}

/** The content of such a file, without the file. */
export class Sample {
  readonly #content: Required<SampleContent>
  readonly #random: Random
  readonly #threads: Threads
  readonly #repeatable: RawItem[] = []
  readonly #byReason: Record<string, number> = {}
  /** What is still to be written, of each kind. */
  #left: { all: number; bad: number; duplicates: number; orphans: number }
  /** Items of the thread under way, the next one last. */
  #thread: RawItem[] = []
  #bad = 0
  #newer = 0
  #same = 0
  #orphans = 0

  constructor(content: SampleContent) {
    const { items, bad = 0, duplicates = 0, orphans = 0, form = 'array', seed = 1 } = content
    if (!Number.isSafeInteger(items) || items < 0 || items > itemsLimit) {
      throw new SluiceError('invalid', `items must be a whole number from 0 to ${itemsLimit}; found ${items}.`)
    }
    for (const [name, share] of Object.entries({
      bad,
      duplicates,
      orphans,
      'bad + duplicates + orphans': bad + duplicates + orphans,
    })) {
      if (!(share >= 0 && share <= 1))
        throw new SluiceError('invalid', `${name} must be a share from 0 to 1; found ${share}.`)
    }
    if (!forms.includes(form))
      throw new SluiceError('invalid', `form must be one of ${forms.join(', ')}; found ${form}.`)
    if (!Number.isSafeInteger(seed)) throw new SluiceError('invalid', `seed must be a whole number; found ${seed}.`)
    this.#content = { items, bad, duplicates, orphans, form, seed }
    this.#left = {
      all: items,
      bad: Math.round(items * bad),
      duplicates: Math.round(items * duplicates),
      orphans: Math.round(items * orphans),
    }
    this.#random = new Random(seed)
    this.#threads = new Threads(this.#random, new Prose(this.#random), firstId)
  }

  /** What has been written so far; all of it once the chunks have come to their end. */
  get counts(): SampleCounts {
    return {
      total: this.#content.items - this.#left.all,
      bad: this.#bad,
      duplicatesNewer: this.#newer,
      duplicatesSame: this.#same,
      byReason: { ...this.#byReason },
      orphans: this.#orphans,
    }
  }

  *chunks(): Generator<Buffer> {
    const { form } = this.#content
    let text = form === 'array' ? '[\n' : ''
    while (this.#left.all > 0) {
      const element = this.#element()
      this.#left.all -= 1
      if (typeof element === 'string') {
        text += element
      } else {
        yield Buffer.from(text)
        yield element
        text = ''
      }
      text += this.#separator(element)
      if (text.length >= chunkCharacters) {
        yield Buffer.from(text)
        text = ''
      }
    }
    yield Buffer.from(form === 'array' ? `${text}]\n` : text)
  }

  #separator(element: string | Buffer): string {
    switch (this.#content.form) {
      case 'array':
        return this.#left.all > 0 ? ',\n' : '\n'
      case 'lines':
        return '\n'
      case 'concatenated':
        // Two numbers with nothing between would be one.
        return typeof element === 'string' && !/[}l]$/.test(element) ? ' ' : ''
      default:
        return this.#content.form satisfies never
    }
  }

  /** Each kind is drawn with the chance that what is left of it has among all that is left: so the shares come out exactly. */
  #element(): string | Buffer {
    const left = this.#left
    let draw = this.#random.below(left.all)
    // The first element shows the form of the file: it is sound, if any is.
    const isFirst = left.all === this.#content.items
    if (draw < left.bad && (!isFirst || left.bad === left.all)) return this.#badElement()
    draw -= left.bad
    if (draw < left.duplicates && this.#repeatable.length > 0) return JSON.stringify(this.#duplicate())
    draw -= left.duplicates
    if (draw >= 0 && draw < left.orphans) {
      left.orphans -= 1
      this.#orphans += 1
      return JSON.stringify(this.#threads.orphan())
    }
    return JSON.stringify(this.#item())
  }

  #badElement(): string | Buffer {
    // The first of these is null, with which a file of any form may begin.
    const element = badElements[this.#bad % badElements.length]!
    this.#left.bad -= 1
    this.#bad += 1
    this.#byReason[element.reason] = (this.#byReason[element.reason] ?? 0) + 1
    return element.write({ ...this.#threads.orphan(), type: 'story' })
  }

  #duplicate(): RawItem {
    const place = this.#random.below(this.#repeatable.length)
    const item = this.#repeatable[place]!
    this.#repeatable[place] = this.#repeatable.at(-1)!
    this.#repeatable.pop()
    this.#left.duplicates -= 1
    if (this.#newer > this.#same) {
      this.#same += 1
      return item
    }
    this.#newer += 1
    return newerCopy(item, this.#threads.newId())
  }

  #item(): RawItem {
    if (this.#thread.length === 0) {
      const { all, bad, duplicates, orphans } = this.#left
      this.#thread = this.#threads.next(Math.max(1, all - bad - duplicates - orphans)).reverse()
    }
    const item = this.#thread.pop()!
    if (this.#repeatable.length < repeatableMax) this.#repeatable.push(item)
    else if (this.#random.happens(0.25)) this.#repeatable[this.#random.below(repeatableMax)] = item
    return item
  }
}
