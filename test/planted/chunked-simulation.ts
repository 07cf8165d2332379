import { test } from 'node:test'
import { type FaultRates, noFaults, simulate } from '../../src/testing/simulation/index.ts'
import type { Mood } from '../chunked-simulation/performance.ts'
import { chunkedWorkload } from '../chunked-simulation/workload.ts'
import { anyJobs, chunkedSeedsMax, chunkedStepsPerSeed, rerunJobs } from './chunked-seeds.ts'

// No test of the test command: planted.test.ts runs it, with each bug that the simulation must catch and once without.
test(anyJobs, () => simulateAll())

test(rerunJobs, () => simulateAll(['bad'], { ...noFaults, operator: 0.03, slow: 0.1 }))

async function simulateAll(moods?: readonly Mood[], rates?: FaultRates): Promise<void> {
  for (let seed = 1; seed <= chunkedSeedsMax; seed += 1) {
    await simulate({
      seed,
      steps: chunkedStepsPerSeed,
      workload: (parts) => chunkedWorkload(parts, moods && { moods }),
      ...(rates && { rates }),
    })
  }
}
