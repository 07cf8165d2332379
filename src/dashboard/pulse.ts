import type { Clock } from '../clock.ts'
import type { Control } from '../control.ts'
import type { Event } from '../event.ts'

/** What happened within half a second: enough to redraw a page by, however many moves there were. */
export interface Beat {
  readonly at: number
  readonly position: number
  readonly moves: number
  readonly births: number
  /** Moves by machine and hop: `machine transition from to`. */
  readonly edges: Readonly<Record<string, number>>
}

/** What a page gets when it begins to listen. */
export interface PulseHistory {
  readonly now: number
  /** When the listening began that has gone on without a gap until now. */
  readonly since: number
  /** Moves in each of the last seconds that were listened to, the oldest first. */
  readonly seconds: readonly { readonly at: number; readonly moves: number; readonly births: number }[]
  /** The beats of the last ten seconds: rates are right from the first look on. */
  readonly beats: readonly Beat[]
}

export interface PulseOptions {
  readonly control: Pick<Control, 'watch' | 'machines' | 'get'>
  readonly clock: Clock
  /** Told when the feed cannot be read; it is tried again. */
  readonly onError?: (error: unknown) => void
}

const beatMs = 500
const retryMs = 2_000
/** Somebody who goes from page to page, or reloads one, finds the plot as it was. */
const lingerMs = 60_000
const secondsMax = 300
const recentMs = 10_000
const edgesMax = 2_000
const listenersMax = 1_000
/** How many entities are looked up in one beat to tell machines apart whose hops have the same names. */
const lookupsMax = 16

/**
 * One reader of the feed for all pages, and only while there are some. Pages are told twice a second at most, in sums: a
 * million moves a minute are as easy to look at as ten.
 */
export class Pulse {
  readonly #options: PulseOptions
  readonly #listeners = new Set<(beat: Beat) => void>()
  readonly #seconds: { at: number; moves: number; births: number }[] = []
  readonly #machineOf = new Map<string, string | null>()
  #recent: readonly Beat[] = []
  #since: number | null = null
  #abort: AbortController | null = null
  #cancelLinger: (() => void) | null = null
  #cancelBeat: (() => void) | null = null
  #edges = new Map<string, number>()
  #moves = 0
  #births = 0
  #position = 0
  #isClosed = false

  constructor(options: PulseOptions) {
    this.#options = options
  }

  /** Null: there are too many listeners already. Otherwise a function that ends it. */
  listen(listener: (beat: Beat) => void): (() => void) | null {
    if (this.#isClosed || this.#listeners.size >= listenersMax) return null
    this.#listeners.add(listener)
    this.#cancelLinger?.()
    this.#cancelLinger = null
    this.#start()
    return () => {
      if (!this.#listeners.delete(listener) || this.#listeners.size > 0 || this.#isClosed) return
      this.#cancelLinger = this.#options.clock.after(lingerMs, () => this.#stop())
    }
  }

  history(): PulseHistory {
    const now = this.#options.clock.now()
    return {
      now,
      since: this.#since ?? now,
      seconds: this.#seconds.map((second) => ({ ...second })),
      beats: this.#recent.filter(({ at }) => at > now - recentMs),
    }
  }

  close(): void {
    this.#isClosed = true
    this.#listeners.clear()
    this.#cancelLinger?.()
    this.#stop()
  }

  #start(): void {
    if (this.#abort) return
    const abort = new AbortController()
    this.#abort = abort
    this.#read(abort.signal).catch((error: unknown) => {
      this.#options.onError?.(error)
      if (this.#abort !== abort) return
      this.#forget()
      const cancel = this.#options.clock.after(retryMs, () => {
        if (this.#abort !== abort) return
        this.#abort = null
        this.#start()
      })
      abort.signal.addEventListener('abort', cancel, { once: true })
    })
  }

  #stop(): void {
    this.#abort?.abort()
    this.#abort = null
    this.#cancelBeat?.()
    this.#cancelBeat = null
    this.#forget()
  }

  /** After a time without listening, what was known would be followed by a gap that looks like an idle engine. */
  #forget(): void {
    this.#seconds.length = 0
    this.#recent = []
    this.#since = null
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { control } = this.#options
    const named = await this.#namedHops()
    const begun = () => {
      this.#since = this.#options.clock.now()
    }
    for await (const { position, events, births } of control.watch({ signal, begun })) {
      if (signal.aborted) return
      let lookups = 0
      for (const event of events) {
        if (event.from === null || event.to === null) continue
        const hop = `${event.transition} ${event.from} ${event.to}`
        const candidates = named.get(hop) ?? []
        let machine = candidates[0] ?? null
        if (candidates.length > 1) {
          if (lookups < lookupsMax) {
            lookups += 1
            machine = await this.#lookUp(event)
            this.#machineOf.set(hop, machine)
          } else machine = this.#machineOf.get(hop) ?? machine
        }
        const key = `${machine ?? '?'} ${hop}`
        if (this.#edges.size < edgesMax || this.#edges.has(key)) this.#edges.set(key, (this.#edges.get(key) ?? 0) + 1)
      }
      this.#moves += events.length
      this.#births += births.length
      this.#position = position
      this.#cancelBeat ??= this.#options.clock.after(beatMs, () => this.#beat())
    }
  }

  async #lookUp({ entity }: Event): Promise<string | null> {
    try {
      return (await this.#options.control.get(entity)).machine
    } catch {
      // Purged meanwhile: whose move it was does not matter any more.
      return null
    }
  }

  /** Which machines have a hop of this name. */
  async #namedHops(): Promise<ReadonlyMap<string, readonly string[]>> {
    const named = new Map<string, string[]>()
    for (const machine of await this.#options.control.machines()) {
      for (const { name, from, to } of machine.edges) {
        const hop = `${name} ${from} ${to}`
        const names = named.get(hop)
        if (!names) named.set(hop, [machine.name])
        else if (!names.includes(machine.name)) names.push(machine.name)
      }
    }
    return named
  }

  #count({ at: beatAt, moves, births }: Beat): void {
    // What a beat tells happened in the half second before it.
    const at = Math.floor((beatAt - beatMs / 2) / 1_000) * 1_000
    const last = this.#seconds.at(-1)
    if (last?.at === at) {
      last.moves += moves
      last.births += births
      return
    }
    this.#seconds.push({ at, moves, births })
    if (this.#seconds.length > secondsMax) this.#seconds.shift()
  }

  #beat(): void {
    this.#cancelBeat = null
    const beat: Beat = {
      at: this.#options.clock.now(),
      position: this.#position,
      moves: this.#moves,
      births: this.#births,
      edges: Object.fromEntries(this.#edges),
    }
    this.#edges = new Map()
    this.#moves = 0
    this.#births = 0
    this.#count(beat)
    this.#recent = [...this.#recent.filter(({ at }) => at > beat.at - recentMs), beat]
    for (const listener of this.#listeners) listener(beat)
  }
}
