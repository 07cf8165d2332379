import type { Clock } from '../../clock.ts'
import type { Beat, PulseHistory } from '../pulse.ts'

/** Rates on arrows are those of so long. */
const rateMs = 10_000
const pollMs = 5_000
/** No page is drawn more often, however much happens. */
export const redrawMs = 500

/** The one connection by which the server says that something has happened. */
export class Live {
  readonly #clock: Clock
  readonly #listeners = new Set<() => void>()
  readonly #seconds = new Map<number, { moves: number; births: number }>()
  #beats: Beat[] = []
  #source: EventSource | null = null
  #cancelPoll: (() => void) | null = null
  /** Apart from the poll: a connection that is lost while rates fade must be made again all the same. */
  #cancelFading: (() => void) | null = null
  #isPaused = false
  #told = 0
  #status: 'live' | 'connecting' | 'polling' = 'connecting'
  /** When the first word came, by the server's clock. */
  #since = Number.POSITIVE_INFINITY
  /** What the server's clock is ahead of this one. */
  #aheadMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The server's time: what it says in times is compared with this. */
  get now(): number {
    return this.#clock.now() + this.#aheadMs
  }

  get status(): 'live' | 'connecting' | 'polling' | 'paused' {
    return this.#isPaused ? 'paused' : this.#status
  }

  /** How often listeners were told: a page that has drawn an older count has missed something. */
  get told(): number {
    return this.#told
  }

  connect(): void {
    if (this.#source) return
    const source = new EventSource('/api/pulse')
    this.#source = source
    source.addEventListener('open', () => this.#become('live'))
    source.addEventListener('history', (event) => {
      const { now, seconds } = JSON.parse(event.data) as PulseHistory
      this.#aheadMs = now - this.#clock.now()
      this.#since = Math.min(this.#since, now)
      for (const { at, moves, births } of seconds) this.#seconds.set(at, { moves, births })
      this.#become('live')
      this.#tell()
    })
    source.addEventListener('beat', (event) => this.#hear(JSON.parse(event.data) as Beat))
    source.addEventListener('error', () => {
      // Only until the browser has connected again.
      this.#become(source.readyState === EventSource.CLOSED ? 'polling' : 'connecting')
      this.#poll()
    })
    this.#poll()
  }

  close(): void {
    this.#source?.close()
    this.#source = null
    this.#cancelFading?.()
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

  /** Moves per second over an arrow, lately. */
  rate(machine: string, transition: string, from: string, to: string): number {
    const key = `${machine} ${transition} ${from} ${to}`
    const since = this.now - rateMs
    const sum = this.#beats.filter(({ at }) => at > since).reduce((all, { edges }) => all + (edges[key] ?? 0), 0)
    return sum / (rateMs / 1_000)
  }

  /** For how long we have been told, in seconds. */
  get knownSeconds(): number {
    const first = Math.min(...this.#seconds.keys(), this.#since)
    return Math.ceil((this.now - first) / 1_000)
  }

  /** One point for every second, up to now: what was quiet is zero. */
  series(lengthSeconds: number): {
    readonly at: readonly number[]
    readonly moves: readonly number[]
    readonly births: readonly number[]
  } {
    // The current second is not over: it would always look like a fall.
    const end = Math.floor(this.now / 1_000) * 1_000 - 1_000
    const at = Array.from({ length: lengthSeconds }, (_, index) => end - (lengthSeconds - 1 - index) * 1_000)
    return {
      at: at.map((time) => time / 1_000),
      moves: at.map((time) => this.#seconds.get(time)?.moves ?? 0),
      births: at.map((time) => this.#seconds.get(time)?.births ?? 0),
    }
  }

  #hear(beat: Beat): void {
    const second = Math.floor((beat.at - redrawMs / 2) / 1_000) * 1_000
    const { moves, births } = this.#seconds.get(second) ?? { moves: 0, births: 0 }
    this.#seconds.set(second, { moves: moves + beat.moves, births: births + beat.births })
    const oldest = beat.at - 320_000
    for (const at of this.#seconds.keys()) if (at < oldest) this.#seconds.delete(at)
    this.#beats = [...this.#beats.filter(({ at }) => at > beat.at - rateMs), beat]
    this.#tell()
    // Once more when the rates have run out, so that no arrow keeps its last figure.
    this.#cancelFading?.()
    this.#cancelFading = this.#clock.after(rateMs + redrawMs, () => this.#tell())
  }

  #poll(): void {
    this.#cancelPoll ??= this.#clock.after(pollMs, () => {
      this.#cancelPoll = null
      if (this.#status === 'live' || !this.#source) return
      // Closed, or begun and never answered: another connection may fare better.
      this.#source.close()
      this.#source = null
      this.connect()
      this.#tell()
    })
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
