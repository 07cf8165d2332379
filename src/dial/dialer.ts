import type { Readable } from 'node:stream'
import { type Clock, systemClock } from '../clock.ts'
import { Body } from './body.ts'
import { type Connect, type Connection, type Line, type Resolve, systemConnect, systemResolve } from './connection.ts'
import { Connections } from './connections.ts'
import { Deadline } from './deadline.ts'
import { dialError, dialErrorDetail } from './dial-error.ts'
import { display } from './display.ts'
import { failureOf } from './failure.ts'
import { type DialLimits, dialLimitsOf } from './limits.ts'
import {
  badRequest,
  callerHeaders,
  checkReading,
  checkTimes,
  type DialTimes,
  type GetOptions,
  type Headers,
  type HeadOptions,
  headersForOtherOrigin,
  mediaType,
  type PostOptions,
  readHeaders,
} from './request.ts'
import { headOf, plainHeaders, type ResponseHead, statusError } from './response-head.ts'
import { type DialRules, rulesOf } from './rules.ts'
import { checkUrl, redirectTarget } from './target.ts'

export interface DialerSettings {
  readonly clock?: Clock
  readonly rules?: DialRules
  readonly limits?: Partial<DialLimits>
  /** Certificates of authorities (PEM) that are trusted besides the public ones. */
  readonly authorities?: readonly string[]
  readonly resolve?: Resolve
  readonly connect?: Connect
}

/** What a head request tells. */
export interface HeadAnswer extends ResponseHead {
  /** Where the answer came from, after redirects, fit for display. */
  readonly url: string
}

/** A response with a good status. Its body must be read or discarded; until then it holds a connection. */
export interface Answer extends HeadAnswer {
  /** Bytes of the resource from `offset` on. Read once; fails if it is cut, too big, too slow or too late. */
  readonly body: AsyncIterable<Uint8Array>
  discard(): void
}

export interface PostAnswer {
  readonly status: number
  readonly headers: Headers
  /** What was read of the answer, at most replyBytesMax. */
  readonly body: Uint8Array
}

/**
 * An HTTP client for URLs that somebody else wrote, and servers that nobody vouches for. Every name is resolved here,
 * every answer judged, and the connection goes to the judged address. Errors are SluiceErrors whose detail is a DialErrorDetail.
 */
export interface Dialer {
  /** The rules for URLs without a request: for whoever wants to refuse early. */
  check(url: string): URL
  get(url: string, options: GetOptions): Promise<Answer>
  head(url: string, options: HeadOptions): Promise<HeadAnswer>
  /** For callbacks: follows no redirect. */
  post(url: string, options: PostOptions): Promise<PostAnswer>
  /** Ends what is under way. */
  close(): Promise<void>
}

export function openDialer(settings: DialerSettings = {}): Dialer {
  return new GuardedDialer(settings)
}

interface Exchange {
  readonly method: 'GET' | 'HEAD' | 'POST'
  readonly url: URL
  readonly headers: Headers
  readonly body?: string | Uint8Array
  readonly deadline: Deadline
}

interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly stream: Readable
  readonly connection: Connection
}

class GuardedDialer implements Dialer {
  readonly #line: Line
  readonly #connections: Connections
  readonly #closing = new AbortController()

