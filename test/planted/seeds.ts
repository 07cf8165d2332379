import type { Catcher } from './bug.ts'

/** Steps with faults; then the world is quiet until everything has come to rest. */
export const stepsPerSeed = 3_000

/** Most bugs show within a few seeds; a run ends with the first violation, so that a long range costs only whoever is not caught. */
const often = { name: 'seeds 1 to 20', from: 1, to: 20 }

export const seedRanges = [often] as const

export const inSimulation: Catcher = { layer: 'simulation', file: 'test/planted/simulation.ts', test: often.name }
