import { SluiceError } from '../errors.ts'

/** Everything has a limit. Those of one request (bytes, time) are given with the request. */
export interface DialLimits {
  readonly redirectsMax: number
  /** Of a response, trailers included; of a request, all that the caller gives. */
  readonly headerBytesMax: number
  /** Resolving a name; and, for each address, connecting and the TLS handshake. */
  readonly connectMs: number
  /** Answers of the resolver: more are refused. Of these so many are tried. */
  readonly answersMax: number
  readonly attemptsMax: number
  /** Open connections, busy and idle. Whoever comes then waits for one. */
  readonly connectionsMax: number
  /** How long an unused connection is kept, whatever the server says. */
  readonly keepMs: number
  /** A body must bring so many bytes in every idleMs of waiting: a drip is as good as silence. */
  readonly idleBytesMin: number
  /** A server may ask us to wait so long, and no longer. */
  readonly retryAfterMsMax: number
  /** Body of a post, and what is read of the answer to it. */
  readonly postBytesMax: number
  readonly replyBytesMax: number
}

export const defaultDialLimits: DialLimits = {
  redirectsMax: 5,
  headerBytesMax: 16 * 1024,
  connectMs: 10_000,
  answersMax: 64,
  attemptsMax: 4,
  connectionsMax: 32,
  keepMs: 10_000,
  idleBytesMin: 1024,
  retryAfterMsMax: 60 * 60 * 1_000,
  postBytesMax: 1024 * 1024,
  replyBytesMax: 64 * 1024,
}

/** No request lasts longer than a day: then it goes on at a byte, as a new request. */
export const requestMsMax = 24 * 60 * 60 * 1_000

export function dialLimitsOf(given: Partial<DialLimits> = {}): DialLimits {
  const limits = { ...defaultDialLimits, ...given }
  const wrong = Object.entries(limits).filter(
    ([name, value]) =>
      !(name in defaultDialLimits) || !Number.isSafeInteger(value) || value < (name === 'redirectsMax' ? 0 : 1),
  )
  if (wrong.length === 0) return limits
  const names = wrong.map(([name]) => name).join(', ')
  throw new SluiceError('invalid', `Limits of a dialer are whole numbers above 0: ${names}.`, { limits: names })
}
