/**
 * A Hacker News item, as the API gives it, and the one place that decides whether some bytes are one.
 * Only the id and the type are required. Whatever else is wrong is said with the field, what was expected and what
 * stood there; the reason is a short phrase of a small set, because errors are counted by reason.
 */
export const itemTypes = ['job', 'story', 'comment', 'poll', 'pollopt'] as const

export type ItemType = (typeof itemTypes)[number]

export interface HNItem {
  readonly hnId: number
  readonly type: ItemType
  readonly by?: string
  /** Unix time in seconds. */
  readonly time?: number
  /** HTML. */
  readonly text?: string
  readonly url?: string
  readonly score?: number
  /** HTML. */
  readonly title?: string
  readonly descendants?: number
  readonly parent?: number
  readonly kids?: readonly number[]
  readonly poll?: number
  readonly parts?: readonly number[]
  readonly deleted?: boolean
  readonly dead?: boolean
}

export interface ItemFault {
  readonly reason: string
  readonly message: string
  /** The id, if it could be read although something else is wrong. */
  readonly hnId: number | null
}

export type ParsedItem =
  | { readonly item: HNItem; readonly warnings: readonly string[]; readonly fault?: never }
  | FaultyItem

export interface FaultyItem {
  readonly fault: ItemFault
  readonly item?: never
}

export interface ParseOptions {
  /** Times later than a day after this are warned of. Without it, times from the year 2100 on are. */
  readonly nowMs?: number
}

type Writable = { -readonly [Field in keyof HNItem]: HNItem[Field] }

const knownTypes: ReadonlySet<unknown> = new Set(itemTypes)
const year2100 = 4_102_444_800
const daySeconds = 86_400
const noWarnings: readonly string[] = Object.freeze([])

/** Reads one element. It never throws for what the bytes hold. */
export function parseItem(source: Buffer | string, options?: ParseOptions): ParsedItem {
  return typeof source === 'string' ? parseText(source, options) : parseItemAt(source, 0, source.length, options)
}

/** The same for a part of a buffer, so that a walk over a file need not make a view for every element. */
export function parseItemAt(buffer: Buffer, from: number, to: number, options?: ParseOptions): ParsedItem {
  const text = buffer.toString('utf8', from, to)
  // A byte that is not UTF-8 becomes U+FFFD, which a text may also hold by right: only then the bytes are looked at.
  if (text.includes('\uFFFD')) {
    const offset = invalidUtf8At(buffer, from, text)
    if (offset >= 0) {
      const byte = buffer[from + offset]!.toString(16).padStart(2, '0')
      return faulty('invalid UTF-8', `Byte 0x${byte} at offset ${offset} of the element is not valid UTF-8.`)
    }
  }
  return parseText(text, options)
}

function parseText(text: string, options: ParseOptions | undefined): ParsedItem {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return brokenText(text, error)
  }
  if (value === null)
    return faulty('null element', 'The element is null: the API gives null for items that it does not show.')
  if (typeof value !== 'object' || Array.isArray(value)) {
    return faulty('not an object', `An item must be a JSON object; found ${describe(value)}.`)
  }
  return new ItemReading(value as Readonly<Record<string, unknown>>, text).read(options)
}

/** One reading of one object. The first fault ends it. */
class ItemReading {
  readonly #fields: Readonly<Record<string, unknown>>
  readonly #text: string
  #hnId: number | null = null
  #fault: ItemFault | null = null

  constructor(fields: Readonly<Record<string, unknown>>, text: string) {
    this.#fields = fields
    this.#text = text
  }

