import type { Clock } from '../clock.ts'
import { digestOf, newSecret } from './secret.ts'

export const sessionCookie = 'sluice_session'

/** One browser that has shown a token. */
export interface Session {
  readonly tokenDigest: string
  readonly csrf: string
  readonly expiresAt: number
}

/** Kept in memory under the digest of the cookie: a restart logs out, and a dump of the memory opens nothing. */
export class Sessions {
  readonly #clock: Clock
  readonly #sessionMs: number
  readonly #sessionsMax: number
  readonly #sessions = new Map<string, Session>()

  constructor(clock: Clock, limits: { readonly sessionMs: number; readonly sessionsMax: number }) {
    this.#clock = clock
    this.#sessionMs = limits.sessionMs
    this.#sessionsMax = limits.sessionsMax
  }

  create(tokenDigest: string, tokenExpiresAt: number | null): { readonly id: string; readonly session: Session } {
    const id = newSecret()
    const expiresAt = Math.min(this.#clock.now() + this.#sessionMs, tokenExpiresAt ?? Number.POSITIVE_INFINITY)
    const session = { tokenDigest, csrf: newSecret(), expiresAt }
    // The oldest goes: whoever logs in again and again pushes out his own first ones, not the server.
    for (const oldest of this.#sessions.keys()) {
      if (this.#sessions.size < this.#sessionsMax) break
      this.#sessions.delete(oldest)
    }
    this.#sessions.set(digestOf(id), session)
    return { id, session }
  }

  find(id: string): Session | null {
    const key = digestOf(id)
    const session = this.#sessions.get(key)
    if (!session) return null
    if (this.#clock.now() < session.expiresAt) return session
    this.#sessions.delete(key)
    return null
  }

  end(id: string): void {
    this.#sessions.delete(digestOf(id))
  }
}
