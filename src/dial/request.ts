import type { SluiceError } from '../errors.ts'
import { dialError } from './dial-error.ts'
import { type DialLimits, requestMsMax } from './limits.ts'

/** What every request says: its headers and how long it may take. */
export interface DialTimes {
  readonly signal?: AbortSignal
  readonly headers?: Readonly<Record<string, string>>
  /** From the call to the last byte of the body, the reader's own time included. */
  readonly timeoutMs: number
  /** How long we wait for a server that sends nothing. */
  readonly idleMs: number
}

export interface HeadOptions extends DialTimes {
  /** How big the whole resource may be, also when reading begins in its middle. */
  readonly bytesMax: number
  /** Media types, `text/*` and the like included. A response of another type is refused. Default: any. */
  readonly acceptTypes?: readonly string[]
  /** Take a body with `Content-Encoding: gzip`. It is handed over as it came: whoever unpacks it limits what comes out. */
  readonly acceptGzip?: boolean
}

export interface GetOptions extends HeadOptions {
  /** Go on at this byte, if the resource is still the one that `validator` (of the earlier answer) names. */
  readonly rangeFrom?: number
  readonly validator?: string
}

export interface PostOptions extends DialTimes {
  readonly body: string | Uint8Array
  readonly contentType: string
}

/** What we say ourselves, or what would change the meaning of the message. */
const ownHeaders: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'if-range',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'range',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
/** The only headers of the caller that go along to another origin: any other may be a key. */
const travelling: ReadonlySet<string> = new Set(['accept', 'accept-language', 'user-agent'])

export type Headers = Readonly<Record<string, string>>

/** The headers of the caller, in lower case, or an error that never repeats a value. */
export function callerHeaders(given: Headers = {}, { headerBytesMax }: DialLimits): Headers {
  const headers: Record<string, string> = {}
  let bytes = 0
  for (const [name, value] of Object.entries(given)) {
    const key = name.toLowerCase()
    if (!/^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/.test(key)) throw badRequest('headers', 'has a name that is no token')
    if (ownHeaders.has(key)) throw badRequest('headers', `names ${key}, which the dialer writes itself`)
    if (key in headers) throw badRequest('headers', `names ${key} twice`)
    if (typeof value !== 'string' || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      throw badRequest('headers', `has a line break, or another character that no header may have, in ${key}`)
    }
    bytes += key.length + value.length
    headers[key] = value
  }
  if (bytes > headerBytesMax) throw badRequest('headers', `has ${bytes} bytes, more than ${headerBytesMax}`)
  return headers
}

export function headersForOtherOrigin(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => travelling.has(name)))
}

/** What reading adds to the caller's headers. */
export function readHeaders(options: GetOptions): Headers {
  const { acceptTypes, acceptGzip, rangeFrom = 0, validator } = options
  return {
    'accept-encoding': acceptGzip ? 'gzip, identity;q=0.5' : 'identity',
    ...(acceptTypes ? { accept: acceptTypes.join(', ') } : {}),
    ...(rangeFrom > 0 ? { range: `bytes=${rangeFrom}-`, 'if-range': validator! } : {}),
  }
}

export function checkTimes({ timeoutMs, idleMs }: DialTimes): void {
  for (const [field, value] of Object.entries({ timeoutMs, idleMs })) {
    if (!isWhole(value, 1, requestMsMax)) throw badRequest(field, `must be a whole number from 1 to ${requestMsMax}`)
  }
}

export function checkReading(options: GetOptions): void {
  checkTimes(options)
  const { bytesMax, rangeFrom = 0, validator, acceptTypes = [] } = options
  if (!isWhole(bytesMax, 0, Number.MAX_SAFE_INTEGER)) throw badRequest('bytesMax', 'must be a whole number, 0 or above')
  const strange = acceptTypes.find((type) => !/^[\w.+-]{1,60}\/([\w.+-]{1,60}|\*)$|^\*\/\*$/.test(type))
  if (strange !== undefined) throw badRequest('acceptTypes', 'holds something that is no media type')
  if (!isWhole(rangeFrom, 0, bytesMax)) throw badRequest('rangeFrom', `must be a whole number from 0 to ${bytesMax}`)
  // Without a validator the rest of a new version would be glued to the beginning of an old one.
  if (rangeFrom > 0 && !isValidator(validator)) {
    throw badRequest('validator', 'is needed with rangeFrom: a strong ETag, or the time of the last change')
  }
}

/** What If-Range may hold: no weak ETag, and nothing that breaks the line. */
export function isValidator(validator: string | null | undefined): validator is string {
  return typeof validator === 'string' && (isStrongTag(validator) || /^[A-Z][a-z]{2}, [\w: ]{20} GMT$/.test(validator))
}

export function isStrongTag(tag: string): boolean {
  return /^"[\x21\x23-\x7e\x80-\xff]{0,1000}"$/.test(tag)
}

export function mediaType(text: string): string {
  if (/^[\w.+-]{1,60}\/[\w.+-]{1,60}(; ?[\w-]{1,40}=[\w.+-]{1,60})?$/.test(text)) return text
  throw badRequest('contentType', 'is no media type')
}

function isWhole(value: unknown, min: number, max: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max
}

export function badRequest(field: string, why: string): SluiceError {
  return dialError('request', null, `The option "${field}" of a request ${why}.`, { field })
}
