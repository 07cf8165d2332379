import type { ClientBase } from 'pg'
import type { Clock } from '../../clock.ts'
import type { Session } from './session.ts'

/** Looks so often in the time that an answer may take. */
const looks = 10

/** Drops connections on which an answer takes too long. One timer for all of them, and none while nobody asks. */
export class Patience {
  readonly #clock: Clock
  readonly #answerMs: number
  /** Who uses each connection now. */
  readonly #sessions = new Map<ClientBase, Session | null>()
  #cancel: (() => void) | null = null

  constructor(clock: Clock, answerMs: number) {
    this.#clock = clock
    this.#answerMs = answerMs
  }

  begin(client: ClientBase, session: Session): void {
    this.#sessions.set(client, session)
    this.#watch()
  }

  end(client: ClientBase): void {
    this.#sessions.set(client, null)
  }

  forget(client: ClientBase): void {
    this.#sessions.delete(client)
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = null
    this.#sessions.clear()
  }

  #watch(): void {
    this.#cancel ??= this.#clock.after(this.#answerMs / looks, () => {
      this.#cancel = null
      if (this.#look()) this.#watch()
    })
  }

  /** Whether somebody is still asking. */
  #look(): boolean {
    const now = this.#clock.now()
    let isUsed = false
    for (const session of this.#sessions.values()) {
      if (!session) continue
      isUsed = true
      const { silentSince } = session
      if (silentSince !== null && now - silentSince >= this.#answerMs) session.abandon()
    }
    return isUsed
  }
}
