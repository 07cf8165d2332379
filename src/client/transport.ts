import { type Clock, sleep } from '../clock.ts'
import { isSluiceError, messageOf, SluiceError } from '../errors.ts'
import type { ClientLimits } from './client-limits.ts'
import { errorOf } from './problem.ts'

export type Fetch = (url: string, init: RequestInit & { readonly duplex?: 'half' }) => Promise<Response>

export type Query = Readonly<Record<string, QueryValue | readonly QueryValue[] | undefined>>
type QueryValue = string | number | boolean

export interface TransportOptions {
  readonly url: string
  readonly token: string | null
  readonly fetch: Fetch
  readonly clock: Clock
  readonly limits: ClientLimits
}

interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly query?: Query
  readonly body?: unknown
}

/** One server, and how it is asked: requests that can be repeated are, when the connection breaks. */
export class Transport {
  readonly clock: Clock
  readonly limits: ClientLimits
  readonly #base: URL
  readonly #headers: Readonly<Record<string, string>>
  readonly #fetch: Fetch

  constructor({ url, token, fetch, clock, limits }: TransportOptions) {
    this.clock = clock
    this.limits = limits
    this.#base = baseOf(url)
    this.#headers = token === null ? {} : { authorization: `Bearer ${checkToken(token)}` }
    this.#fetch = fetch
  }

  get url(): string {
    return this.#base.href
  }

  get<T>(path: string, query?: Query): Promise<T> {
    return this.#ask<T>({ method: 'GET', path, ...(query ? { query } : {}) })
  }

  post<T>(path: string, body: unknown): Promise<T> {
    return this.#ask<T>({ method: 'POST', path, body })
  }

  put<T>(path: string, body: unknown): Promise<T> {
    return this.#ask<T>({ method: 'PUT', path, body })
  }

  delete(path: string, body?: unknown): Promise<void> {
    return this.#ask<void>({ method: 'DELETE', path, ...(body === undefined ? {} : { body }) })
  }

