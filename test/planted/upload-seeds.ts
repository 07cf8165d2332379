import type { Catcher } from './bug.ts'

/** How many seeds are tried at most: a run ends with the first violation. */
export const uploadSeedsMax = 12

export const uploadStepsPerSeed = 3_000

export const anyUploads = `${uploadSeedsMax} seeds of uploads`

// Nothing of the product is imported here: the hook reads this list before the bug is planted.
export function inUploadSimulation(test: string): Catcher {
  return { layer: 'simulation', file: 'test/planted/upload-simulation.ts', test }
}
