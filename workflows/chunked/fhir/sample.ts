import { createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { SluiceError } from 'sluice/errors'
import type { IssueCode } from './issue.ts'
import { spoils, tooLong } from './sample/bad-line.ts'
import { PatientStories, type SampleResource, type SampleType, sampleTypes } from './sample/patient-story.ts'
import { Random } from './sample/random.ts'

export { type SampleType, sampleTypes } from './sample/patient-story.ts'

export interface SampleOptions {
  /** Lines with content, the bad ones and the repeated ones among them. */
  readonly count: number
  readonly seed?: number
  readonly types?: readonly SampleType[]
  /** Shares of all lines, 0 to 1. */
  readonly bad?: number
  /** Lines that say again what an earlier line of the same file said; and such that say something else under its id. */
  readonly repeated?: number
  readonly changed?: number
  /** Resources without an id. */
  readonly withoutId?: number
  /** Empty lines between the others. */
  readonly blank?: number
  /** Lines over lineBytesMax, one for each type, among the bad ones. */
  readonly long?: boolean
  readonly lineBytesMax?: number
}

export interface SampleLine {
  readonly type: SampleType
  /** Without the line break. */
  readonly bytes: Buffer
  /** blank: nothing is in it. repeated, changed: its id came before. Else why it is bad. */
  readonly kind: 'new' | 'repeated' | 'changed' | 'blank' | IssueCode
}

/** What an import of the files must come to. */
export interface SampleCounts {
  readonly lines: number
  readonly blank: number
  /** Resources in the store at the end. */
  readonly resources: number
  readonly repeated: number
  /** Each of them is an update, or superseded if its turn came after a later line. */
  readonly changed: number
  readonly bad: number
  readonly badByCode: Readonly<Partial<Record<IssueCode, number>>>
  readonly resourcesByType: Readonly<Partial<Record<SampleType, number>>>
}

export interface SampleFileOptions extends SampleOptions {
  readonly folder: string
  readonly gzip?: boolean
  /** Lines end with a carriage return too; the files begin with a mark. */
  readonly crlf?: boolean
  readonly mark?: boolean
  readonly onProgress?: (lines: number) => void
}

export interface SampleFile {
  readonly type: SampleType
  readonly path: string
  /** All, the blank ones among them. */
  readonly lines: number
}

const countMax = 1_000_000_000
const lineBytesMaxDefault = 1024 * 1024
/** Earlier resources of a type that stand ready to be said again. */
const repeatableMax = 64

/** Made-up but realistic resources, line by line; the same for the same options. */
export function* sampleResources(options: SampleOptions): Generator<SampleLine, void> {
  checkOptions(options)
  const { count, seed = 1, bad = 0, repeated = 0, changed = 0, withoutId = 0, blank = 0 } = options
  const random = new Random(seed)
  const stories = new PatientStories(new Random(seed + 1))
  const wanted: ReadonlySet<SampleType> = new Set(options.types ?? sampleTypes)
  const lineBytesMax = options.lineBytesMax ?? lineBytesMaxDefault
  const earlier = new Map<SampleType, SampleResource[]>()
  const longDone = new Set<SampleType>()
  let spoiled = 0
  let made = 0
  while (made < count) {
    for (const resource of stories.next()) {
      const type = resource.resourceType
      if (!wanted.has(type)) continue
      if (random.happens(blank)) yield { type, bytes: Buffer.from(random.pick(['', ' ', '\t'])), kind: 'blank' }
      if (made === count) return
      made += 1
      const known = earlier.get(type) ?? []
      const chance = random.next()
      if (options.long === true && !longDone.has(type)) {
        longDone.add(type)
        const { bytes, code } = tooLong(resource, lineBytesMax)
        yield { type, bytes, kind: code }
      } else if (chance < bad) {
        const { bytes, code } = spoils[spoiled % spoils.length]!(resource, lineBytesMax)
        spoiled += 1
        yield { type, bytes, kind: code }
      } else if (chance < bad + repeated + changed && known.length > 0) {
        // Each is taken up once: so what comes of it does not depend on the order.
        const [again] = known.splice(random.below(known.length), 1) as [SampleResource]
        const isChanged = chance >= bad + repeated
        const bytes = Buffer.from(JSON.stringify(isChanged ? { ...again, language: 'en' } : again))
        yield { type, bytes, kind: isChanged ? 'changed' : 'repeated' }
      } else if (random.happens(withoutId)) {
        yield { type, bytes: Buffer.from(JSON.stringify({ ...resource, id: undefined })), kind: 'new' }
      } else {
        if (known.length >= repeatableMax) known.shift()
        known.push(resource)
        earlier.set(type, known)
        yield { type, bytes: Buffer.from(JSON.stringify(resource)), kind: 'new' }
      }
    }
  }
}

/** Writes them to one file for each type, Patient.ndjson and so on. */
export async function writeSample(
  options: SampleFileOptions,
): Promise<{ readonly files: readonly SampleFile[]; readonly counts: SampleCounts }> {
  checkOptions(options)
  const { folder, crlf = false, mark = false, gzip = false, onProgress } = options
  await mkdir(folder, { recursive: true })
  const outputs = new Map<SampleType, Output>()
  const tally = new SampleTally()
  const end = Buffer.from(crlf ? '\r\n' : '\n')
  try {
    for (const line of sampleResources(options)) {
      let output = outputs.get(line.type)
      if (!output) {
        output = new Output(line.type, join(folder, `${line.type}.ndjson${gzip ? '.gz' : ''}`), gzip)
        outputs.set(line.type, output)
        if (mark) await output.write(Buffer.from('\ufeff'), 0)
      }
      await output.write(Buffer.concat([line.bytes, end]), 1)
      tally.add(line)
      if (tally.counts.lines % progressLines === 0) onProgress?.(tally.counts.lines)
    }
  } finally {
    await Promise.all([...outputs.values()].map((output) => output.close()))
  }
  onProgress?.(tally.counts.lines)
  return { files: [...outputs.values()].map(({ type, path, lines }) => ({ type, path, lines })), counts: tally.counts }
}

const progressLines = 10_000

/** Adds up what an import of these lines must come to. */
export class SampleTally {
  readonly #badByCode: Partial<Record<IssueCode, number>> = {}
  readonly #resourcesByType: Partial<Record<SampleType, number>> = {}
  #lines = 0
  #blank = 0
  #resources = 0
  #repeated = 0
  #changed = 0
  #bad = 0

  add({ type, kind }: SampleLine): void {
    if (kind === 'blank') {
      this.#blank += 1
      return
    }
    this.#lines += 1
    switch (kind) {
      case 'new':
        this.#resources += 1
        this.#resourcesByType[type] = (this.#resourcesByType[type] ?? 0) + 1
        return
      case 'repeated':
        this.#repeated += 1
        return
      case 'changed':
        this.#changed += 1
        return
      default:
        this.#bad += 1
        this.#badByCode[kind] = (this.#badByCode[kind] ?? 0) + 1
    }
  }

  get counts(): SampleCounts {
    return {
      lines: this.#lines,
      blank: this.#blank,
      resources: this.#resources,
      repeated: this.#repeated,
      changed: this.#changed,
      bad: this.#bad,
      badByCode: { ...this.#badByCode },
      resourcesByType: { ...this.#resourcesByType },
    }
  }
}

const blockBytes = 256 * 1024

/** One file under way. Lines are gathered into blocks: a write for each would take most of the time. */
class Output {
  readonly type: SampleType
  readonly path: string
  readonly #stream = new PassThrough({ highWaterMark: 2 * blockBytes })
  readonly #done: Promise<void>
  #block: Buffer[] = []
  #bytes = 0
  lines = 0

  constructor(type: SampleType, path: string, gzip: boolean) {
    this.type = type
    this.path = path
    const target = createWriteStream(path)
    this.#done = gzip ? pipeline(this.#stream, createGzip({ level: 3 }), target) : pipeline(this.#stream, target)
    // It is waited for in the end; until then nobody listens.
    this.#done.catch(() => {})
  }

  async write(bytes: Buffer, lines: number): Promise<void> {
    this.#block.push(bytes)
    this.#bytes += bytes.length
    this.lines += lines
    if (this.#bytes >= blockBytes) await this.#flush()
  }

  async close(): Promise<void> {
    await this.#flush()
    this.#stream.end()
    await this.#done
  }

  async #flush(): Promise<void> {
    const block = Buffer.concat(this.#block)
    this.#block = []
    this.#bytes = 0
    if (this.#stream.destroyed) return this.#done
    if (this.#stream.write(block)) return
    await Promise.race([new Promise((resolve) => this.#stream.once('drain', resolve)), this.#done])
  }
}

function checkOptions({
  count,
  bad = 0,
  repeated = 0,
  changed = 0,
  withoutId = 0,
  blank = 0,
  types,
}: SampleOptions): void {
  if (!Number.isInteger(count) || count < 0 || count > countMax) {
    throw new SluiceError('invalid', `count must be a whole number from 0 to ${countMax}; it was ${count}.`, { count })
  }
  for (const [name, share] of Object.entries({ bad, repeated, changed, withoutId, blank })) {
    if (share >= 0 && share <= 1) continue
    throw new SluiceError('invalid', `${name} is a share from 0 to 1; it was ${share}.`, { [name]: share })
  }
  if (bad + repeated + changed > 1) {
    throw new SluiceError('invalid', 'bad, repeated and changed are shares of the same lines: together 1 at most.', {})
  }
  const unknown = types?.find((type) => !sampleTypes.includes(type))
  if (types?.length === 0 || unknown !== undefined) {
    throw new SluiceError('invalid', `types must be some of ${sampleTypes.join(', ')}; found ${unknown ?? 'none'}.`, {})
  }
}
