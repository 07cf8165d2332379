import type { Random } from './random.ts'

/** Everything that can go wrong, and everything that people do meanwhile. Each is counted when it happened, not when it was planned. */
export const faultNames = [
  'crash',
  'crash_before_apply',
  'crash_after_apply',
  'poison_crash',
  'pause',
  'zombie',
  'process_clock_forward',
  'process_clock_back',
  'store_clock_forward',
  'store_clock_back',
  'error_before',
  'error_after',
  'error_late',
  'slow_call',
  'signal_lost',
  'signal_doubled',
  'signal_late',
  'hang',
  'graceful_stop',
  'act',
  'act_in_a_flurry',
  'hold',
  'lift',
  'prioritise',
  'walk',
] as const

export type FaultName = (typeof faultNames)[number]

/** How often each kind of trouble comes in one run. Every seed has its own mixture: rare ones must also meet an otherwise calm day. */
export interface FaultRates {
  /** Chances per step. */
  readonly crash: number
  readonly pause: number
  readonly processClock: number
  readonly storeClock: number
  readonly stop: number
  readonly operator: number
  /** Chances per call of the store. */
  readonly error: number
  readonly slow: number
  /** Chance per signal. */
  readonly signal: number
  /** Chance per run of a processor that may hang. */
  readonly hang: number
}

export const noFaults: FaultRates = {
  crash: 0,
  pause: 0,
  processClock: 0,
  storeClock: 0,
  stop: 0,
  operator: 0,
  error: 0,
  slow: 0,
  signal: 0,
  hang: 0,
}

export function drawRates(random: Random): FaultRates {
  const level = (high: number): number => (random.chance(0.25) ? 0 : high * random.pick([0.1, 0.3, 1]))
  return {
    crash: level(0.002),
    pause: level(0.003),
    processClock: level(0.003),
    storeClock: level(0.0015),
    stop: level(0.001),
    operator: level(0.02),
    error: level(0.12),
    slow: level(0.1),
    signal: level(0.8),
    hang: level(0.1),
  }
}

/** Whether a call of the store fails, and when: nothing done, done and the answer lost, or the error first and the deed after it. */
export type CallFault = 'none' | 'before' | 'after' | 'late'

export type SignalFault = 'none' | 'lost' | 'doubled' | 'late'

/** Decides by chance what goes wrong, and counts what did. */
export class Faults {
  readonly counts: Record<FaultName, number>
  readonly #random: Random
  #rates: FaultRates

  constructor(random: Random, rates: FaultRates) {
    this.#random = random
    this.#rates = rates
    this.counts = Object.fromEntries(faultNames.map((name) => [name, 0])) as Record<FaultName, number>
  }

  get rates(): FaultRates {
    return this.#rates
  }

  /** The quiet phase: nothing goes wrong any more. */
  end(): void {
    this.#rates = noFaults
  }

  count(name: FaultName): void {
    this.counts[name] += 1
  }

  call(): CallFault {
    if (!this.#happens(this.#rates.error)) return 'none'
    const fault = this.#random.pick(['before', 'after', 'late'] as const)
    this.count(`error_${fault}`)
    return fault
  }

  /** Milliseconds on the way: mostly none, now and then longer than anybody would expect. */
  latencyMs(): number {
    if (this.#happens(this.#rates.slow)) {
      this.count('slow_call')
      return this.#random.between(10, 400)
    }
    return this.#random.chance(0.2) ? this.#random.between(1, 3) : 0
  }

  signal(): SignalFault {
    if (!this.#happens(this.#rates.signal)) return 'none'
    const fault = this.#random.pick(['lost', 'doubled', 'late'] as const)
    this.count(`signal_${fault}`)
    return fault
  }

  hangs(): boolean {
    const hangs = this.#happens(this.#rates.hang)
    if (hangs) this.count('hang')
    return hangs
  }

  /** A rate of zero draws no number: a quiet day must not depend on what would have gone wrong. */
  #happens(rate: number): boolean {
    return rate > 0 && this.#random.chance(rate)
  }
}
