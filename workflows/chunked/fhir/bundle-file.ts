import { closeSync, openSync, readSync } from 'node:fs'

interface Span {
  readonly offset: number
  readonly length: number
}

const chunkBytes = 1 << 20
/** The address of an entry stands at its beginning. */
const headBytes = 512
const entryDepth = 3
const quote = 0x22
const backslash = 0x5c

/**
 * A file that holds one FHIR bundle, of which a few entries are wanted. It is walked once to see where each entry lies;
 * then only those that are asked for are parsed. For the 35 MB of resource definitions this takes a quarter of the time
 * of parsing all, and none of the memory.
 */
export class BundleFile {
  readonly #file: string
  readonly #spans = new Map<string, Span>()

  constructor(file: string) {
    this.#file = file
    this.#reading((descriptor) => {
      for (const span of entriesOf(descriptor)) {
        const url = urlOf(sliceOf(descriptor, span.offset, Math.min(span.length, headBytes)))
        if (url !== null) this.#spans.set(url, span)
      }
    })
  }

  get urls(): Iterable<string> {
    return this.#spans.keys()
  }

  /** The resource of the entry with this address. */
  resource(url: string): unknown {
    const span = this.#spans.get(url)
    if (!span) return undefined
    const text = this.#reading((descriptor) => sliceOf(descriptor, span.offset, span.length))
    return (JSON.parse(text) as { readonly resource?: unknown }).resource
  }

  #reading<Result>(work: (descriptor: number) => Result): Result {
    const descriptor = openSync(this.#file, 'r')
    try {
      return work(descriptor)
    } finally {
      closeSync(descriptor)
    }
  }
}

/** The objects in the lists of the outermost object: the entries of a bundle. */
function entriesOf(descriptor: number): Span[] {
  const spans: Span[] = []
  const chunk = Buffer.allocUnsafe(chunkBytes)
  let depth = 0
  let start = 0
  let inString = false
  let escaped = false
  for (let base = 0; ; ) {
    const length = readSync(descriptor, chunk, 0, chunkBytes, base)
    if (length === 0) return spans
    for (let at = 0; at < length; at += 1) {
      const byte = chunk[at]
      if (inString) {
        if (escaped) escaped = false
        else if (byte === backslash) escaped = true
        else if (byte === quote) inString = false
      } else if (byte === quote) inString = true
      else if (byte === 0x7b || byte === 0x5b) {
        depth += 1
        if (depth === entryDepth) start = base + at
      } else if (byte === 0x7d || byte === 0x5d) {
        if (depth === entryDepth) spans.push({ offset: start, length: base + at + 1 - start })
        depth -= 1
      }
    }
    base += length
  }
}

function urlOf(head: string): string | null {
  return /"fullUrl"\s*:\s*"([^"\\]+)"/.exec(head)?.[1] ?? null
}

function sliceOf(descriptor: number, offset: number, length: number): string {
  const bytes = Buffer.allocUnsafe(length)
  for (let read = 0; read < length; ) {
    const more = readSync(descriptor, bytes, read, length - read, offset + read)
    if (more === 0) break
    read += more
  }
  return bytes.toString('utf8')
}
