import { test } from 'node:test'
import { type FaultRates, noFaults, simulate } from '../../src/testing/simulation/index.ts'
import { anyFaults, lostAnswers, seedsMax, stepsPerSeed } from './seeds.ts'

// No test of the test command: planted.test.ts runs it, with each bug that the simulation must catch and once without.
test(anyFaults, () => simulateAll())

test(lostAnswers, () => simulateAll({ ...noFaults, error: 0.25, slow: 0.05, operator: 0.01 }))

async function simulateAll(rates?: FaultRates): Promise<void> {
  for (let seed = 1; seed <= seedsMax; seed += 1) {
    await simulate({ seed, steps: stepsPerSeed, ...(rates && { rates }) })
  }
}
