import { createHash } from 'node:crypto'
import { isObject, type JsonObject } from './shape.ts'

/** A member of the outermost object: where its value lies, and the member with all that divides it from its neighbours. */
interface Member {
  readonly valueFrom: number
  readonly valueTo: number
  readonly from: number
  readonly to: number
}

/**
 * The text under which a resource is stored: as it came, so that 1.50 stays 1.50, with an id and without the version and
 * time that its last home gave it. So the same resource has the same text, wherever it has been in between.
 */
export function storedText(text: string, resource: JsonObject, id: string): string {
  const trimmed = text.trim()
  const bare = withoutOwnMeta(trimmed, resource.meta)
  return resource.id === undefined ? insertFirst(bare, `"id":${JSON.stringify(id)}`) : bare
}

/** The stored text with the version and time that this store gave it: what others are handed. */
export function servedText(text: string, version: number, updatedAt: number): string {
  const own = { versionId: String(version), lastUpdated: new Date(updatedAt).toISOString() }
  const member = memberOf(text, 'meta')
  if (!member) return insertFirst(text, `"meta":${JSON.stringify(own)}`)
  const meta = JSON.parse(text.slice(member.valueFrom, member.valueTo)) as JsonObject
  return text.slice(0, member.valueFrom) + JSON.stringify({ ...meta, ...own }) + text.slice(member.valueTo)
}

/** The id of a resource that came without one: the same whenever the same line of the same file comes again. */
export function idOfLine(source: string, line: number): string {
  const hex = createHash('sha256').update(`${source}\n${line}`).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  )
}

function withoutOwnMeta(text: string, meta: unknown): string {
  if (!isObject(meta) || (meta.versionId === undefined && meta.lastUpdated === undefined)) return text
  const member = memberOf(text, 'meta')
  if (!member) return text
  const { versionId: _version, lastUpdated: _time, ...rest } = meta
  if (Object.keys(rest).length === 0) return text.slice(0, member.from) + text.slice(member.to)
  return text.slice(0, member.valueFrom) + JSON.stringify(rest) + text.slice(member.valueTo)
}

function insertFirst(text: string, member: string): string {
  const at = text.indexOf('{') + 1
  return `${text.slice(0, at)}${member},${text.slice(at)}`
}

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a

/** Finds a member of an object that is known to be JSON. Of several of the same name, the last one counts, as for JSON.parse. */
function memberOf(text: string, name: string): Member | null {
  const wanted = JSON.stringify(name)
  let found: Member | null = null
  let at = text.indexOf('{') + 1
  let before = at
  for (;;) {
    at = skipSpace(text, at)
    if (text.charCodeAt(at) !== quote) return found
    const keyTo = stringEnd(text, at)
    const key = text.slice(at, keyTo)
    let valueFrom = skipSpace(text, keyTo)
    if (text.charCodeAt(valueFrom) === colon) valueFrom = skipSpace(text, valueFrom + 1)
    const valueTo = valueEnd(text, valueFrom)
    const next = skipSpace(text, valueTo)
    const isLast = text.charCodeAt(next) !== comma
    if (key === wanted || (key.includes('\\') && JSON.parse(key) === name)) {
      // The comma goes with the member: the one behind it, or, at the end, the one before it.
      found = isLast
        ? { valueFrom, valueTo, from: before, to: valueTo }
        : { valueFrom, valueTo, from: at, to: next + 1 }
    }
    if (isLast) return found
    before = next
    at = next + 1
  }
}

function skipSpace(text: string, from: number): number {
  let at = from
  while (at < text.length && text.charCodeAt(at) <= 0x20) at += 1
  return at
}

/** Behind the closing quote. */
function stringEnd(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at > 0; at = text.indexOf('"', at + 1)) {
    let slashes = at
    while (text.charCodeAt(slashes - 1) === backslash) slashes -= 1
    if ((at - slashes) % 2 === 0) return at + 1
  }
  return text.length
}

function valueEnd(text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length; ) {
    const character = text.charCodeAt(at)
    if (character === quote) {
      at = stringEnd(text, at)
      if (depth === 0) return at
      continue
    }
    const isOpening = character === 0x7b || character === 0x5b
    const isClosing = character === 0x7d || character === 0x5d
    if (depth === 0 && (isClosing || character === comma || character <= 0x20)) return at
    at += 1
    if (isOpening) depth += 1
    if (isClosing) {
      depth -= 1
      if (depth === 0) return at
    }
  }
  return text.length
}
