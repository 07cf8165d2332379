import type { Catcher } from './bug.ts'

/** How many seeds are tried at most: a run ends with the first violation. */
export const chunkedSeedsMax = 40

export const chunkedStepsPerSeed = 3_000

export const jobsOfTheFamily = `${chunkedSeedsMax} seeds of jobs of the chunked family`

// Nothing of the product is imported here: the hook reads this list before the bug is planted.
export const inChunkedSimulation: Catcher = {
  layer: 'simulation',
  file: 'test/planted/chunked-simulation.ts',
  test: jobsOfTheFamily,
}
