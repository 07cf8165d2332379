import type { Verb, Verbs } from './wire.ts'

/** Few enough questions not to be felt, and little enough left when the file is there. */
const stepBytes = 4 * 1024 ** 2

/** Whoever answers for the desk. */
interface Asked {
  ask<V extends Verb>(verb: V, given: Verbs[V]['given']): Promise<Verbs[V]['answer']>
}

/** Has the desk look at one file while it is being received. Nothing depends on it: what it has not seen is looked at afterwards. */
export class Following {
  readonly #desk: Asked
  #path: string | null = null
  #bytes = 0
  /** One question at a time: a desk that has other work to do is not to be buried in them. */
  #isAsking = false

  constructor(desk: Asked) {
    this.#desk = desk
  }

  /** So many bytes of it can be read under this path. */
  wrote(path: string, bytes: number): void {
    if (this.#isAsking || bytes - this.#bytes < stepBytes) return
    this.#path = path
    this.#bytes = bytes
    this.#isAsking = true
    const answered = () => {
      this.#isAsking = false
    }
    this.#desk.ask('follow', { path, bytes }).then(answered, answered)
  }

  /** All of it is there under its digest. Null: it was not taken. */
  ended(sha256: string | null): void {
    if (this.#path === null) return
    this.#desk.ask('followed', { path: this.#path, sha256 }).catch(() => {})
  }
}
