import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import type { Limits } from '../limits.ts'
import type { Store } from '../store.ts'
import type { Completer } from './completer.ts'
import type { Registry } from './registry.ts'
import type { RunReport } from './run-report.ts'
import type { Trouble, Troubles } from './trouble.ts'

/** What the parts of one engine share. */
export interface Services {
  readonly store: Store
  readonly clock: Clock
  readonly limits: Limits
  readonly registry: Registry
  readonly completer: Completer
  readonly log: Logger
  readonly report: RunReport
  readonly troubles: Troubles
  /** Tells of reads of runs that the store does not answer. */
  readonly readTrouble: Trouble
  /** Unique to this engine: begins the ids of its operations. */
  readonly name: string
}
