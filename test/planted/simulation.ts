import { test } from 'node:test'
import { simulate } from '../../src/testing/simulation/index.ts'
import { seedRanges, stepsPerSeed } from './seeds.ts'

// No test of the test command: planted.test.ts runs it, with each bug that the simulation must catch and once without.
for (const { name, from, to } of seedRanges) {
  test(name, async () => {
    for (let seed = from; seed <= to; seed += 1) await simulate({ seed, steps: stepsPerSeed })
  })
}
