import { createHash } from 'node:crypto'
import type pg from 'pg'
import type { Clock } from '../../clock.ts'
import type { EntityId } from '../../entity.ts'
import type { Signal } from '../../store.ts'
import type { Database } from './database.ts'
import { Newcomers } from './newcomers.ts'

/** Hints to other processes go out at once after a pause, and then so far apart at least: what comes in between is merged. */
const paceMs = 3
/** How soon whoever follows the feed looks again, when there is more than could be shown. */
const againMs = 5
/** A lost connection is made again after a pause that doubles up to this one. */
const pauseMsMax = 2_000
const pauseMsFirst = 50
const nameMax = 63

const everything: Signal = { work: true, due: true, ended: true }
const work: Signal = { work: true, due: false, ended: false }
const nothing: Signal = { work: false, due: false, ended: false }

/** Hints to whoever listens: at once for what this process does, by the server's notifications for what others do. */
export class Signals {
  readonly #database: Database
  readonly #clock: Clock
  readonly #channel: string
  /** Tells our own notifications from those of others. */
  readonly #name: string
  readonly #listeners = new Set<(signal: Signal) => void>()
  readonly newcomers: Newcomers
  #client: pg.Client | null = null
  #opening: Promise<void> | null = null
  #isListening = false
  #isWanted = false
  #isStopped = false
  /** What others are to be told, as soon as the last notification is out. */
  #waiting: Signal | null = null
  #isSending = false
  #sentAt = Number.NEGATIVE_INFINITY
  #failures = 0
  #cancelPause: (() => void) | null = null
  #cancelPace: (() => void) | null = null
  #cancelAgain: (() => void) | null = null

  constructor(database: Database, schema: string, clock: Clock) {
    this.#database = database
    this.#clock = clock
    this.#channel = channelOf(schema)
    this.newcomers = new Newcomers(clock, () => this.#tellOthers(work))
    this.#name = `${Math.floor(clock.random() * 2 ** 48).toString(36)}`
  }

  /** A listener's fault is its own, never the committer's. `born`: all that there is to claim is this one. */
  tell(signal: Signal, born?: EntityId): void {
    this.#hear(signal)
    if (born === undefined || signal.due || signal.ended || !this.newcomers.keep(born)) this.#tellOthers(signal)
  }

  #tellOthers(signal: Signal): void {
    this.#waiting = merged(this.#waiting, signal)
    // What this process does about it (it claims, mostly) begins in the next turn, and goes to the server first.
    this.#clock.soon(() => this.#clock.soon(() => this.#send()))
  }

