import type { Limits } from '../../src/limits.ts'
import type { TrapPoint } from '../crash/trap.ts'

/** Where a step, the reducer or the handler dies, and how often the point is passed at least on the way of a job. */
export const stepPoints = {
  'ranges:given': 30,
  'ranges:checkpoint': 4,
  'expand:given': 30,
  'work:given': 60,
  'reducer:taken': 60,
  'reducer:report': 1,
  'handler:before': 1,
  'handler:after': 1,
} as const

export type StepPoint = keyof typeof stepPoints

/** The same around the store, and in the middle of a transaction. */
export const storePoints = {
  'create:after': 1,
  'claim:after': 10,
  'commit:before': 15,
  'commit:after': 15,
  'stage:after': 2,
  'publish:before': 1,
  'publish:after': 1,
  'children:before': 3,
  'children:after': 3,
  'statement:after': 60,
  'transaction:before': 20,
  'transaction:after': 20,
} as const satisfies Partial<Record<TrapPoint, number>>

export type StorePoint = keyof typeof storePoints

/** At which passing of which point the process kills itself. */
export interface Death {
  readonly point: StepPoint | StorePoint
  readonly nth: number
}

/** What a process of the test is told, as JSON. */
export interface JobOrder {
  readonly folder: string
  readonly name: string
  /** Jobs are numbered from 0; these are started (again: the same number is the same job), and awaited. */
  readonly jobs: readonly number[]
  readonly death: Death | null
  readonly limits: Partial<Limits>
}

/** What a process that was left alone says at its end, one line for each job. */
export interface JobStory {
  readonly number: number
  readonly id: number
  readonly state: string
  readonly report: unknown
  /** Chunks by step, all of them and those that are completed. */
  readonly chunks: Readonly<Record<string, readonly [total: number, completed: number]>>
  /** What a recount of the tallies complains about. */
  readonly drifts: number
}
