import { type ErrorCode, SluiceError } from '../errors.ts'

/** Why a request ended without an answer: for programs, in the detail of the error. */
export const dialReasons = [
  'request',
  'url',
  'scheme',
  'userinfo',
  'port',
  'address',
  'name',
  'connection',
  'certificate',
  'timeout',
  'idle',
  'redirect',
  'status',
  'protocol',
  'encoding',
  'media_type',
  'too_big',
  'length',
  'range',
  'closed',
] as const

export type DialReason = (typeof dialReasons)[number]

/** The code of each reason, and whether the same request may succeed later. */
const ends: Readonly<Record<DialReason, readonly [code: ErrorCode, retryable: boolean]>> = {
  request: ['invalid', false],
  url: ['invalid', false],
  scheme: ['forbidden', false],
  userinfo: ['forbidden', false],
  port: ['forbidden', false],
  address: ['forbidden', false],
  name: ['not_found', false],
  connection: ['internal', true],
  certificate: ['forbidden', false],
  timeout: ['internal', true],
  idle: ['internal', true],
  redirect: ['forbidden', false],
  status: ['internal', true],
  protocol: ['invalid', false],
  encoding: ['unsupported', false],
  media_type: ['unsupported', false],
  too_big: ['invalid', false],
  length: ['internal', true],
  range: ['conflict', false],
  closed: ['conflict', false],
}

export interface DialErrorDetail {
  readonly reason: DialReason
  /** Fit for display; null if the text could not even be read as a URL. */
  readonly url: string | null
  readonly retryable: boolean
  readonly status?: number
  /** How long the server asked us to wait, within our limit. */
  readonly retryAfterMs?: number
}

export function dialError(
  reason: DialReason,
  url: string | null,
  message: string,
  more: { readonly code?: ErrorCode; readonly [field: string]: unknown } = {},
  cause?: unknown,
): SluiceError {
  const [code, retryable] = ends[reason]
  const { code: given, ...detail } = more
  return new SluiceError(given ?? code, message, { reason, url, retryable, ...detail }, cause)
}

/** The detail of an error that the dialer made; null for any other. */
export function dialErrorDetail(error: unknown): DialErrorDetail | null {
  if (!(error instanceof SluiceError)) return null
  const detail = error.detail as Partial<DialErrorDetail>
  return dialReasons.some((reason) => reason === detail.reason) ? (detail as DialErrorDetail) : null
}
