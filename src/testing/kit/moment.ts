import type { Process } from './process.ts'

/** A point between two steps of a process, at which it may die. */
export interface Moment {
  readonly process: Process
  /** What comes next, or has just happened: `before weigh of parcel 1`. */
  name: string
  /** Whether a crash here differs from one at the moment before. A claim that found nothing is not worth a crash. */
  matters: boolean
  /** The processor that begins or has ended here. */
  readonly processor?: { readonly name: string; readonly when: 'before' | 'after' }
}

/** Told of every moment. It may end or pause the process: whatever comes next then never happens, or waits. */
export type Witness = (moment: Moment) => void
