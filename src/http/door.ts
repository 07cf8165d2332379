import { isIP } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Access, type Caller, mayAct, type Role } from './access.ts'
import type { Callers } from './feed/callers.ts'
import { HttpRefusal, invalid } from './problem.ts'
import { isSame } from './secret.ts'
import { type Sessions, sessionCookie } from './sessions.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls; null: nobody that is known. */
    caller: Caller | null
    /** The body as it was sent, for whoever must compare it. */
    bodyBytes: Buffer | null
    /** Calls back when the right by which this request was let in is taken back. Returns a function that ends the watch. */
    untilRevoked(close: () => void): () => void
  }
  interface FastifyContextConfig {
    /** Who may call this route. Default: whoever has a token. */
    role?: Role | 'public'
    /** Not for tokens that are limited to collections. */
    everywhere?: boolean
    /** It answers for as long as it is listened to: it takes no turn. */
    isStream?: boolean
  }
}

export interface DoorOptions {
  readonly access: Access
  readonly sessions: Sessions
  /** Names by which this server may be called, besides its own addresses. */
  readonly names: readonly string[]
  /** Bound to this machine alone. */
  readonly isLoopback: boolean
  /** Those who are let in for long. */
  readonly callers: Callers<{ close(): void }>
}

const unsafeMethods = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])
export const csrfHeader = 'x-csrf-token'

/** Who comes in: the name that was called, the caller, and whether a browser was sent here by another site. */
export class Door {
  readonly #options: DoorOptions
  readonly #names: ReadonlySet<string>

  constructor(options: DoorOptions) {
    this.#options = options
    this.#names = new Set(options.names.map((name) => name.toLowerCase()))
  }

  guard(server: FastifyInstance): void {
    server.decorateRequest('caller', null)
    server.decorateRequest('bodyBytes', null)
    const { callers } = this.#options
    server.decorateRequest('untilRevoked', function (this: FastifyRequest, close: () => void) {
      const listener = { close }
      if (this.caller) callers.add(listener, this.caller)
      return () => callers.delete(listener)
    })
    server.addHook('onRequest', async (request) => {
      this.#checkHost(request)
      checkAuthorization(request)
      request.caller = await this.#callerOf(request)
    })
    // After the rate limit, which is to count also those who are turned away here; before anything of the body is read.
    server.addHook('preParsing', async (request) => {
      if (!request.is404) this.#checkCaller(request)
    })
  }

  /** A page of another site could have its own name lead here: its requests would then pass as our own. */
  #checkHost(request: FastifyRequest): void {
    const host = hostNameOf(request.headers.host)
    if (host !== null && (this.#names.has(host) || isOwnAddress(host, request))) return
    throw new HttpRefusal(
      'wrong-host',
      `This server does not go by the name ${JSON.stringify((host ?? '').slice(0, 100))}. Call it by its own, or allow that name where it is started.`,
    )
  }

  async #callerOf(request: FastifyRequest): Promise<Caller | null> {
    const { access, sessions, isLoopback } = this.#options
    const { authorization } = request.headers
    if (authorization !== undefined) {
      const secret = /^bearer ([!-~]{1,200})$/i.exec(authorization)?.[1]
      const token = secret === undefined ? null : await access.find(secret)
      if (!token) return null
      const { name: actor, role, collections, expiresAt, digest: tokenDigest } = token
      return { kind: 'token', actor, role, collections, csrf: null, expiresAt, tokenDigest }
    }
    const cookie = request.cookies?.[sessionCookie]
    const session = cookie === undefined ? null : sessions.find(cookie)
    if (session) {
      // The token is looked up anew: once it is revoked its sessions end with it.
      const token = await access.findByDigest(session.tokenDigest)
      if (!token) return null
      const { name: actor, role, collections } = token
      const { csrf, expiresAt, tokenDigest } = session
      return { kind: 'session', actor, role, collections, csrf, expiresAt, tokenDigest }
    }
    if (isLoopback && isFromHere(request) && (await access.isEmpty())) return localCaller
    return null
  }

