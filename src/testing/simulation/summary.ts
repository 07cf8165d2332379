import { type FaultName, faultNames } from './faults.ts'
import type { SimulationResult } from './simulation.ts'

/** Many runs together. */
export interface Summary {
  readonly seeds: number
  readonly steps: number
  readonly virtualMs: number
  readonly entities: number
  readonly moves: number
  readonly claims: number
  readonly effects: number
  readonly longestWaitMs: number
  readonly faults: Readonly<Record<FaultName, number>>
  /** Faults that never happened: what was not tried was not tested. */
  readonly unseen: readonly FaultName[]
}

export function summarise(results: readonly SimulationResult[]): Summary {
  const sum = (figure: (result: SimulationResult) => number): number =>
    results.reduce((total, result) => total + figure(result), 0)
  const faults = Object.fromEntries(faultNames.map((name) => [name, sum((result) => result.faults[name])])) as Record<
    FaultName,
    number
  >
  return {
    seeds: results.length,
    steps: sum(({ steps }) => steps),
    virtualMs: sum(({ virtualMs }) => virtualMs),
    entities: sum(({ entities }) => entities),
    moves: sum(({ moves }) => moves),
    claims: sum(({ claims }) => claims),
    effects: sum(({ effects }) => effects),
    longestWaitMs: Math.max(0, ...results.map(({ longestWaitMs }) => longestWaitMs)),
    faults,
    unseen: faultNames.filter((name) => faults[name] === 0),
  }
}

export function summaryText(summary: Summary): string {
  const { seeds, steps, virtualMs, entities, moves, claims, effects, longestWaitMs, faults } = summary
  const hours = (virtualMs / 3_600_000).toFixed(1)
  return [
    `${seeds} seeds, ${steps} steps, ${hours} simulated hours, ${entities} entities, ${moves} moves, ${claims} claims, ${effects} effects.`,
    `Longest wait when nothing went wrong: ${longestWaitMs} ms.`,
    ...faultNames.map((name) => `${String(faults[name]).padStart(9)} ${name}`),
  ].join('\n')
}
