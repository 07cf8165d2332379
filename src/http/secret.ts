import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** 256 bits that nobody can guess. They come from the system, not from the Clock: a simulation must not be able to foresee them. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Takes the same time wherever two texts differ. Their digests are compared, so that their lengths do not show either. */
export function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(one), digest(other))
}