  /** Those who listen here look again soon. */
  again(): void {
    if (this.#isStopped) return
    this.#cancelAgain ??= this.#clock.after(againMs, () => {
      this.#cancelAgain = null
      this.#hear(nothing)
    })
  }

  listen(listener: (signal: Signal) => void): () => void {
    this.#listeners.add(listener)
    this.#isWanted = true
    if (this.#client) this.#attend(this.#client)
    else this.#connect()
    return () => {
      this.#listeners.delete(listener)
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.newcomers.stop()
    this.#listeners.clear()
    for (const cancel of [this.#cancelPause, this.#cancelPace, this.#cancelAgain]) cancel?.()
    await this.#opening
    const client = this.#client
    this.#client = null
    if (client) await end(client)
  }

  #hear(signal: Signal): void {
    for (const listener of this.#listeners) queueMicrotask(() => listener(signal))
  }

  /** One notification at a time. Hints may be lost: one that cannot be sent is forgotten. */
  #send(): void {
    if (this.#isStopped || this.#isSending || !this.#waiting) return
    const client = this.#client
    if (!client) {
      this.#connect()
      return
    }
    const restMs = this.#sentAt + paceMs - this.#clock.now()
    if (restMs > 0) {
      this.#cancelPace ??= this.#clock.after(restMs, () => {
        this.#cancelPace = null
        this.#send()
      })
      return
    }
    const payload = payloadOf(this.#name, this.#waiting)
    this.#waiting = null
    this.#isSending = true
    this.#sentAt = this.#clock.now()
    const sent = () => {
      if (this.#client !== client) return
      this.#isSending = false
      this.#send()
    }
    client
      .query({ name: 'notify', text: 'SELECT pg_notify($1, $2)', values: [this.#channel, payload] })
      .then(sent, sent)
  }

  #connect(): void {
    if (this.#client || this.#opening || this.#cancelPause || this.#isStopped) return
    this.#opening = this.#open().then(
      (client) => this.#begin(client),
      () => this.#lose(null),
    )
  }

  /** What it sends need not be on the disk before it is heard. */
  async #open(): Promise<pg.Client> {
    const client = await this.#database.connect()
    client.on('error', () => {})
    try {
      await client.query('SET synchronous_commit = off')
    } catch (error) {
      await end(client)
      throw error
    }
    return client
  }

  #begin(client: pg.Client): void {
    this.#opening = null
    this.#client = client
    this.#isListening = false
    client.on('notification', ({ payload }) => this.#receive(payload))
    client.on('error', () => this.#lose(client))
    client.on('end', () => this.#lose(client))
    // It keeps no process alive.
    held(client).unref()
    if (this.#isWanted) this.#attend(client)
    this.#failures = 0
    this.#send()
  }

  #attend(client: pg.Client): void {
    if (this.#isListening) return
    this.#isListening = true
    // After a loss nobody knows what was told meanwhile.
    const wasLost = this.#failures > 0
    client.query(`LISTEN ${this.#channel}`).then(
      () => wasLost && this.#hear(everything),
      () => this.#lose(client),
    )
  }

  #lose(client: pg.Client | null): void {
    if (client !== this.#client) return
    this.#client = null
    this.#opening = null
    this.#isSending = false
    if (client) void end(client)
    this.#waiting = null
    this.#failures += 1
    if (this.#isStopped) return
    const pauseMs = Math.min(pauseMsMax, pauseMsFirst * 2 ** Math.min(10, this.#failures - 1))
    this.#cancelPause = this.#clock.after(pauseMs, () => {
      this.#cancelPause = null
      // Whoever only tells has a connection made when he has something to tell.
      if (this.#isWanted || this.#waiting) this.#connect()
    })
  }

  #receive(payload: string | undefined): void {
    const told = parsed(payload)
    if (told && told.from !== this.#name) this.#hear({ work: told.work, due: told.due, ended: told.ended })
  }
}

/** Whether an open connection keeps the process alive; the driver's types do not know of it. */
function held(client: pg.Client): { ref(): void; unref(): void } {
  return client as unknown as { ref(): void; unref(): void }
}

/** Whoever waits for its end is kept alive until then. */
async function end(client: pg.Client): Promise<void> {
  held(client).ref()
  await client.end().catch(() => {})
}

/** The notification of one hint, for whoever has no connection that listens. `from` is nobody's name: all who listen hear it. */
export function notification(
  schema: string,
  signal: Signal,
): { readonly sql: string; readonly values: readonly string[] } {
  return { sql: 'SELECT pg_notify($1, $2)', values: [channelOf(schema), payloadOf('', signal)] }
}

/** Names of channels are as long as those of tables. */
function channelOf(schema: string): string {
  const name = `sluice_${schema}`
  return name.length <= nameMax ? name : `sluice_${createHash('sha256').update(schema).digest('hex').slice(0, 40)}`
}

function payloadOf(from: string, { work, due, ended }: Signal): string {
  return JSON.stringify({ from, work, due, ended })
}

/** Anybody may write to the channel: what cannot be read is passed over. */
function parsed(payload: string | undefined): (Signal & { readonly from: unknown }) | null {
  try {
    const { from, work, due, ended } = JSON.parse(payload ?? '')
    return { from, work: work === true, due: due === true, ended: ended === true }
  } catch {
    return null
  }
}

function merged(one: Signal | null, other: Signal): Signal {
  if (!one) return other
  return { work: one.work || other.work, due: one.due || other.due, ended: one.ended || other.ended }
}
