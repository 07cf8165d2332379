import type { Clock } from '../../clock.ts'
import type { Beat, PulseHistory } from '../pulse.ts'
import type { Contact } from './contact.ts'

/** Rates on arrows are averages over this time. */
const rateMs = 10_000
/** A rate measured over less than this would be noise. */
const rateMsMin = 1_000
const pollMs = 5_000
/** The server sends a heartbeat every 5 s; after two missed ones the connection is taken for dead. */
const silenceMs = 12_000
const gapsMax = 50
/** No page is drawn more often, however much happens. */
export const redrawMs = 500

interface Gap {
  readonly from: number
  readonly to: number
}

interface LiveOptions {
  readonly clock: Clock
  readonly contact: Contact
  /** Asks the server for a sign of life; the answer, or its absence, reaches the contact. */
  readonly probe: () => Promise<void>
}

/** The one connection by which the server says that something has happened. */
export class Live {
  readonly #clock: Clock
  readonly #contact: Contact
  readonly #probe: () => Promise<void>
  readonly #listeners = new Set<() => void>()
  readonly #seconds = new Map<number, { moves: number; births: number }>()
  #beats: readonly Beat[] = []
  #source: EventSource | null = null
  #cancelPoll: (() => void) | null = null
  /** Apart from the poll: a connection that is lost while rates fade must be made again all the same. */
  #cancelFading: (() => void) | null = null
  #cancelSilence: (() => void) | null = null
  #isPaused = false
  #told = 0
  #status: 'live' | 'connecting' | 'polling' = 'connecting'
  /** The first moment that the server told of, by its clock. */
  #since = Number.POSITIVE_INFINITY
  /** The begin of the time that is known without a gap up to now, by the server's clock. */
  #heardFrom = Number.POSITIVE_INFINITY
  /** When the connection was lost, by the server's clock. Null: it is there. */
  #lostAt: number | null = null
  /** Times in which nobody told us anything: they are drawn as gaps, not as zeros. */
  #gaps: readonly Gap[] = []
  /** What the server's clock is ahead of this one. */
  #aheadMs = 0

