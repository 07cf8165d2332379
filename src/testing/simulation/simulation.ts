import { type Logger, pino } from 'pino'
import { Engine, type EngineOptions } from '../../engine/engine.ts'
import { walkMachine } from '../../engine/walk.ts'
import type { Implementation } from '../../implementation.ts'
import type { Limits } from '../../limits.ts'
import { type MemoryStoreOptions, memoryStore } from '../../store/memory/index.ts'
import type { Store } from '../../store.ts'
import { drawRates, type FaultName, type FaultRates, Faults } from './faults.ts'
import { Fleet, type FleetParts } from './fleet.ts'
import type { Host } from './host.ts'
import { Ledger } from './ledger.ts'
import { Observer } from './observer.ts'
import { Operator } from './operator.ts'
import { ProcessClock } from './process-clock.ts'
import { QuietPhase } from './quiet-phase.ts'
import { Submitter } from './submitter.ts'
import { Violation } from './violation.ts'
import { engineWorkload, type OpenWorkload, type Workload } from './workload/index.ts'
import { type Owner, World } from './world.ts'

export interface SimulationOptions {
  readonly seed: number
  /** Steps of the phase with faults; the quiet phase takes what it needs. */
  readonly steps: number
  /** Default: a mixture of its own for every seed. */
  readonly rates?: FaultRates
  /** A store to try; it must await `yields` as the memory store does, or not at all. */
  readonly store?: (options: MemoryStoreOptions) => Store
  /** An engine to try. */
  readonly engine?: (options: EngineOptions) => Engine
  /** What it runs. Default: machines that together use everything the engine has. */
  readonly workload?: OpenWorkload
  /** What the engines log goes into the trace. */
  readonly verbose?: boolean
}

export interface SimulationResult {
  readonly seed: number
  readonly steps: number
  /** Equal for equal runs. */
  readonly hash: string
  readonly virtualMs: number
  readonly entities: number
  readonly moves: number
  readonly claims: number
  readonly effects: number
  readonly longestWaitMs: number
  readonly faults: Readonly<Record<FaultName, number>>
}

/** Short times, so that a run sees many leases, polls and timers; small groups and pages, so that it sees many of them. */
export const simulationLimits: Partial<Limits> = {
  leaseMs: 1_500,
  renewMs: 500,
  judgeMs: 5,
  pollMs: 300,
  claimAheadMs: 50,
  drainMs: 600,
  ageingMs: 200,
  spawnMax: 5,
  claimMax: 8,
  commitMax: 6,
  pageMax: 9,
}

/** Virtual time begins here: far enough from 0 that nothing is early by accident. */
const beginsAt = 1_000_000

/**
 * The real engine, several of it, on one store, in one virtual time, with everything going wrong that the seed says. After
 * every change the invariants are checked; when the faults end, everything must come to rest. Throws a Violation.
 */
export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  return new Simulation(options).run()
}

class Simulation {
  readonly #options: SimulationOptions
  readonly #world: World
  readonly #faults: Faults
  readonly #outside: Owner = { name: 'world', status: 'up', parked: [] }
  readonly #workload: Workload
  readonly #storeClock: ProcessClock
  readonly #store: Store
  readonly #observer: Observer
  readonly #ledger: Ledger
  readonly #fleet: Fleet
  readonly #operator: Operator
  readonly #submitter: Submitter
  #violation: Violation | null = null

