import type { StateOutcome } from './state-outcome.ts'

/** How runs of processors end. A throw is a `retry`. */
export const runEnds = ['done', 'retry', 'poll', 'fail', 'timeout'] as const
export type RunEnd = (typeof runEnds)[number]

/** What this process has done since it started, children included: for /metrics. */
export interface RunFigures {
  readonly runs: readonly {
    readonly machine: string
    readonly version: number
    readonly processor: string
    readonly end: RunEnd
    readonly count: number
  }[]
  readonly settled: readonly {
    readonly machine: string
    readonly version: number
    readonly state: string
    readonly outcome: StateOutcome
    readonly count: number
  }[]
  readonly moves: number
  readonly leasesLost: number
}
