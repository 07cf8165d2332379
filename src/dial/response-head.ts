import type { ErrorCode } from '../errors.ts'
import { dialError } from './dial-error.ts'
import { type GetOptions, isStrongTag, isValidator } from './request.ts'
import { retryAfterMs } from './retry-after.ts'

/** What a response says before its body, after all of it was found good. */
export interface ResponseHead {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Which byte of the resource the body begins with: 0 unless the server went on where it was asked to. */
  readonly offset: number
  /** Bytes of the whole resource; null if the server does not say. */
  readonly length: number | null
  readonly etag: string | null
  readonly lastModified: string | null
  /** What to hand in as `validator` to go on later; null if the server names nothing that can be relied on. */
  readonly validator: string | null
  readonly encoding: 'identity' | 'gzip'
}

/** Cookies are nobody's business here, and a key to somebody. */
export function plainHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Readonly<Record<string, string>> {
  const entries = Object.entries(headers).filter(([name, value]) => value !== undefined && name !== 'set-cookie')
  return Object.fromEntries(
    entries.map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : String(value)]),
  )
}

export interface Asked {
  readonly method: 'GET' | 'HEAD'
  /** For messages. */
  readonly url: string
  readonly options: GetOptions
  readonly now: number
  readonly retryAfterMsMax: number
}

export function headOf(status: number, headers: Readonly<Record<string, string>>, asked: Asked): ResponseHead {
  const { url, options } = asked
  const { rangeFrom = 0, validator, bytesMax } = options
  const atEnd = status === 416 && rangeFrom > 0 && headers['content-range'] === `bytes */${rangeFrom}`
  if (!atEnd) checkStatus(status, headers, asked)
  const encoding = atEnd ? 'identity' : encodingOf(headers, asked)
  if (!atEnd) checkMediaType(headers, asked)
  const [etag, lastModified] = [headers.etag ?? null, headers['last-modified'] ?? null]
  const version = isStrongTag(validator ?? '') ? etag : lastModified
  if ((status === 206 || atEnd) && version !== null && version !== validator) {
    throw dialError('range', url, `${url} has changed since reading began: it must be read from its beginning.`)
  }
  const offset = status === 206 || atEnd ? rangeFrom : 0
  const length = atEnd ? rangeFrom : lengthOf(status, headers, asked)
  if (length !== null && length > bytesMax) {
    throw dialError('too_big', url, `${url} has ${length} bytes, more than the ${bytesMax} that may be read.`, {
      length,
    })
  }
  const valid = [etag, steady(lastModified, headers.date)].find(isValidator) ?? null
  return { status, headers, offset, length, etag, lastModified, validator: valid, encoding }
}

/** A time in whole seconds names one version only if nothing can have changed within that second since (RFC 9110, 8.8.2.2). */
function steady(lastModified: string | null, date: string | undefined): string | null {
  const settledMs = Date.parse(date ?? '') - Date.parse(lastModified ?? '')
  return settledMs >= 60_000 ? lastModified : null
}

function checkStatus(status: number, headers: Readonly<Record<string, string>>, asked: Asked): void {
  const { url, options } = asked
  if (status === 206 && !options.rangeFrom) {
    throw dialError('range', url, `${url} answered with a part (206), though the whole was asked for.`)
  }
  if (status < 200 || status > 299) throw statusError(status, headers, asked)
}

export function statusError(
  status: number,
  headers: Readonly<Record<string, string>>,
  { url, now, retryAfterMsMax }: Pick<Asked, 'url' | 'now' | 'retryAfterMsMax'>,
): Error {
  const [code, retryable] = meaningOf(status)
  const wait = retryAfterMs(headers['retry-after'], now, retryAfterMsMax)
  const more = { code, retryable, status, ...(wait === null ? {} : { retryAfterMs: wait }) }
  return dialError('status', url, `${url} answered ${status}${wait === null ? '' : `, and to wait ${wait} ms`}.`, more)
}

function meaningOf(status: number): readonly [code: ErrorCode, retryable: boolean] {
  if (status === 408 || status === 425 || status === 429) return ['internal', true]
  if (status === 404 || status === 410) return ['not_found', false]
  if (status === 401 || status === 403 || status === 407) return ['forbidden', false]
  if (status === 405 || status === 406 || status === 501) return ['unsupported', false]
  if (status === 409 || status === 412 || status === 416) return ['conflict', false]
  return status >= 500 ? ['internal', true] : ['invalid', false]
}

function encodingOf(headers: Readonly<Record<string, string>>, { url, options }: Asked): 'identity' | 'gzip' {
  const transfer = headers['transfer-encoding']?.toLowerCase() ?? 'chunked'
  const content = headers['content-encoding']?.toLowerCase() ?? 'identity'
  if (transfer !== 'chunked') throw refused(transfer)
  if (content === 'identity') return content
  if (content === 'gzip' && options.acceptGzip) return content
  throw refused(content)

  function refused(encoding: string): Error {
    const shown = JSON.stringify(encoding.slice(0, 40))
    const allowed = options.acceptGzip ? 'identity or gzip, once' : 'identity'
    return dialError('encoding', url, `${url} is encoded as ${shown}; only ${allowed} was asked for.`)
  }
}

function checkMediaType(headers: Readonly<Record<string, string>>, { url, options }: Asked): void {
  const { acceptTypes } = options
  if (acceptTypes === undefined) return
  // Bytes without a type are bytes (RFC 9110, 8.3).
  const type = (headers['content-type'] ?? 'application/octet-stream').split(';', 1)[0]!.trim().toLowerCase()
  const fits = (accepted: string): boolean =>
    accepted === '*/*' ||
    accepted.toLowerCase() === type ||
    (accepted.endsWith('/*') && type.startsWith(accepted.slice(0, -1).toLowerCase()))
  if (acceptTypes.some(fits)) return
  const shown = JSON.stringify(type.slice(0, 80))
  throw dialError('media_type', url, `${url} is of type ${shown}; expected was ${acceptTypes.join(', ')}.`)
}

function lengthOf(status: number, headers: Readonly<Record<string, string>>, asked: Asked): number | null {
  const { url, options, method } = asked
  const text = headers['content-length']
  if (text !== undefined && !/^\d{1,15}$/.test(text)) throw broken('has a Content-Length that is no number')
  if (text !== undefined && headers['transfer-encoding'] !== undefined && method === 'GET') {
    throw broken('has a Content-Length and is chunked: where it ends is open to dispute')
  }
  const length = text === undefined ? null : Number(text)
  if (status !== 206) return length
  const range = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15}|\*)$/.exec(headers['content-range'] ?? '')
  const [first, last, total] = range ? range.slice(1).map(Number) : []
  const fits =
    first === options.rangeFrom &&
    last! >= first! &&
    (Number.isNaN(total) || total! > last!) &&
    (length === null || length === last! - first! + 1)
  if (!fits)
    throw dialError('range', url, `${url} answered with another part than the one from ${options.rangeFrom} on.`)
  return Number.isNaN(total) ? null : total!

  function broken(why: string): Error {
    return dialError('protocol', url, `The response of ${url} ${why}.`)
  }
}