  constructor(options: SimulationOptions) {
    this.#options = options
    this.#world = new World(options.seed, beginsAt)
    const world = this.#world
    const complain = (invariant: string, message: string) => this.#complain(invariant, message)
    this.#faults = new Faults(world.random, options.rates ?? drawRates(world.random))
    this.#workload = (options.workload ?? engineWorkload)({ random: world.random, complain })
    this.#storeClock = new ProcessClock(world, this.#outside, true)
    this.#ledger = new Ledger(complain)
    this.#store = (options.store ?? memoryStore)({
      clock: this.#storeClock,
      limits: simulationLimits,
      yields: () => this.#yields(),
    })
    this.#observer = new Observer(
      world,
      this.#store,
      [...this.#workload.machines, walkMachine],
      this.#workload,
      complain,
    )
    this.#fleet = new Fleet(this.#fleetParts(), world.random.between(2, 4))
    this.#operator = new Operator(world, this.#faults, this.#fleet, this.#observer, this.#workload, complain)
    this.#submitter = new Submitter(world, this.#fleet, this.#observer, this.#workload, complain)
  }

  async run(): Promise<SimulationResult> {
    const { steps } = this.#options
    const look = () => this.#observer.look()
    const onRejection = (error: unknown) => this.#complain('no unhandled rejection', String(error))
    process.on('unhandledRejection', onRejection)
    try {
      await this.#world.run(() => this.#isBroken() || this.#world.steps >= steps || this.#disturb(), look)
      if (!this.#violation) await this.#quiet()
      if (!this.#violation) await this.#finalCheck()
    } finally {
      process.off('unhandledRejection', onRejection)
      for (const host of this.#fleet.hosts) host.die()
    }
    if (this.#violation) throw this.#violation
    return this.#result()
  }

  /** Where a database would let another transaction in. */
  #yields(): Promise<void> {
    this.#world.dirty = true
    return new Promise((resolve) => this.#world.soon(this.#outside, 'transaction', resolve))
  }

  #fleetParts(): FleetParts {
    const options = this.#options
    const world = this.#world
    const log = options.verbose ? traceLog(world) : pino({ level: 'silent' })
    return {
      world,
      faults: this.#faults,
      store: this.#store,
      observer: this.#observer,
      outside: this.#outside,
      limits: simulationLimits,
      log,
      engine: options.engine ?? ((engineOptions) => new Engine(engineOptions)),
      implementations: (host) => this.#implementations(host),
    }
  }

  #implementations(host: Host): readonly Implementation[] {
    return this.#workload.implementations({
      name: host.name,
      clock: host.clock,
      random: this.#world.random,
      faults: this.#faults,
      ledger: this.#ledger,
      crash: () => {
        this.#fleet.crash(host)
        return new Promise<never>(() => {})
      },
    })
  }

  /** Before a step: perhaps somebody submits, perhaps something goes wrong. */
  #disturb(): false {
    const { random } = this.#world
    const { rates } = this.#faults
    const { submitChance, bustle } = this.#workload
    let drawn = random.next()
    const happens = (rate: number): boolean => {
      const does = drawn >= 0 && drawn < rate
      drawn -= rate
      return does
    }
    if (happens(submitChance)) this.#submitter.submit()
    if (happens(submitChance / 4)) this.#submitter.repeat()
    if (happens(rates.operator * bustle)) this.#operator.doSomething()
    if (happens(rates.crash)) this.#crash(random.pick(this.#fleet.hosts))
    if (happens(rates.pause)) this.#pause(random.pick(this.#fleet.hosts))
    if (happens(rates.stop)) this.#stop(random.pick(this.#fleet.hosts))
    if (happens(rates.processClock)) this.#jump(random.pick(this.#fleet.hosts).clock, 'process')
    if (happens(rates.storeClock)) this.#jump(this.#storeClock, 'store')
    return false
  }

  #crash(host: Host): void {
    if (host.status === 'gone') return
    this.#faults.count('crash')
    this.#world.trace.note(this.#world.now, host.name, 'crash')
    this.#fleet.crash(host)
  }

  /** Mostly too short to matter, often longer than a lease: then it comes back as a zombie. */
  #pause(host: Host): void {
    if (host.status !== 'up') return
    const { random } = this.#world
    const isLong = random.chance(0.5)
    this.#faults.count(isLong ? 'zombie' : 'pause')
    this.#world.trace.note(this.#world.now, host.name, isLong ? 'long pause' : 'pause')
    this.#fleet.pause(host, isLong ? random.between(1_600, 6_000) : random.between(1, 800))
  }

  #stop(host: Host): void {
    if (!host.isServing) return
    this.#faults.count('graceful_stop')
    this.#world.trace.note(this.#world.now, host.name, 'stop')
    this.#fleet.stop(host)
  }

  /** Clocks are set by hand and by mistake; the store's must not step back for anybody who asks it. */
  #jump(clock: ProcessClock, whose: 'process' | 'store'): void {
    const { random } = this.#world
    const isForward = random.chance(0.5)
    const farthestMs = random.pick([1_000, 10_000, whose === 'process' ? 86_400_000 : 60_000])
    clock.offsetMs += (isForward ? 1 : -1) * random.between(1, farthestMs)
    this.#faults.count(`${whose}_clock_${isForward ? 'forward' : 'back'}`)
    this.#world.trace.note(this.#world.now, whose, isForward ? 'clock set forward' : 'clock set back')
    // A clock far behind would make everybody wait for it: somebody notices, and sets it right.
    if (!isForward) this.#world.after(random.between(10, 3_000), this.#outside, 'clock mended', () => clock.mend())
  }

  async #quiet(): Promise<void> {
    this.#faults.end()
    for (const host of this.#fleet.hosts) this.#fleet.resume(host)
    this.#storeClock.mend()
    const leaveHolds = this.#world.random.chance(0.3)
    const judge = new Engine({
      store: this.#store,
      implementations: this.#implementations(this.#fleet.hosts[0]!),
      clock: this.#storeClock,
      limits: simulationLimits,
      log: pino({ level: 'silent' }),
    })
    const phase = new QuietPhase(this.#world, this.#store, this.#observer, judge.control)
    await phase.run(
      () => this.#isBroken(),
      () => {
        if (!leaveHolds) this.#operator.liftAll()
      },
      (invariant, message) => this.#complain(invariant, message),
    )
  }

  async #finalCheck(): Promise<void> {
    await this.#observer.lookAtAll()
    this.#operator.check()
    this.#submitter.check()
    this.#workload.check(this.#observer.model, (invariant, message) => this.#complain(invariant, message))
  }

  #isBroken(): boolean {
    return this.#violation !== null
  }

  /** The first complaint counts: what follows may follow from it. */
  #complain(invariant: string, message: string): void {
    const { seed, steps } = this.#options
    const { name } = this.#workload
    const replay = `${name === 'engine' ? '' : `--family ${name} `}--from ${seed} --seeds 1 --steps ${steps}`
    this.#violation ??= new Violation(seed, this.#world.steps, replay, invariant, message, this.#world.trace.lines())
  }

  #result(): SimulationResult {
    const { model, moves, claims, longestWaitMs } = this.#observer
    return {
      seed: this.#options.seed,
      steps: this.#world.steps,
      hash: this.#world.trace.hash,
      virtualMs: this.#world.now - beginsAt,
      entities: model.size + model.purged.size,
      moves,
      claims,
      effects: this.#ledger.effects,
      longestWaitMs,
      faults: this.#faults.counts,
    }
  }
}

function traceLog(world: World): Logger {
  return pino(
    { level: 'debug', base: null, timestamp: false },
    { write: (line: string) => world.trace.note(world.now, 'log', 'says', () => line.trim()) },
  )
}