  read(options: ParseOptions | undefined): ParsedItem {
    const fields = this.#fields
    const hnId = this.#id()
    if (hnId === null) return { fault: this.#fault! }
    // JSON.parse makes this an ordinary own property, and nothing here copies it. An item that carries it was made to do harm.
    if (Object.hasOwn(fields, '__proto__')) {
      return { fault: { reason: 'key __proto__', message: 'The key "__proto__" is not allowed in an item.', hnId } }
    }
    const type = this.#type()
    if (type === null) return { fault: this.#fault! }
    const item: Writable = { hnId, type }
    const by = this.#string('by')
    if (by !== undefined) item.by = by
    const time = this.#integer('time')
    if (time !== undefined) item.time = time
    const text = this.#string('text')
    if (text !== undefined) item.text = text
    const url = this.#string('url')
    if (url !== undefined) item.url = url
    const score = this.#integer('score')
    if (score !== undefined) item.score = score
    const title = this.#string('title')
    if (title !== undefined) item.title = title
    const descendants = this.#integer('descendants')
    if (descendants !== undefined) item.descendants = descendants
    const parent = this.#link('parent')
    const kids = this.#links('kids')
    const poll = this.#link('poll')
    // Older data names the poll of an option its parent.
    const parentIsPoll = type === 'pollopt' && poll === undefined
    if (parent !== undefined && !parentIsPoll) item.parent = parent
    if (kids !== undefined) item.kids = kids
    if (poll !== undefined) item.poll = poll
    else if (parent !== undefined && parentIsPoll) item.poll = parent
    const parts = this.#links('parts')
    if (parts !== undefined) item.parts = parts
    const deleted = this.#boolean('deleted')
    if (deleted !== undefined) item.deleted = deleted
    const dead = this.#boolean('dead')
    if (dead !== undefined) item.dead = dead
    if (this.#fault) return { fault: this.#fault }
    return { item, warnings: timeWarnings(fields.time, options) }
  }

  /** `hnId` in our own form, `id` in the raw API's. */
  #id(): number | null {
    const own = this.#fields.hnId ?? undefined
    const raw = this.#fields.id ?? undefined
    const value = own === undefined ? raw : own
    if (value === undefined) {
      this.#fail('missing id', 'The item has neither "hnId" nor "id".')
      return null
    }
    const hnId = this.#checkId(own === undefined ? 'id' : 'hnId', value)
    if (hnId === undefined) return null
    if (own !== undefined && raw !== undefined && own !== raw) {
      this.#fail('id and hnId differ', `"hnId" is ${hnId} and "id" is ${describe(raw)}; give one, or the same twice.`)
      return null
    }
    this.#hnId = hnId
    return hnId
  }

  #type(): ItemType | null {
    const type = this.#fields.type
    if (knownTypes.has(type)) return type as ItemType
    if (type === undefined || type === null) {
      this.#fail('missing type', `The item has no "type"; expected one of ${itemTypes.join(', ')}.`)
    } else if (typeof type === 'string') {
      this.#fail('unknown type', `"type" is ${describe(type)}; expected one of ${itemTypes.join(', ')}.`)
    } else {
      this.#wrong('type', `one of ${itemTypes.join(', ')}`, type)
    }
    return null
  }

  #string(field: string): string | undefined {
    const value = this.#fields[field]
    if (typeof value === 'string') return value
    if (value === undefined || value === null) return undefined
    return this.#wrong(field, 'a string', value)
  }

  #boolean(field: string): boolean | undefined {
    const value = this.#fields[field]
    if (value === undefined || value === null) return undefined
    if (typeof value === 'boolean') return value
    return this.#wrong(field, 'true or false', value)
  }

  #integer(field: string): number | undefined {
    const value = this.#fields[field]
    if (Number.isSafeInteger(value)) return value as number
    if (value === undefined || value === null) return undefined
    return this.#tooBig(field, value) ? undefined : this.#wrong(field, 'a whole number', value)
  }

  #link(field: string): number | undefined {
    const value = this.#fields[field]
    return value === undefined || value === null ? undefined : this.#checkId(field, value)
  }

  #links(field: string): readonly number[] | undefined {
    const value = this.#fields[field]
    if (value === undefined || value === null) return undefined
    if (!Array.isArray(value)) return this.#wrong(field, 'a list of ids', value)
    for (let index = 0; index < value.length; index += 1) {
      if (this.#checkId(field, value[index], index) === undefined) return undefined
    }
    return value
  }

  #checkId(field: string, value: unknown, index?: number): number | undefined {
    if (Number.isSafeInteger(value) && (value as number) > 0) return value as number
    const place = index === undefined ? field : `${field}[${index}]`
    return this.#tooBig(place, value) ? undefined : this.#wrong(field, 'an id (a whole number above 0)', value, place)
  }

  /**
   * JSON.parse rounds 9007199254740993 to 9007199254740992. Rounding keeps the order, so every number beyond 2^53 in the
   * text is still beyond it as a value: the check of the value misses none, and the text is asked only for the message.
   */
  #tooBig(place: string, value: unknown): boolean {
    if (typeof value !== 'number' || Math.abs(value) <= Number.MAX_SAFE_INTEGER) return false
    const written = writtenNumber(this.#text, value)
    this.#fail('number beyond 2^53', `"${place}" is ${clip(written)}, beyond 2^53: it cannot be kept without rounding.`)
    return true
  }

  #wrong(field: string, expected: string, value: unknown, place = field): undefined {
    this.#fail(`wrong value of ${field}`, `"${place}" must be ${expected}; found ${describe(value)}.`)
  }

  #fail(reason: string, message: string): void {
    this.#fault ??= { reason, message, hnId: this.#hnId }
  }
}

