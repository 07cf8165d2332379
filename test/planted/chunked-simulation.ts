import { test } from 'node:test'
import { simulate } from '../../src/testing/simulation/index.ts'
import { chunkedWorkload } from '../chunked-simulation/workload.ts'
import { chunkedSeedsMax, chunkedStepsPerSeed, jobsOfTheFamily } from './chunked-seeds.ts'

// No test of the test command: planted.test.ts runs it, with each bug that the simulation must catch and once without.
test(jobsOfTheFamily, async () => {
  for (let seed = 1; seed <= chunkedSeedsMax; seed += 1) {
    await simulate({ seed, steps: chunkedStepsPerSeed, workload: chunkedWorkload })
  }
})
