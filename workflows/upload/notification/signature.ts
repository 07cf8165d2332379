import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * How a receiver knows that a notice is ours and fresh: `Sluice-Signature: t=<unix seconds>,v1=<hex HMAC-SHA256 of "<t>.<body>">`.
 * The time is part of what is signed, so an old notice cannot be sent again with a new time.
 */
export const signatureHeader = 'Sluice-Signature'

const toleranceMsDefault = 5 * 60 * 1_000
/** A header that says more than this was not written by us. */
const headerMax = 1_000

export function signatureOf(body: string | Uint8Array, secret: string, now: number): string {
  const seconds = Math.floor(now / 1_000)
  return `t=${seconds},v1=${digestOf(seconds, body, secret).toString('hex')}`
}

export interface VerifyOptions {
  /** The receiver's time in milliseconds. */
  readonly now: number
  /** How far the two clocks, and the way between them, may lie apart. Default: five minutes. */
  readonly toleranceMs?: number
}

/**
 * True if the body was signed with the secret (or with one of several, while a secret is being replaced) not long ago. The body must
 * be the bytes as they came: JSON that was parsed and written again may differ.
 */
export function verifySignature(
  body: string | Uint8Array,
  header: string | null | undefined,
  secret: string | readonly string[],
  { now, toleranceMs = toleranceMsDefault }: VerifyOptions,
): boolean {
  const given = headerOf(header)
  if (!given || !(Math.abs(now - given.seconds * 1_000) <= toleranceMs)) return false
  const secrets = typeof secret === 'string' ? [secret] : secret
  // Every pair is compared, whatever the others gave: the time it takes tells nothing.
  let isOurs = false
  for (const expected of secrets.map((one) => digestOf(given.seconds, body, one))) {
    for (const digest of given.digests) isOurs = timingSafeEqual(expected, digest) || isOurs
  }
  return isOurs
}

function digestOf(seconds: number, body: string | Uint8Array, secret: string): Buffer {
  return createHmac('sha256', secret).update(`${seconds}.`).update(body).digest()
}

/** Parts with other names are left alone: a later version may sign in another way beside this one. */
function headerOf(header: string | null | undefined): { seconds: number; digests: readonly Buffer[] } | null {
  if (!header || header.length > headerMax) return null
  const parts = header.split(',').map((part) => part.trim())
  const times = parts.filter((part) => /^t=\d{1,12}$/.test(part))
  const digests = parts
    .filter((part) => /^v1=[0-9a-f]{64}$/.test(part))
    .map((part) => Buffer.from(part.slice(3), 'hex'))
  return times.length === 1 && digests.length > 0 ? { seconds: Number(times[0]!.slice(2)), digests } : null
}
