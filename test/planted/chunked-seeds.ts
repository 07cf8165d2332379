import type { Catcher } from './bug.ts'

/** How many seeds are tried at most: a run ends with the first violation. */
export const chunkedSeedsMax = 20

export const chunkedStepsPerSeed = 3_000

export const anyJobs = `${chunkedSeedsMax} seeds of jobs of the chunked family`
export const rerunJobs = `${chunkedSeedsMax} seeds of jobs that fail and are run again`

// Nothing of the product is imported here: the hook reads this list before the bug is planted.
export function inChunkedSimulation(test: string): Catcher {
  return { layer: 'simulation', file: 'test/planted/chunked-simulation.ts', test }
}
