import { type Clock, sleep } from '../../../clock.ts'
import type { Context } from '../../../implementation.ts'
import type { Policy } from '../../../policy.ts'
import type { Faults } from '../faults.ts'
import type { Ledger } from '../ledger.ts'
import type { Random } from '../random.ts'

/** What the processors of one simulated process play on. */
export interface Stage {
  /** Of the process, as `p` with its place and the number of its life. */
  readonly name: string
  readonly clock: Clock
  readonly random: Random
  readonly faults: Faults
  readonly ledger: Ledger
  /** The process dies here and now; nothing that is awaited comes back. */
  crash(): Promise<never>
}

/** Quick to give up, to try again and to time out: a run is short. */
export const quickPolicy: Partial<Policy> = {
  attemptsMax: 3,
  backoff: { firstMs: 40, factor: 2, maxMs: 300, jitter: 0.5 },
  timeoutMs: 800,
  parallel: 3,
}

/** Tries that no series of accidents will spend: whoever has this policy never fails by chance. */
export const patientPolicy: Partial<Policy> = { ...quickPolicy, attemptsMax: 60 }

/** An effect in the outside world, for some time: none, a little, or longer than anybody waits. */
export async function perform(stage: Stage, context: Context, processor: string, attemptsMax: number): Promise<void> {
  const { clock, random, faults, ledger } = stage
  ledger.effect(context, processor, attemptsMax)
  // Some processors listen to the signal, others do not: both must be harmless.
  if (faults.hangs()) await sleep(clock, 5_000, random.chance(0.5) ? context.signal : undefined)
  else if (random.chance(0.4)) await sleep(clock, random.between(1, 120))
}