  #checkCaller(request: FastifyRequest): void {
    const { role = 'submitter', everywhere } = request.routeOptions.config
    const { caller } = request
    if (unsafeMethods.has(request.method) && caller?.kind !== 'token') this.#checkSite(request)
    if (role === 'public') return
    if (!caller) throw unauthenticated()
    if (!mayAct(caller.role, role)) {
      throw new HttpRefusal(
        'forbidden',
        `${caller.actor} is ${caller.role}; this needs ${role}. Use a token of that role.`,
      )
    }
    if (everywhere && caller.collections !== null) {
      throw new HttpRefusal(
        'forbidden',
        `This concerns all collections; the token ${caller.actor} is limited to ${caller.collections.join(', ')}.`,
      )
    }
  }

  /** A browser adds cookies, and its place on this machine, to whatever page asks it to. */
  #checkSite(request: FastifyRequest): void {
    const { origin, host } = request.headers
    const site = request.headers['sec-fetch-site']
    if (origin !== undefined && originHost(origin) !== (host ?? '').toLowerCase()) throw crossSite(`from ${origin}`)
    if (site !== undefined && site !== 'same-origin' && site !== 'none') throw crossSite(`marked ${site}`)
    const { caller } = request
    if (caller?.kind !== 'session') return
    const said = request.headers[csrfHeader]
    if (typeof said !== 'string' || !isSame(said, caller.csrf ?? '')) {
      throw crossSite(`without the right ${csrfHeader} (GET /api/session tells it)`)
    }
  }
}

export const localCaller: Caller = {
  kind: 'local',
  actor: 'local',
  role: 'admin',
  collections: null,
  csrf: null,
  expiresAt: null,
  tokenDigest: null,
}

export function unauthenticated(): HttpRefusal {
  return new HttpRefusal(
    'unauthenticated',
    'This needs a valid token: send it as Authorization: Bearer slc_…, or log in. `sluice token create` makes one.',
    { headers: { 'www-authenticate': 'Bearer realm="sluice"' } },
  )
}

/** Node keeps the first of several and drops the others; a proxy may judge by another one than we do. */
function checkAuthorization({ headers, raw }: FastifyRequest): void {
  if (headers.authorization === undefined) return
  // Names and values in turn.
  const isNamed = (text: string, index: number) => index % 2 === 0 && text.toLowerCase() === 'authorization'
  if (raw.rawHeaders.filter(isNamed).length < 2) return
  throw invalid([{ in: 'header', path: 'authorization', message: 'must be there once' }])
}

function crossSite(what: string): HttpRefusal {
  return new HttpRefusal('cross-site', `A request ${what.slice(0, 200)} is not accepted; nothing was done.`)
}

/** From this machine, and not on behalf of another: a proxy says for whom it asks. */
export function isFromHere(request: FastifyRequest): boolean {
  const { forwarded, via } = request.headers
  const isForwarded = forwarded !== undefined || via !== undefined || request.headers['x-forwarded-for'] !== undefined
  return !isForwarded && isLoopbackAddress(request.socket.remoteAddress ?? '')
}

export function isLoopbackAddress(address: string): boolean {
  const plain = plainAddress(address)
  return plain === '::1' || (isIP(plain) === 4 && plain.startsWith('127.'))
}

/** IPv4 as IPv6 writes it, and brackets, taken away. */
function plainAddress(address: string): string {
  return address.replace(/^\[|\]$/g, '').replace(/^::ffff:(?=[0-9.]+$)/i, '')
}

function isOwnAddress(host: string, request: FastifyRequest): boolean {
  const plain = plainAddress(host)
  // No name leads to a bare address by trickery: whoever calls by it has dialled it.
  return isIP(plain) !== 0 && plain === plainAddress(request.socket.localAddress ?? '')
}

function hostNameOf(host: string | undefined): string | null {
  const found = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?$/i.exec(host ?? '')
  return found ? (found[1] as string).toLowerCase().replace(/\.$/, '') : null
}

function originHost(origin: string): string | null {
  try {
    const { protocol, host } = new URL(origin)
    return protocol === 'http:' || protocol === 'https:' ? host.toLowerCase() : null
  } catch {
    return null
  }
}
