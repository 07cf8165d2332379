import { test } from 'node:test'
import type { RunOptions } from './program.ts'
import type { Open } from './story.ts'

export type DifferentialOptions = RunOptions

/**
 * Registers a test that plays the same random programs on two stores and demands the same answers and the same histories.
 * What differs is a fault of one of them, or a hole in the contract.
 */
export function differential(name: string, openA: Open, openB: Open, options: DifferentialOptions = {}): void {
  test(`${name}: the same programs give the same answers and histories`, { timeout: 60_000 }, async () => {
    // fast-check is loaded only where it is used: the rest of the test kit does without.
    const { compareStores } = await import('./comparison.ts')
    await compareStores(openA, openB, options)
  })
}
