import { type Logger, pino } from 'pino'
import type { Control } from '../../control.ts'
import { Engine } from '../../engine/engine.ts'
import { isSluiceError, SluiceError } from '../../errors.ts'
import type { Implementation } from '../../implementation.ts'
import { defaultLimits, type Limits } from '../../limits.ts'
import { memoryStore } from '../../store/memory/index.ts'
import type { Heart, HeartRequest, Store } from '../../store.ts'
import { Effects } from './effects.ts'
import { Link } from './link.ts'
import type { Witness } from './moment.ts'
import { Process } from './process.ts'
import { type KitClock, Runs } from './runs.ts'
import type { SimulatedClock } from './simulated-clock.ts'

/** What is handed to whoever makes the implementations. */
export interface KitTools {
  readonly effects: Effects
  readonly clock: KitClock
}

/** Called once for each process, the one behind the control included: what its closures remember dies with the process. */
export type ImplementationsFactory = (tools: KitTools) => readonly Implementation[]

export interface FleetOptions {
  readonly implementations: readonly Implementation[] | ImplementationsFactory
  readonly limits: Partial<Limits>
  readonly clock: SimulatedClock
  readonly witness: Witness
}

interface Crew {
  readonly process: Process
  readonly link: Link
  readonly engine: Engine
}

interface Beating {
  readonly request: HeartRequest
  readonly worker: number
  renewedAt: number
}

/** Who died or was paused, and until when its lease keeps others from what it held. */
interface Corpse {
  readonly process: Process
  readonly until: number
}

const warningsMax = 20

/** The store, the engines that share it, and the control over them: all that outlives a crash, and all that does not. */
export class Fleet {
  readonly control: Control
  readonly effects: Effects
  readonly runs: Runs
  readonly store: Store
  readonly limits: Limits
  readonly clock: SimulatedClock
  /** What the engines logged, the last of it. */
  readonly warnings: string[] = []
  /** Called when a process that was paused has lost all that it held. */
  onBuried: (process: Process) => void = () => {}
  readonly #options: FleetOptions
  readonly #log: Logger
  readonly #crews = new Map<number, Crew>()
  readonly #hearts = new Map<Process, Beating>()
  #corpses: Corpse[] = []
  readonly #purgeTimes = new Set<number>()
  #changedAt: number
  #started = 0

  constructor(options: FleetOptions) {
    this.#options = options
    this.clock = options.clock
    this.limits = { ...defaultLimits, ...options.limits }
    this.store = memoryStore({ clock: options.clock, limits: options.limits })
    this.runs = new Runs(options.clock, options.witness)
    this.effects = new Effects(this.runs, () => options.clock.now())
    this.#changedAt = options.clock.now()
    this.#log = pino({ level: 'warn' }, { write: (line) => this.#warn(line) })
    const { engine } = this.#crew(new Process('control'), () => {})
    this.control = engine.control
    // The memory store has nothing to wait for: it is ready before the first answer.
    void engine.prepare()
  }

