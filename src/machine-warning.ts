import type { Machine } from './machine.ts'
import { listText } from './machine-fault.ts'

export const machineWarningCodes = ['undeclared_outcome'] as const

export type MachineWarningCode = (typeof machineWarningCodes)[number]

/** One thing that a sound machine should still say: its entities run, but people are told less than the truth. */
export interface MachineWarning {
  readonly code: MachineWarningCode
  readonly states: readonly string[]
  /** One sentence: machine, states, what it means, and what to do. */
  readonly message: string
}

/** Settled states that declare no outcome count as `neutral`: neither as done nor as failed. */
export function machineWarnings(machine: Machine): readonly MachineWarning[] {
  const states = machine.settled.filter((state) => machine.states[state]?.outcomeDeclared === false)
  if (states.length === 0) return []
  const message =
    `In machine ${machine.name}, no outcome is declared for ${listText(states)}, which count as neutral; ` +
    `declare outcome: 'success', 'failure', 'attention' or 'neutral'.`
  return [{ code: 'undeclared_outcome', states, message }]
}
