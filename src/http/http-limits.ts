import { SluiceError } from '../errors.ts'

/** Everything that a caller can make big has a limit. */
export interface HttpLimits {
  /** Bytes of a JSON body. */
  readonly bodyBytesMax: number
  /** How deep JSON may be nested. */
  readonly depthMax: number
  readonly headerBytesMax: number
  /** Bytes of one file of an upload; the family may allow less. */
  readonly fileBytesMax: number
  readonly filesMax: number
  /** A body must be complete after this time; an upload must get on within it. */
  readonly receiveMs: number
  readonly pageMax: number
  readonly pageDefault: number
  readonly itemsMax: number
  /** Requests of one token within the window. */
  readonly requestsMax: number
  /** Requests of one address that show no valid token, within the window. */
  readonly strangersMax: number
  readonly windowMs: number
  /** Requests of one token that wait for their turn. */
  readonly waitingMax: number
  readonly sessionsMax: number
  readonly sessionMs: number
  /** How long an answer is replayed to whoever repeats its Idempotency-Key. */
  readonly replayMs: number
  /** Answers that are bigger are not kept; the request is made anew. */
  readonly replayBytesMax: number
  readonly confirmationMs: number
  readonly confirmationsMax: number
  /** Clients of /api/events, of all and of one token. */
  readonly listenersMax: number
  readonly listenersPerToken: number
  /** How far a client of /api/events may be behind. */
  readonly behindMax: number
  readonly behindBytesMax: number
  readonly heartbeatMs: number
  /** What a closing server waits for requests that are under way. */
  readonly closeMs: number
}

export const defaultHttpLimits: HttpLimits = {
  bodyBytesMax: 1024 * 1024,
  depthMax: 64,
  headerBytesMax: 16 * 1024,
  fileBytesMax: 10 * 1024 ** 3,
  filesMax: 100,
  receiveMs: 30_000,
  pageMax: 1_000,
  pageDefault: 100,
  itemsMax: 10_000,
  requestsMax: 20_000,
  strangersMax: 1_000,
  windowMs: 10_000,
  waitingMax: 1_000,
  sessionsMax: 10_000,
  sessionMs: 12 * 60 * 60 * 1_000,
  replayMs: 24 * 60 * 60 * 1_000,
  replayBytesMax: 512 * 1024,
  confirmationMs: 10 * 60 * 1_000,
  confirmationsMax: 1_000,
  listenersMax: 2_000,
  listenersPerToken: 1_000,
  behindMax: 256,
  behindBytesMax: 1024 * 1024,
  heartbeatMs: 15_000,
  closeMs: 5_000,
}

/** The defaults with what was given; what makes no sense is refused, all of it at once. */
export function httpLimitsOf(given: Partial<HttpLimits> = {}): HttpLimits {
  const limits = {
    ...defaultHttpLimits,
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
  }
  const faults = Object.entries(limits).flatMap(([name, value]) => {
    if (!Object.hasOwn(defaultHttpLimits, name)) return [`there is no limit ${name}`]
    return Number.isFinite(value) && value > 0 ? [] : [`${name} must be a number above 0; it was ${value}`]
  })
  if (faults.length > 0)
    throw new SluiceError('invalid', `The limits of the API do not fit: ${faults.join('; ')}.`, { faults })
  return limits
}
