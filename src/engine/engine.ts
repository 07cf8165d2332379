import { type Logger, pino } from 'pino'
import { type Clock, systemClock } from '../clock.ts'
import type { Control } from '../control.ts'
import { SluiceError } from '../errors.ts'
import type { Implementation } from '../implementation.ts'
import { type Limits, limitsOf } from '../limits.ts'
import { machineWarnings } from '../machine-warning.ts'
import type { RunFigures } from '../run-figures.ts'
import type { Move, Signal, Store } from '../store.ts'
import { Completer } from './completer.ts'
import { LocalControl } from './local-control.ts'
import { Registry } from './registry.ts'
import { RunReport } from './run-report.ts'
import type { Services } from './services.ts'
import { whenStoreAnswers } from './store-answer.ts'
import { Sweeper } from './sweeper.ts'
import { Troubles } from './trouble.ts'
import { walkImplementation } from './walk.ts'
import { Worker } from './worker.ts'

export interface EngineOptions {
  readonly store: Store
  readonly implementations: readonly Implementation[]
  readonly clock?: Clock
  readonly limits?: Partial<Limits>
  readonly log?: Logger
  /** What the worker is called in lists and histories. */
  readonly name?: string
  readonly host?: string
  readonly pid?: number
  readonly program?: string
  /** Serve only processors of these roles, and those without one. Default: all. */
  readonly roles?: readonly string[]
}

/** Moves entities: a worker, a sweeper, and the control over both. Any number of engines may share a store. */
export class Engine {
  readonly control: Control
  readonly #services: Services
  readonly #worker: Worker
  readonly #sweeper: Sweeper
  #unlisten = () => {}
  #state: 'new' | 'started' | 'stopped' = 'new'

  constructor(options: EngineOptions) {
    const clock = options.clock ?? systemClock()
    const limits = limitsOf(options.limits)
    if (!Array.isArray(options.implementations)) {
      throw new SluiceError('invalid', 'An engine needs its implementations: a list of what implement() returned.')
    }
    const registry = new Registry([...options.implementations, walkImplementation()])
    const name = `${options.name ?? 'engine'}-${token(clock)}`
    const log = options.log ?? pino({ level: 'warn' })
    const report = new RunReport(clock, log)
    const troubles = new Troubles(clock, log)
    const trouble = troubles.of('a commit', 10)
    const completer = new Completer(options.store, clock, limits, name, trouble, (move) => this.#saved(move))
    const readTrouble = troubles.of('a read of a run', 10)
    this.#services = {
      store: options.store,
      clock,
      limits,
      registry,
      completer,
      log,
      report,
      troubles,
      readTrouble,
      name,
    }
    this.#worker = new Worker(this.#services, {
      name,
      host: options.host ?? 'local',
      pid: options.pid ?? 0,
      program: options.program ?? '',
      roles: options.roles ?? [],
      machines: registry.served,
    })
    this.#sweeper = new Sweeper(this.#services, () => this.#worker.look())
    this.control = new LocalControl(this.#services, (at) => this.#expect({ for: 'run', at }))
  }

  /** Makes the store ready and the machines known: all that a control without a worker needs. */
  async prepare(): Promise<void> {
    const { store, registry } = this.#services
    await store.migrate()
    await store.define(registry.rows())
  }

  async start(): Promise<void> {
    if (this.#state !== 'new') return
    this.#state = 'started'
    this.#warn()
    try {
      const { clock, log, limits } = this.#services
      await whenStoreAnswers(() => this.prepare(), clock, log, limits.startMs)
      if (this.#isStopped()) return
      this.#unlisten = this.#services.store.signals?.((signal) => this.#hear(signal)) ?? (() => {})
      await this.#worker.start()
    } catch (error) {
      // Nothing runs: it can be started again.
      this.#unlisten()
      if (!this.#isStopped()) this.#state = 'new'
      throw error
    }
    this.#sweeper.start()
    const { log, name, registry } = this.#services
    log.info({ engine: name, machines: registry.names }, 'the engine started')
  }

  /**
   * Graceful: what runs may end, the rest is given back, states stay as they are. The store stays open. A store that cannot write keeps
   * nobody waiting: after `drainMs` a commit that fails is not sent again, and the leases end by themselves.
   */
  async stop(): Promise<void> {
    if (this.#state !== 'started') return
    this.#state = 'stopped'
    const { clock, limits, completer } = this.#services
    const cancel = clock.after(limits.drainMs, () => completer.end())
    await Promise.all([this.#sweeper.stop(), this.#worker.stop()])
    cancel()
    this.#unlisten()
    completer.end()
  }

  #warn(): void {
    for (const { name, version, ...machine } of this.#services.registry.machines) {
      for (const { message, ...warning } of machineWarnings({ name, version, ...machine })) {
        this.#services.log.warn({ machine: name, version, ...warning }, message)
      }
    }
  }

  #saved({ wait, children }: Move): void {
    this.#expect(wait)
    const { registry, report } = this.#services
    // A bad row of a file is a child that is born failed: it never runs.
    for (const { settled, machine, version, state } of children) {
      if (settled) report.settled(registry.get(machine, version).machine, state)
    }
  }

  /** What this process has run since it started. */
  figures(): RunFigures {
    return this.#services.report.figures()
  }

  #isStopped(): boolean {
    return this.#state === 'stopped'
  }

  #hear(signal: Signal): void {
    if (signal.work) this.#worker.look()
    if (signal.due) this.#sweeper.look()
    if (signal.ended) this.#worker.lookForEnded()
  }

  /** Whoever waits for a time that we know of is not left to the poll. */
  #expect(wait: { readonly for: string; readonly at?: number | null } | null): void {
    const at = wait?.at
    if (typeof at !== 'number') return
    if (at > this.#services.store.time()) this.#sweeper.expect(at)
    // It was to come when the move was written, and has passed meanwhile: nobody else will be told.
    else if (wait?.for === 'run') this.#worker.look()
  }
}

/** Eleven random letters and digits: enough that no two engines ever share a name. */
function token(clock: Clock): string {
  return Array.from({ length: 11 }, () => Math.floor(clock.random() * 36).toString(36)).join('')
}
