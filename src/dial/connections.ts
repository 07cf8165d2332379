import { Connection, type Line, openSocket } from './connection.ts'
import { onAbort } from './deadline.ts'
import { dialError } from './dial-error.ts'
import { display } from './display.ts'

/** The open connections of a dialer: bounded, kept a while for the next request to the same origin. */
export class Connections {
  readonly #line: Line
  readonly #open = new Set<Connection>()
  /** Unused ones, the oldest first. */
  readonly #idle: Connection[] = []
  readonly #waiting = new Set<() => void>()
  #opening = 0
  #closed = false

  constructor(line: Line) {
    this.#line = line
  }

  get size(): number {
    return this.#open.size + this.#opening
  }

  /** A connection for one request; `fresh`: not one that the server may be about to close. */
  async take(url: URL, fresh: boolean, signal: AbortSignal): Promise<Connection> {
    for (;;) {
      signal.throwIfAborted()
      if (this.#closed) throw dialError('closed', display(url), 'The dialer is closed.')
      const kept = fresh ? undefined : this.#idle.findLast(({ origin }) => origin === url.origin)
      if (kept?.usable) return this.#busy(kept)
      if (kept) this.drop(kept)
      else if (this.size < this.#line.limits.connectionsMax) return this.#opened(url, signal)
      else {
        if (this.#idle[0]) this.drop(this.#idle[0])
        await this.#turn(signal)
      }
    }
  }

  /** Takes back a connection whose response was read to its end. */
  give(connection: Connection): void {
    if (this.#closed || !this.#open.has(connection) || !connection.usable) {
      this.drop(connection)
      return
    }
    this.#idle.push(connection)
    this.#wake()
  }

  /** Its place becomes free when the socket is closed, a moment later. */
  drop(connection: Connection): void {
    const place = this.#idle.indexOf(connection)
    if (place >= 0) this.#idle.splice(place, 1)
    connection.drop()
  }

  async close(): Promise<void> {
    this.#closed = true
    const ends = [...this.#open].map(({ client }) => client.destroy().catch(() => {}))
    for (const connection of [...this.#open]) this.drop(connection)
    for (const wake of [...this.#waiting]) wake()
    await Promise.all(ends)
  }

  async #opened(url: URL, signal: AbortSignal): Promise<Connection> {
    this.#opening += 1
    let connection: Connection | undefined
    try {
      connection = new Connection(url, await openSocket(this.#line, url, signal), this.#line.limits)
    } finally {
      this.#opening -= 1
      if (!connection) this.#wake()
    }
    const opened = connection
    this.#open.add(opened)
    opened.socket.once('close', () => this.#forget(opened))
    if (opened.socket.closed) this.#forget(opened)
    if (this.#closed) this.drop(opened)
    return opened
  }

  #busy(connection: Connection): Connection {
    this.#idle.splice(this.#idle.indexOf(connection), 1)
    return connection
  }

  #forget(connection: Connection): void {
    this.drop(connection)
    if (this.#open.delete(connection)) this.#wake()
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const turn = Promise.withResolvers<void>()
    this.#waiting.add(turn.resolve)
    const deaf = onAbort(signal, () => turn.resolve())
    await turn.promise
    deaf()
    // A turn that was given to somebody who has gone is passed on.
    if (!this.#waiting.delete(turn.resolve) && signal.aborted) this.#wake()
  }

  #wake(): void {
    const [first] = this.#waiting
    if (!first) return
    this.#waiting.delete(first)
    first()
  }
}
