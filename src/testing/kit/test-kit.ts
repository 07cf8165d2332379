import type { Control } from '../../control.ts'
import { SluiceError } from '../../errors.ts'
import type { Implementation } from '../../implementation.ts'
import type { Limits } from '../../limits.ts'
import type { Duration } from './duration.ts'
import type { Effects } from './effects.ts'
import { Fleet, type ImplementationsFactory } from './fleet.ts'
import type { Moment } from './moment.ts'
import { type DrainOptions, Pilot } from './pilot.ts'
import type { KitClock } from './runs.ts'
import { simulatedClock } from './simulated-clock.ts'

export interface TestKitOptions {
  /** A list, or a function that makes one for each process: then what processors remember in memory dies with a crash. */
  readonly implementations: readonly Implementation[] | ImplementationsFactory
  readonly limits?: Partial<Limits>
  /** Chance (jitter) comes from this number. Default 1. */
  readonly seed?: number
  /** When the story begins, in milliseconds since the epoch. */
  readonly start?: number
  /** How many engines share the store. Default 1. */
  readonly engines?: number
  /** How long a processor may do something real, in real time. Default 10 seconds. */
  readonly patienceMs?: number
}

/** The real engine on the memory store, in virtual time. */
export interface TestKit {
  /** Outlives every crash: it belongs to a process of its own. */
  readonly control: Control
  readonly clock: KitClock
  readonly effects: Effects
  /** The last things that the engines logged as warning or error. */
  readonly warnings: readonly string[]
  /**
   * Runs until nothing moves by itself any more. Virtual time passes over backoffs, polls, timers and the leases of the dead;
   * retention does not count. Throws if there is no rest within the bounds, and says what still moves.
   */
  drain(options?: DrainOptions): Promise<void>
  /** Lets this much virtual time pass, with all that falls due in it. */
  advance(duration: Duration): Promise<void>
  /** Kills engines as `kill -9` would: all, or the one of this number (the first is 0). */
  crash(engine?: number): void
  /** Kills the engine that reaches this point first: when this processor is about to run, or has run and is not yet committed. */
  crashAt(when: 'before' | 'after', processor: string): void
  /** Starts again what is down. What the dead held runs again when virtual time has passed their leases. */
  restart(): Promise<void>
  /** Stops all engines gracefully. Their states stay as they are. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const patienceMsDefault = 10_000

export function testKit(options: TestKitOptions): TestKit {
  return openKit(options).kit
}

/** A kit with what is under it, for whoever decides at each moment who dies. */
export function openKit(
  options: TestKitOptions,
  witness: (moment: Moment, fleet: Fleet) => void = () => {},
): { kit: TestKit; fleet: Fleet } {
  const { engines = 1, limits = {}, seed = 1, start, patienceMs = patienceMsDefault } = options
  if (!Number.isInteger(engines) || engines < 1) {
    throw new SluiceError('invalid', `A kit has at least one engine; engines was ${engines}.`, { engines })
  }
  const clock = simulatedClock(start, seed)
  const traps: { readonly when: 'before' | 'after'; readonly processor: string }[] = []
  const fleet: Fleet = new Fleet({
    implementations: options.implementations,
    limits,
    clock,
    witness: (moment) => {
      spring(traps, moment, fleet)
      if (moment.process.status === 'up') witness(moment, fleet)
    },
  })
  const pilot = new Pilot(fleet, patienceMs)
  const numbers = Array.from({ length: engines }, (_, number) => number)
  const startAll = async () => {
    await Promise.all(numbers.map((number) => fleet.start(number)))
  }
  // The memory store is there at once; whoever drains first waits for the engines all the same.
  void startAll()
  const kit: TestKit = {
    control: fleet.control,
    clock: fleet.runs.clock,
    effects: fleet.effects,
    warnings: fleet.warnings,
    drain: (options) => pilot.drain(options),
    advance: (duration) => pilot.advance(duration),
    crash(engine) {
      for (const number of engine === undefined ? fleet.up : [engine]) fleet.kill(number)
    },
    crashAt(when, processor) {
      traps.push({ when, processor })
    },
    restart: startAll,
    async stop() {
      await pilot.until(Promise.all(fleet.up.map((number) => fleet.stop(number))))
    },
    [Symbol.asyncDispose]: () => kit.stop(),
  }
  return { kit, fleet }
}

/** A trap is sprung once. */
function spring(traps: { when: string; processor: string }[], { process, processor }: Moment, fleet: Fleet): void {
  const place = traps.findIndex((trap) => trap.processor === processor?.name && trap.when === processor.when)
  const number = fleet.numberOf(process)
  if (place < 0 || number === null) return
  traps.splice(place, 1)
  fleet.kill(number)
}