  constructor({ clock, rules, limits, authorities, resolve, connect }: DialerSettings) {
    this.#line = {
      clock: clock ?? systemClock(),
      rules: rulesOf(rules),
      limits: dialLimitsOf(limits),
      resolve: resolve ?? systemResolve,
      connect: connect ?? systemConnect,
      authorities: authorities ?? [],
    }
    this.#connections = new Connections(this.#line)
  }

  check(url: string): URL {
    return checkUrl(url, this.#line.rules)
  }

  async get(url: string, options: GetOptions): Promise<Answer> {
    const { head, source } = await this.#read('GET', url, options)
    const body = new Body(source)
    return { ...head, url: source.url, body, discard: () => body.discard() }
  }

  async head(url: string, options: HeadOptions): Promise<HeadAnswer> {
    const { signal, headers, timeoutMs, idleMs, bytesMax, acceptTypes, acceptGzip } = options
    const plain = { signal, headers, timeoutMs, idleMs, bytesMax, acceptTypes, acceptGzip }
    const { head, source } = await this.#read('HEAD', url, plain)
    // Nothing follows; reading it to its end gives the connection back.
    for await (const _ of new Body({ ...source, head: { offset: 0, length: null } })) break
    return { ...head, url: source.url }
  }

  async post(text: string, options: PostOptions): Promise<PostAnswer> {
    checkTimes(options)
    const { limits, clock } = this.#line
    const body = typeof options.body === 'string' ? Buffer.from(options.body) : options.body
    if (body.length > limits.postBytesMax) throw badRequest('body', `has more than ${limits.postBytesMax} bytes`)
    const url = this.check(text)
    const shown = display(url)
    const headers = {
      ...callerHeaders(options.headers, limits),
      'content-type': mediaType(options.contentType),
      'accept-encoding': 'identity',
    }
    const deadline = this.#deadline(shown, options)
    try {
      const reply = await this.#exchange({ method: 'POST', url, headers, body, deadline })
      const source = { ...reply, connections: this.#connections, deadline, clock, url: shown }
      const read = await firstBytes(
        new Body({ ...source, head: { offset: 0, length: null }, bytesMax: Number.MAX_SAFE_INTEGER }),
        limits.replyBytesMax,
      )
      if (reply.status < 200 || reply.status > 299) {
        throw statusError(reply.status, reply.headers, { url: shown, now: clock.now(), ...limits })
      }
      return { status: reply.status, headers: reply.headers, body: read }
    } catch (error) {
      throw failureOf(error, shown, deadline.signal)
    } finally {
      deadline.stop()
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(dialError('closed', null, 'The dialer was closed.'))
    await this.#connections.close()
  }

  /** Follows redirects by hand: each target is checked as if it had been given in the first place. */
  async #read(method: 'GET' | 'HEAD', text: string, options: GetOptions) {
    checkReading(options)
    const { clock, rules, limits } = this.#line
    let url = this.check(text)
    let given = callerHeaders(options.headers, limits)
    const deadline = this.#deadline(display(url), options)
    let connection: Connection | undefined
    try {
      for (let hops = 0; ; hops += 1) {
        const headers = { ...given, ...readHeaders(options) }
        const reply = await this.#exchange({ method, url, headers, deadline })
        connection = reply.connection
        const shown = display(url)
        if (!isRedirect(reply.status)) {
          const { retryAfterMsMax } = limits
          const asked = { method, url: shown, options, now: clock.now(), retryAfterMsMax }
          const head = headOf(reply.status, reply.headers, asked)
          const { bytesMax } = options
          const source = { ...reply, connections: this.#connections, deadline, clock, head, url: shown, bytesMax }
          return { head, source }
        }
        this.#connections.drop(reply.connection)
        if (hops === limits.redirectsMax) {
          throw dialError('redirect', shown, `${shown} leads on after ${hops} redirects: no more are followed.`)
        }
        const target = redirectTarget(locationOf(reply, shown), url, rules)
        if (target.origin !== url.origin) given = headersForOtherOrigin(given)
        url = target
      }
    } catch (error) {
      deadline.stop()
      if (connection) this.#connections.drop(connection)
      throw failureOf(error, display(url), deadline.signal)
    }
  }

  /** One request on one connection, up to the head of its response. */
  async #exchange(exchange: Exchange): Promise<Reply> {
    const { method, url, headers, body, deadline } = exchange
    const shown = display(url)
    // A kept connection may be closed by the server in the very moment we use it; what may be repeated is then asked
    // once more. A post may not, so it begins on a connection of its own.
    for (let fresh = method === 'POST'; ; fresh = true) {
      const connection = await this.#connections.take(url, fresh, deadline.signal)
      connection.used += 1
      try {
        const {
          statusCode,
          headers: raw,
          body: stream,
        } = await deadline.waiting(() =>
          connection.client.request({
            method,
            path: `${url.pathname}${url.search}`,
            headers,
            body: body ?? null,
            signal: deadline.signal,
          }),
        )
        stream.on('error', () => {})
        deadline.restart()
        return { status: statusCode, headers: plainHeaders(raw), stream, connection }
      } catch (error) {
        this.#connections.drop(connection)
        const failure = failureOf(error, shown, deadline.signal)
        const wasKept = !fresh && connection.used > 1
        if (!wasKept || dialErrorDetail(failure)?.reason !== 'connection') throw failure
      }
    }
  }

  #deadline(url: string, { timeoutMs, idleMs, signal }: DialTimes): Deadline {
    const { clock, limits } = this.#line
    const signals = [signal, this.#closing.signal]
    return new Deadline({ clock, url, timeoutMs, idleMs, idleBytesMin: limits.idleBytesMin, signals })
  }
}

function isRedirect(status: number): boolean {
  return [301, 302, 303, 307, 308].includes(status)
}

function locationOf({ status, headers }: Reply, shown: string): string {
  const { location } = headers
  if (location !== undefined) return location
  throw dialError('redirect', shown, `${shown} answered ${status} without saying where to go.`)
}

/** What a callback's receiver says is read so far, and no further. */
async function firstBytes(body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes >= bytesMax) break
  }
  return Buffer.concat(chunks).subarray(0, bytesMax)
}
