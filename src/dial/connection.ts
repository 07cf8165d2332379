import { promises as dns } from 'node:dns'
import { connect as connectSocket, type Socket } from 'node:net'
import { connect as connectTls, rootCertificates, type TLSSocket } from 'node:tls'
import { Client } from 'undici'
import type { Clock } from '../clock.ts'
import { isSluiceError, messageOf } from '../errors.ts'
import { type Address, formatAddress, parseAddress, sameAddress } from './addresses.ts'
import { onAbort, within } from './deadline.ts'
import { dialError } from './dial-error.ts'
import { display } from './display.ts'
import type { DialLimits } from './limits.ts'
import { type CheckedRules, refusalOf } from './rules.ts'
import { addressRefused, hostOf, portOf } from './target.ts'

/** All addresses of a name, as text. A test hands in its own; what it answers is judged like any answer. */
export type Resolve = (host: string, signal: AbortSignal) => Promise<readonly string[]>

/** A socket that is connected, and whom the other end says to be: compared with whom we meant to reach. */
export interface Dialed {
  readonly socket: Socket
  readonly remoteAddress: string | undefined
}

export type Connect = (
  to: { readonly address: string; readonly family: 4 | 6; readonly port: number },
  signal: AbortSignal,
) => Promise<Dialed>

/** What opening a connection needs to know. */
export interface Line {
  readonly clock: Clock
  readonly rules: CheckedRules
  readonly limits: DialLimits
  readonly resolve: Resolve
  readonly connect: Connect
  /** Certificates of authorities (PEM) that are trusted besides the public ones. */
  readonly authorities: readonly string[]
}

/** The system's own resolver: it knows the hosts file and the search domains, as every other program here does. */
export const systemResolve: Resolve = async (host) =>
  (await dns.lookup(host, { all: true, order: 'verbatim' })).map(({ address }) => address)

/** Straight to the address: no second lookup, no proxy of the environment. */
export const systemConnect: Connect = ({ address, family, port }, signal) =>
  new Promise((resolve, reject) => {
    const socket = connectSocket({ host: address, family, port, autoSelectFamily: false })
    const deaf = onAbort(signal, (reason) => socket.destroy(reason instanceof Error ? reason : undefined))
    socket.once('close', deaf)
    socket.once('error', reject)
    socket.once('connect', () => {
      deaf()
      resolve({ socket, remoteAddress: socket.remoteAddress })
    })
  })

/** Resolves, judges every answer, and connects to one that was judged. */
export async function openSocket(line: Line, url: URL, signal: AbortSignal): Promise<Socket | TLSSocket> {
  const addresses = await checkedAddresses(line, url, signal)
  let failure: unknown
  for (const address of addresses.slice(0, line.limits.attemptsMax)) {
    try {
      return await attempt(line, url, address, signal)
    } catch (error) {
      // A guard that refuses, or a caller who has gone, does not ask for the next address.
      if (signal.aborted || isSluiceError(error, 'forbidden')) throw error
      failure = error
    }
  }
  throw failure
}

async function checkedAddresses(line: Line, url: URL, signal: AbortSignal): Promise<readonly Address[]> {
  const [host, shown] = [hostOf(url), display(url)]
  const literal = parseAddress(host)
  const answers = literal ? [formatAddress(literal)] : await answersFor(line, host, shown, signal)
  if (answers.length === 0) throw dialError('name', shown, `${shown} cannot be reached: ${host} has no address.`)
  if (answers.length > line.limits.answersMax) {
    throw addressRefused(shown, `its name has ${answers.length} addresses, more than ${line.limits.answersMax}`)
  }
  // One bad answer refuses the name: of a public and an inner address, a connection may come out at either.
  return answers.map((answer) => {
    const address = parseAddress(answer)
    if (address === null) throw addressRefused(shown, 'its name was answered with something that is no address')
    const refusal = refusalOf(line.rules, host, address)
    if (refusal !== null) throw addressRefused(shown, `it leads to ${refusal}`)
    return address
  })
}

async function answersFor(line: Line, host: string, shown: string, signal: AbortSignal): Promise<readonly string[]> {
  const { clock, limits } = line
  const why = () => dialError('timeout', shown, `The name ${host} was not resolved in ${limits.connectMs} ms.`)
  try {
    return await within({ clock, delayMs: limits.connectMs, signal, why }, (own) => line.resolve(host, own))
  } catch (error) {
    if (signal.aborted || isSluiceError(error)) throw error
    const code = codeOf(error)
    const message = `${shown} cannot be reached: the name ${host} was not resolved (${code ?? messageOf(error, 200)}).`
    throw dialError('name', shown, message, { retryable: code === 'EAI_AGAIN' || code === 'ETIMEOUT' })
  }
}

