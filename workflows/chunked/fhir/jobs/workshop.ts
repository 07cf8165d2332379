import type { Clock } from 'sluice'
import type { Tolerance } from 'sluice/chunked'
import type { Dialer } from 'sluice/dial'
import type { FhirDesk } from '../desk/fhir-desk.ts'
import type { FhirLimits } from './fhir-limits.ts'

/** What the steps of the jobs work with. */
export interface Workshop {
  readonly folder: string
  readonly desk: FhirDesk
  readonly dialer: () => Dialer
  /** Absolute; null: any place will do. */
  readonly roots: readonly string[] | null
  /** The same for jobs that brought roots of their own; null: theirs are enough. */
  readonly networkRoots: readonly string[] | null
  readonly limits: FhirLimits
  readonly lineBytesMax: number
  readonly tolerance: Tolerance
  readonly clock: Clock
}
