import type { Limits } from '../../src/limits.ts'
import type { TrapSetting } from './trap.ts'

/** What the runner tells a process, as JSON in its first argument. */
export interface ChildOrder {
  readonly name: string
  readonly folder: string
  /**
   * work: until killed, or asked to stop. submit: submits without working. settle: submits again all that was ever begun,
   * waits until everything is settled, writes down the store.
   */
  readonly task: 'work' | 'submit' | 'settle'
  /** The ranges of numbers that it submits. Those of processes before it must be found again, not made twice. */
  readonly ranges: readonly number[]
  readonly trap: TrapSetting | null
  /** Whether it cancels the batches that are there to be cancelled. */
  readonly cancels: boolean
  /** The store may be away for a while: what it does not answer is asked again. Without it the process ends. */
  readonly outlasts?: boolean
  /** Short leases by default, so that what a killed process held is soon taken over. */
  readonly limits?: Partial<Limits>
}

export const crashLimits = {
  leaseMs: 400,
  renewMs: 100,
  pollMs: 50,
} as const

export const storeName = 'crash.db'
export const dumpName = 'dump.json'