async function attempt(line: Line, url: URL, address: Address, signal: AbortSignal): Promise<Socket | TLSSocket> {
  const { clock, limits } = line
  const [shown, port] = [display(url), portOf(url)]
  const to = { address: formatAddress(address), family: address.family, port }
  const where = `${to.address} port ${port}`
  const why = () => dialError('timeout', shown, `${shown}: no connection to ${where} in ${limits.connectMs} ms.`)
  const open = async (own: AbortSignal): Promise<Socket | TLSSocket> => {
    const { socket, remoteAddress } = await line.connect(to, own)
    const remote = parseAddress(remoteAddress ?? '')
    if (remote === null || !sameAddress(remote, address)) {
      socket.destroy()
      throw addressRefused(shown, `the connection to ${to.address} came out at ${remoteAddress ?? 'no address'}`)
    }
    return url.protocol === 'https:' ? secured(line, socket, hostOf(url), own) : socket
  }
  try {
    return await within({ clock, delayMs: limits.connectMs, signal, why }, open, (socket) => socket.destroy())
  } catch (error) {
    if (signal.aborted || isSluiceError(error)) throw error
    throw connectFailure(error, shown, where)
  }
}

function connectFailure(error: unknown, shown: string, where: string): Error {
  const code = codeOf(error)
  const what = code ?? messageOf(error, 200)
  // Node names what is wrong with a certificate in many codes, all of these forms.
  if (/CERT|SIGNATURE|ISSUER|^ERR_TLS/.test(code ?? '')) {
    return dialError('certificate', shown, `${shown} was refused: its certificate does not stand the test (${what}).`)
  }
  return dialError('connection', shown, `${shown}: no connection to ${where} (${what}).`, { failure: what })
}

function secured(line: Line, socket: Socket, host: string, signal: AbortSignal): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const isName = parseAddress(host) === null
    const secure = connectTls({
      socket,
      host,
      // Said here, because an environment variable can turn the default off.
      rejectUnauthorized: true,
      minVersion: 'TLSv1.2',
      ALPNProtocols: ['http/1.1'],
      ...(isName ? { servername: host } : {}),
      ...(line.authorities.length > 0 ? { ca: [...rootCertificates, ...line.authorities] } : {}),
    })
    const deaf = onAbort(signal, (reason) => secure.destroy(reason instanceof Error ? reason : undefined))
    secure.once('close', deaf)
    secure.once('error', (error) => {
      socket.destroy()
      reject(error)
    })
    secure.once('secureConnect', () => {
      deaf()
      resolve(secure)
    })
  })
}

export function codeOf(error: unknown): string | null {
  const code = (error as { readonly code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : null
}

/** One connection with the HTTP client that speaks over it. The client cannot connect by itself. */
export class Connection {
  readonly origin: string
  readonly client: Client
  readonly socket: Socket | TLSSocket
  /** How many requests it has carried. */
  used = 0

  constructor(url: URL, socket: Socket | TLSSocket, { headerBytesMax, keepMs }: DialLimits) {
    this.origin = url.origin
    this.socket = socket
    // The client listens only while it has the socket; an error after that must not end the process.
    socket.on('error', () => {})
    let given = false
    this.client = new Client(url.origin, {
      connect: (_, callback) => {
        const lost = given || socket.destroyed
        given = true
        // The client does not expect an answer before it has finished asking.
        queueMicrotask(() => (lost ? callback(closedEarly(), null) : callback(null, socket)))
      },
      allowH2: false,
      useMilo: false,
      pipelining: 1,
      maxHeaderSize: headerBytesMax,
      keepAliveTimeout: keepMs,
      keepAliveMaxTimeout: keepMs,
      // Deadlines are kept by Deadline, on the clock that was handed in.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  get usable(): boolean {
    return !this.socket.destroyed && !this.socket.readableEnded && !this.client.destroyed
  }

  drop(): void {
    this.client.destroy().catch(() => {})
    this.socket.destroy()
  }
}

function closedEarly(): Error {
  return Object.assign(new Error('The server has closed the connection.'), { code: 'ECONNRESET' })
}
