import type { Catcher } from './bug.ts'

/** How many seeds are tried at most: a run ends with the first violation, so that only whoever is not caught costs all of them. */
export const seedsMax = 20

/** With faults; then the world is quiet until everything has come to rest. */
export const stepsPerSeed = 3_000

export const anyFaults = `${seedsMax} seeds, each with its own mixture of faults`
export const lostAnswers = `${seedsMax} seeds on a store whose answers are often lost`

// Nothing of the product is imported here: the hook reads this list before the bug is planted.
export function inSimulation(test: string): Catcher {
  return { layer: 'simulation', file: 'test/planted/simulation.ts', test }
}