  /** The numbers of the engines that run. */
  get up(): readonly number[] {
    return [...this.#crews.keys()]
  }

  start(number: number): Promise<void> {
    const running = this.#crews.get(number)
    if (running) return Promise.resolve()
    this.#started += 1
    const crew = this.#crew(new Process(`engine ${this.#started}`), this.#options.witness)
    this.#crews.set(number, crew)
    this.#changed()
    return crew.engine.start()
  }

  /** As `kill -9` would: no callback of its runs again, and answers under way are lost. The lease lives on until it has passed. */
  kill(number: number): void {
    const crew = this.#take(number)
    crew.process.kill()
    crew.link.cut()
  }

  /** It stands still and does not know it, as a process that was stopped, swapped out or moved to another machine. */
  pause(number: number): Process {
    const { process } = this.#take(number)
    process.pause()
    return process
  }

  /** Graceful. It resolves as virtual time passes. */
  async stop(number: number): Promise<void> {
    const crew = this.#crews.get(number)
    if (!crew) return
    await crew.engine.stop()
    this.#crews.delete(number)
    this.#hearts.delete(crew.process)
    crew.process.kill()
    crew.link.cut()
  }

  numberOf(process: Process): number | null {
    for (const [number, crew] of this.#crews) if (crew.process === process) return number
    return null
  }

  /** Nothing was changed for as long as it takes everybody to look again, and whoever has anything in hand sleeps over it. */
  async isIdle(): Promise<boolean> {
    const now = this.clock.now()
    if (now - this.#changedAt < this.limits.pollMs * 1.5 || this.#corpses.some(({ until }) => until <= now))
      return false
    if (this.runs.isAnySleeping) return true
    const alive = new Set<number>()
    for (const [process, { worker }] of this.#hearts) if (process.status === 'up') alive.add(worker)
    return (await this.store.workers()).every(({ id, leases }) => leases === 0 || !alive.has(id))
  }

  /** When the leases of the dead have passed. */
  burials(): readonly number[] {
    return this.#corpses.map(({ until }) => until)
  }

  /** Everybody is to look again before the fleet counts as idle. */
  disturb(): void {
    this.#changed()
  }

  isPurgeTime(time: number): boolean {
    return this.#purgeTimes.has(time)
  }

  /** Living processes renew their leases on time, however far the clock is about to leap. */
  async renewBefore(to: number): Promise<void> {
    const leapMs = to - this.clock.now()
    await this.#renewDue(to, ({ leaseMs }) => leaseMs, leapMs)
  }

  async renewNow(): Promise<void> {
    await this.#renewDue(this.clock.now(), ({ renewMs }) => renewMs, 0)
  }

  async #renewDue(time: number, everyMs: (request: HeartRequest) => number, extraMs: number): Promise<void> {
    for (const [process, heart] of this.#hearts) {
      if (time < heart.renewedAt + everyMs(heart.request)) continue
      await this.#renew(process, heart, heart.request.leaseMs + extraMs)
    }
  }

  async #renew(process: Process, heart: Beating, leaseMs: number): Promise<void> {
    if (process.status !== 'up') return
    const { worker, request } = heart
    try {
      await this.store.renew({ id: worker, identity: request.identity, leaseMs })
      heart.renewedAt = this.clock.now()
    } catch (error) {
      if (!isSluiceError(error, 'lease_lost')) throw error
      this.#hearts.delete(process)
      request.lost()
    }
  }

  #crew(process: Process, witness: Witness): Crew {
    const link = new Link(this.store, process, {
      witness,
      changed: () => this.#changed(),
      purgesAt: (time) => this.#purgeTimes.add(time),
      buried: () => this.#bury(),
      heart: (request) => this.#heart(process, request),
    })
    const engine = new Engine({
      store: link,
      implementations: this.#implementations(process),
      clock: process.clock(this.clock),
      limits: this.limits,
      log: this.#log,
      name: process.name.replaceAll(' ', '-'),
    })
    return { process, link, engine }
  }

  #implementations(process: Process): readonly Implementation[] {
    const { implementations } = this.#options
    const made =
      typeof implementations === 'function'
        ? implementations({ effects: this.effects, clock: this.runs.clock })
        : implementations
    return made.map((implementation) => this.runs.watched(implementation, process))
  }

  #heart(process: Process, request: HeartRequest): Heart {
    return {
      ready: Promise.resolve(),
      keep: (worker) => this.#hearts.set(process, { request, worker, renewedAt: this.clock.now() }),
      // The worker's own patrol ends what outran its timeout: here no event loop is ever blocked.
      watch() {},
      unwatch() {},
      stop: async () => {
        if (this.#hearts.get(process)?.request === request) this.#hearts.delete(process)
      },
    }
  }

  #take(number: number): Crew {
    const crew = this.#crews.get(number)
    if (!crew) {
      const up = this.up.length === 0 ? 'none' : this.up.join(', ')
      throw new SluiceError('conflict', `Engine ${number} is not up (up: ${up}). Start it with restart().`, { number })
    }
    this.#crews.delete(number)
    const renewedAt = this.#hearts.get(crew.process)?.renewedAt ?? this.clock.now()
    this.#corpses.push({ process: crew.process, until: renewedAt + this.limits.leaseMs })
    return crew
  }

  #bury(): void {
    const buried = this.#corpses.filter(({ until }) => until <= this.clock.now())
    this.#corpses = this.#corpses.filter((corpse) => !buried.includes(corpse))
    for (const { process } of buried) {
      if (process.status === 'gone') this.#hearts.delete(process)
      this.onBuried(process)
    }
  }

  #changed(): void {
    this.#changedAt = this.clock.now()
  }

  #warn(line: string): void {
    const { msg, error } = JSON.parse(line) as { msg?: string; error?: string }
    this.warnings.push(error === undefined ? `${msg}` : `${msg}: ${error}`)
    if (this.warnings.length > warningsMax) this.warnings.shift()
  }
}