  constructor({ clock, contact, probe }: LiveOptions) {
    this.#clock = clock
    this.#contact = contact
    this.#probe = probe
    contact.listen(() => this.#tell())
  }

  /** The server's time: what it says in times is compared with this. */
  get now(): number {
    return this.#clock.now() + this.#aheadMs
  }

  get status(): 'live' | 'connecting' | 'polling' | 'paused' | 'silent' {
    if (this.#contact.isSilent) return 'silent'
    return this.#isPaused ? 'paused' : this.#status
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  /** How often listeners were told: a page that has drawn an older count has missed something. */
  get told(): number {
    return this.#told
  }

  connect(): void {
    if (this.#source) return
    const source = new EventSource('/api/pulse')
    this.#source = source
    source.addEventListener('open', () => this.#heard())
    source.addEventListener('history', (event) => this.#learn(JSON.parse(event.data) as PulseHistory))
    source.addEventListener('beat', (event) => this.#hear(JSON.parse(event.data) as Beat))
    source.addEventListener('alive', () => this.#heard())
    source.addEventListener('error', () => {
      // Only until the browser has connected again.
      this.#lose(source.readyState === EventSource.CLOSED ? 'polling' : 'connecting')
    })
    this.#poll()
  }

  close(): void {
    this.#source?.close()
    this.#source = null
    this.#cancelFading?.()
    this.#cancelSilence?.()
    this.#cancelPoll?.()
    this.#cancelPoll = null
  }

  pause(isPaused: boolean): void {
    this.#isPaused = isPaused
    this.#tell()
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Moves per second over an arrow, over the last ten seconds or the part of them that is known. */
  rate(machine: string, transition: string, from: string, to: string): number {
    const key = `${machine} ${transition} ${from} ${to}`
    const since = this.now - rateMs
    const sum = this.#beats.filter(({ at }) => at > since).reduce((all, { edges }) => all + (edges[key] ?? 0), 0)
    const knownMs = Math.min(rateMs, Math.max(rateMsMin, this.now - this.#heardFrom))
    return sum / (knownMs / 1_000)
  }

  /** For how long we have been told, in seconds. */
  get knownSeconds(): number {
    const first = Math.min(...this.#seconds.keys(), this.#since)
    return Math.ceil((this.now - first) / 1_000)
  }

  /** One point for every second, up to now: a quiet second is zero, an unknown one is null. */
  series(lengthSeconds: number): {
    readonly at: readonly number[]
    readonly moves: readonly (number | null)[]
    readonly births: readonly (number | null)[]
  } {
    // The current second is not over: it would always look like a fall.
    const end = Math.floor(this.now / 1_000) * 1_000 - 1_000
    const at = Array.from({ length: lengthSeconds }, (_, index) => end - (lengthSeconds - 1 - index) * 1_000)
    const valueAt = (time: number, field: 'moves' | 'births') =>
      this.#seconds.get(time)?.[field] ?? (this.#isUnknown(time) ? null : 0)
    return {
      at: at.map((time) => time / 1_000),
      moves: at.map((time) => valueAt(time, 'moves')),
      births: at.map((time) => valueAt(time, 'births')),
    }
  }

  /** The average over the last seconds; null: nothing is known of them. */
  movesPerSecond(lengthSeconds: number): number | null {
    const known = this.series(lengthSeconds).moves.filter((moves) => moves !== null)
    return known.length === 0 ? null : known.reduce((all, moves) => all + moves, 0) / known.length
  }

  #isUnknown(second: number): boolean {
    if (this.#lostAt !== null && second + 1_000 > this.#lostAt) return true
    if (second + 1_000 <= this.#since) return true
    return this.#gaps.some(({ from, to }) => second + 1_000 > from && second < to)
  }

  #learn({ now, since, seconds, beats }: PulseHistory): void {
    this.#aheadMs = now - this.#clock.now()
    if (this.#lostAt !== null && since > this.#lostAt)
      this.#gaps = [...this.#gaps, { from: this.#lostAt, to: since }].slice(-gapsMax)
    this.#heardFrom = this.#lostAt === null ? since : Math.max(since, Math.min(this.#heardFrom, this.#lostAt))
    this.#lostAt = null
    this.#since = Math.min(this.#since, since)
    this.#beats = beats
    for (const { at, moves, births } of seconds) this.#seconds.set(at, { moves, births })
    this.#heard()
    this.#tell()
  }

  #hear(beat: Beat): void {
    const second = Math.floor((beat.at - redrawMs / 2) / 1_000) * 1_000
    const { moves, births } = this.#seconds.get(second) ?? { moves: 0, births: 0 }
    this.#seconds.set(second, { moves: moves + beat.moves, births: births + beat.births })
    const oldest = beat.at - 320_000
    for (const at of this.#seconds.keys()) if (at < oldest) this.#seconds.delete(at)
    this.#beats = [...this.#beats.filter(({ at }) => at > beat.at - rateMs), beat]
    this.#heard()
    this.#tell()
    // Once more when the rates have run out, so that no arrow keeps its last figure.
    this.#cancelFading?.()
    this.#cancelFading = this.#clock.after(rateMs + redrawMs, () => this.#tell())
  }

  #heard(): void {
    this.#contact.heard()
    this.#become('live')
    this.#cancelSilence?.()
    this.#cancelSilence = this.#clock.after(silenceMs, () => {
      // The connection stands, but nothing comes over it: the server hangs or the network is gone.
      this.#lose('connecting')
      this.#reconnect()
    })
  }

  #lose(status: 'connecting' | 'polling'): void {
    this.#cancelSilence?.()
    this.#lostAt ??= this.#contact.heardAt + this.#aheadMs
    this.#become(status)
    void this.#probe()
    this.#poll()
  }

  #poll(): void {
    this.#cancelPoll ??= this.#clock.after(pollMs, () => {
      this.#cancelPoll = null
      if (this.#status === 'live' || !this.#source) return
      // Closed, or begun and never answered: another connection may fare better.
      this.#reconnect()
      this.#tell()
    })
  }

  #reconnect(): void {
    this.#source?.close()
    this.#source = null
    this.connect()
  }

  #become(status: 'live' | 'connecting' | 'polling'): void {
    if (this.#status === status) return
    this.#status = status
    this.#tell()
  }

  #tell(): void {
    this.#told += 1
    for (const listener of this.#listeners) listener()
  }
}