  /** A body that is read while it is sent. It can be sent once only, so nothing is repeated. */
  async send<T>(path: string, query: Query, contentType: string, body: AsyncIterable<Uint8Array>): Promise<T> {
    const response = await this.#fetched(`POST ${path}`, this.#urlOf(path, query), {
      method: 'POST',
      headers: {
        ...this.#headers,
        accept: 'application/json',
        'content-type': contentType,
        'idempotency-key': this.#key(),
      },
      body: body as unknown as RequestInit['body'],
      duplex: 'half',
    })
    return this.#answerOf<T>(response, `POST ${path}`)
  }

  /** The feed: the body as it comes. */
  async stream(path: string, query: Query, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const headers = { ...this.#headers, accept: 'text/event-stream' }
    const response = await this.#fetched(`GET ${path}`, this.#urlOf(path, query), { method: 'GET', headers, signal })
    if (!response.ok) throw await errorOf(response, `GET ${path}`)
    return (response.body ?? []) as AsyncIterable<Uint8Array>
  }

  /** How long to wait before the next try; a little differently for everybody. */
  delayOf(tries: number): number {
    const { retryFirstMs, retryMaxMs } = this.limits
    return Math.min(retryMaxMs, retryFirstMs * 3 ** tries) * (0.5 + this.clock.random() / 2)
  }

  async #ask<T>(call: Call): Promise<T> {
    const { method, path, query = {}, body } = call
    const url = this.#urlOf(path, query)
    const headers = {
      ...this.#headers,
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      // The same at every try: what was done already is answered, not done again.
      ...(method === 'POST' ? { 'idempotency-key': this.#key() } : {}),
    }
    const text = body === undefined ? {} : { body: JSON.stringify(body) }
    for (let tries = 0; ; tries += 1) {
      const limit = new AbortController()
      const cancel = this.clock.after(this.limits.requestMs, () => limit.abort())
      let waitMs: number
      try {
        const init = { method, headers, ...text, signal: limit.signal }
        return await this.#answerOf<T>(await this.#fetched(`${method} ${path}`, url, init), `${method} ${path}`)
      } catch (error) {
        const delay = limit.signal.aborted ? null : this.#retryAfter(error, method, tries)
        if (delay === null) throw limit.signal.aborted ? tooLate(method, path, this.limits.requestMs) : error
        waitMs = delay
      } finally {
        cancel()
      }
      await sleep(this.clock, waitMs)
    }
  }

  /** Null: trying again would not help, or could do something twice. */
  #retryAfter(error: unknown, method: Call['method'], tries: number): number | null {
    if (!isSluiceError(error) || tries >= this.limits.retriesMax) return null
    const { status, problem, retryAfterMs } = error.detail
    const isRefused = problem === 'rate-limited' || problem === 'in-progress'
    const isBroken = status === undefined || status === 502 || status === 503 || status === 504
    // What DELETE has removed is not found at the next try: whoever asked would be told that it failed.
    if (!isRefused && !(isBroken && error.detail.connection !== undefined && method !== 'DELETE')) return null
    return typeof retryAfterMs === 'number' ? Math.min(retryAfterMs, this.limits.retryMaxMs) : this.delayOf(tries)
  }

  async #fetched(what: string, url: string, init: RequestInit & { readonly duplex?: 'half' }): Promise<Response> {
    try {
      return await this.#fetch(url, init)
    } catch (error) {
      throw unreachable(what, this.#base.href, error)
    }
  }

  async #answerOf<T>(response: Response, what: string): Promise<T> {
    if (!response.ok) {
      const error = await errorOf(response, what)
      const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
      throw new SluiceError(error.code, error.message, {
        ...error.detail,
        ...(Number.isFinite(seconds) ? { retryAfterMs: seconds * 1_000 } : {}),
        ...([502, 503, 504].includes(response.status) ? { connection: 'gateway' } : {}),
      })
    }
    if (response.status === 204) return undefined as T
    let text: string
    try {
      text = await response.text()
    } catch (error) {
      throw unreachable(what, this.#base.href, error)
    }
    try {
      return JSON.parse(text) as T
    } catch {
      throw new SluiceError('internal', `The answer to ${what} is not JSON; is ${this.#base.href} a Sluice server?`)
    }
  }

  #urlOf(path: string, query: Query): string {
    const url = new URL(path.replace(/^\//, ''), this.#base)
    for (const [name, value] of Object.entries(query)) {
      const values = Array.isArray(value) ? value : [value]
      for (const one of values) if (one !== undefined) url.searchParams.append(name, String(one))
    }
    return url.href
  }

  /** Twice eleven letters and digits: no two requests ever share one. */
  #key(): string {
    return Array.from({ length: 22 }, () => Math.floor(this.clock.random() * 36).toString(36)).join('')
  }
}

function baseOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '' || url.hash !== '') {
    throw new SluiceError(
      'invalid',
      `The server must be an address such as http://127.0.0.1:7878; it was ${JSON.stringify(text.slice(0, 200))}.`,
    )
  }
  if (!url.pathname.endsWith('/')) url.pathname += '/'
  return url
}

function checkToken(token: string): string {
  if (/^[!-~]{1,200}$/.test(token)) return token
  throw new SluiceError(
    'invalid',
    'The token must be one word of printable characters, as it was shown when it was made.',
  )
}

function unreachable(what: string, url: string, error: unknown): SluiceError {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  const why = codeOf(cause) ?? messageOf(cause, 300)
  const message = `The server at ${url} cannot be reached for ${what}: ${why}.`
  return new SluiceError('internal', message, { connection: why }, error)
}

function codeOf(error: unknown): string | null {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  return typeof code === 'string' ? code : null
}

function tooLate(method: string, path: string, ms: number): SluiceError {
  return new SluiceError('internal', `The server did not answer ${method} ${path} within ${ms} ms.`, { timeoutMs: ms })
}
