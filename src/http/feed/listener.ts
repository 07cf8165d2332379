import type { ServerResponse } from 'node:http'
import type { Clock } from '../../clock.ts'
import type { Change, Control } from '../../control.ts'
import { messageOf } from '../../errors.ts'
import type { Role } from '../access.ts'
import type { HttpLimits } from '../http-limits.ts'
import { changeText, type Entry, type FeedHub } from './hub.ts'

/** What of a change somebody hears; null: nothing of it. */
export type Sieve = (change: Change) => Promise<Change | null>

export interface ListenerOptions {
  readonly hub: FeedHub
  readonly control: Pick<Control, 'watch'>
  readonly response: ServerResponse
  /** Of the caller: it decides what is left out of errors. */
  readonly role: Role
  /** Null: hears everything. */
  readonly sieve: Sieve | null
  readonly limits: HttpLimits
  readonly clock: Clock
  ended(): void
}

/** A client that does not read gets this long to take the last message. */
const goodbyeMs = 2_000

/**
 * One client of the feed. It goes through the hub's entries at its own pace; nothing is kept for it but its place. If it is too far behind
 * it is told to begin anew.
 */
export class Listener {
  readonly #options: ListenerOptions
  readonly #abort = new AbortController()
  #place = 0
  /** Not before it has got to where the hub is. */
  #isReady = false
  #isPumping = false
  #isEnded = false
  /** All up to here was sent, or is none of its business: whoever is dropped goes on behind it. */
  #passed: number | null = null
  /** Moves that it heard already, from its own reading: the hub's next entry may hold them once more. */
  #heard: ReadonlySet<string> = new Set()
  #cancelHeartbeat = () => {}
  #unlisten = () => {}

  constructor(options: ListenerOptions) {
    this.#options = options
  }

  /** Begins behind `after`, or from now on. */
  async begin(after: number | null): Promise<void> {
    const { hub, response } = this.#options
    response.once('close', () => this.end())
    this.#unlisten = hub.listen(() => this.#hear())
    this.#heartbeat()
    const position = await hub.wake()
    if (this.#isEnded) return
    response.write(`retry: 2000\nevent: ready\ndata: ${JSON.stringify({ position: after ?? position })}\n\n`)
    const index = after === null ? hub.end : hub.indexBehind(after)
    if (index === null) await this.#catchUp(after as number)
    else this.#place = index
    this.#isReady = true
    this.#hear()
  }

  end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#abort.abort()
    this.#cancelHeartbeat()
    this.#unlisten()
    this.#options.ended()
  }

  /** The server stops: the client comes back to the next one by itself. */
  close(): void {
    this.end()
    this.#options.response.end()
  }

  /** Says goodbye, and does not wait long for it to be heard. */
  resync(reason: string): void {
    if (this.#isEnded) return
    const { response, hub, clock } = this.#options
    this.end()
    response.end(`event: resync\ndata: ${JSON.stringify({ position: hub.position, passed: this.#passed, reason })}\n\n`)
    const cancel = clock.after(goodbyeMs, () => response.destroy())
    response.once('close', cancel)
  }

  #hear(): void {
    if (this.#isEnded || !this.#isReady) return
    const { hub, limits } = this.#options
    const behind = hub.end - this.#place
    if (behind > limits.behindMax || (behind > 1 && this.#bytesBehind() > limits.behindBytesMax)) {
      this.resync(`${behind} changes behind`)
    } else if (!this.#isPumping) this.#pump().catch((error: unknown) => this.resync(messageOf(error, 200)))
  }

  /** What it has still to be sent. Whoever hears little of what happens is sent little. */
  #bytesBehind(): number {
    const { hub, response, limits, sieve, role } = this.#options
    let bytes = response.writableLength
    if (sieve) return bytes
    for (let index = this.#place; index < hub.end && bytes <= limits.behindBytesMax; index += 1) {
      bytes += hub.at(index)?.textFor(role).length ?? Number.POSITIVE_INFINITY
    }
    return bytes
  }

  async #pump(): Promise<void> {
    const { hub } = this.#options
    this.#isPumping = true
    try {
      while (!this.#isEnded && this.#place < hub.end) {
        const entry = hub.at(this.#place)
        if (!entry) return this.resync('the changes in between are not kept any more')
        const text = await this.#textOf(entry)
        if (text !== null) await this.#write(text)
        if (this.#isEnded) return
        this.#place += 1
        this.#passed = entry.change.position
      }
    } finally {
      this.#isPumping = false
    }
  }

  async #textOf(entry: Entry): Promise<string | null> {
    const { sieve, role } = this.#options
    const change = this.#heard.size === 0 ? entry.change : this.#unheard(entry.change)
    if (!sieve) return change === entry.change ? entry.textFor(role) : changeText(change, role)
    const sieved = await sieve(change)
    return sieved === null ? null : changeText(sieved, role)
  }

  /** Resolves when the socket has room again, or is gone. */
  #write(text: string): Promise<void> | null {
    const { response } = this.#options
    if (this.#isEnded || response.write(text)) return null
    return new Promise((resolve) => {
      const done = () => {
        response.off('drain', done)
        this.#abort.signal.removeEventListener('abort', done)
        resolve()
      }
      response.once('drain', done)
      this.#abort.signal.addEventListener('abort', done, { once: true })
    })
  }

  /** From the store, until it is where the hub is. */
  async #catchUp(after: number): Promise<void> {
    const { hub, control, sieve, role } = this.#options
    try {
      for await (const change of control.watch({ after, signal: this.#abort.signal })) {
        const sieved = sieve ? await sieve(change) : change
        if (sieved !== null) await this.#write(changeText(sieved, role))
        if (this.#isEnded) return
        this.#passed = change.position
        if (change.position < (hub.position ?? 0)) continue
        // The hub reads in pages of its own: what it has not read yet of this change comes once more.
        this.#heard = keysOf(change)
        this.#place = hub.end
        return
      }
    } catch (error) {
      this.resync(messageOf(error, 200))
    }
  }

  #unheard(change: Change): Change {
    const events = change.events.filter(({ entity, seq }) => !this.#heard.has(`${entity}:${seq}`))
    const births = change.births.filter((id) => !this.#heard.has(String(id)))
    if (events.length === change.events.length && births.length === change.births.length) {
      // The first one without anything that was heard is behind all that was.
      this.#heard = new Set()
      return change
    }
    return { position: change.position, events, births }
  }

  #heartbeat(): void {
    const { clock, limits, response } = this.#options
    this.#cancelHeartbeat = clock.after(limits.heartbeatMs, () => {
      // Nobody who does not read is sent more to keep.
      if (!response.writableNeedDrain) response.write(': \n\n')
      this.#heartbeat()
    })
  }
}

function keysOf({ events, births }: Change): ReadonlySet<string> {
  return new Set([...events.map(({ entity, seq }) => `${entity}:${seq}`), ...births.map(String)])
}