function timeWarnings(time: unknown, options: ParseOptions | undefined): readonly string[] {
  if (time === undefined) return noWarnings
  if (time === null) return ['The time is null.']
  const seconds = time as number
  if (seconds <= 0) return [`The time is ${seconds}: at or before the year 1970.`]
  const latest = options?.nowMs === undefined ? year2100 : options.nowMs / 1000 + daySeconds
  return seconds > latest ? [`The time is ${seconds}: it lies in the future.`] : noWarnings
}

function brokenText(text: string, error: unknown): ParsedItem {
  if (text.trim() === '') return faulty('empty element', 'There is nothing between two separators.')
  const nul = text.indexOf('\0')
  if (nul >= 0) return faulty('NUL byte', `A NUL byte stands at offset ${byteOffset(text, nul)} of the element.`)
  const said = error instanceof Error ? error.message : String(error)
  const position = Number(/position (\d+)/.exec(said)?.[1] ?? Number.NaN)
  // V8 names a raw line break or other control character in a string so; JSON wants it escaped.
  if (/control character/i.test(said)) {
    const code = text.charCodeAt(position).toString(16).padStart(4, '0')
    const place = Number.isNaN(position) ? '' : ` U+${code} at offset ${byteOffset(text, position)} of the element`
    return faulty('control character', `A raw control character${place} stands inside a string; it must be escaped.`)
  }
  const place = Number.isNaN(position) ? '' : ` (offset ${byteOffset(text, position)} of the element)`
  return faulty('broken JSON', `The element is not valid JSON${place}: ${clip(said, 200)}`)
}

function faulty(reason: string, message: string): FaultyItem {
  return { fault: { reason, message, hnId: null } }
}

function byteOffset(text: string, index: number): number {
  return Buffer.byteLength(text.slice(0, index))
}

/** Where the first byte lies that is not UTF-8, counted from the start of the text's bytes; -1: each U+FFFD is meant. */
function invalidUtf8At(buffer: Buffer, from: number, text: string): number {
  let offset = 0
  let seen = 0
  for (let at = text.indexOf('\uFFFD'); at >= 0; at = text.indexOf('\uFFFD', seen)) {
    offset += Buffer.byteLength(text.slice(seen, at))
    const place = from + offset
    if (buffer[place] !== 0xef || buffer[place + 1] !== 0xbf || buffer[place + 2] !== 0xbd) return offset
    offset += 3
    seen = at + 1
  }
  return -1
}

/** How a rounded number was written: for the message only. */
function writtenNumber(text: string, value: number): string {
  let written: string | undefined
  const look = (_key: string, found: unknown, context: { readonly source?: string }): unknown => {
    if (found === value) written ??= context.source
    return found
  }
  JSON.parse(text, look as (key: string, found: unknown) => unknown)
  return written ?? String(value)
}

function describe(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (typeof value === 'object') return 'an object'
  return clip(typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : String(value))
}

function clip(text: string, charactersMax = 60): string {
  return text.length <= charactersMax ? text : `${text.slice(0, charactersMax - 1).toWellFormed()}…`
}
