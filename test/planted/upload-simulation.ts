import { test } from 'node:test'
import { simulate } from '../../src/testing/simulation/index.ts'
import { uploadWorkload } from '../upload-simulation/workload.ts'
import { anyUploads, uploadSeedsMax, uploadStepsPerSeed } from './upload-seeds.ts'

// No test of the test command: planted.test.ts runs it, with each bug that the simulation must catch and once without.
test(anyUploads, async () => {
  for (let seed = 1; seed <= uploadSeedsMax; seed += 1) {
    await simulate({ seed, steps: uploadStepsPerSeed, workload: uploadWorkload })
  }
})
