import type { Machine } from './machine.ts'
import type { Edge } from './transition.ts'

export const machineFaultCodes = [
  'bad_name',
  'bad_version',
  'bad_labels',
  'bad_retention',
  'bad_outcome',
  'bad_policy',
  'unknown_processor',
  'unknown_purpose',
  'no_initial',
  'no_settled',
  'unknown_state',
  'unknown_cause',
  'duplicate_edge',
  'final_not_settled',
  'final_left',
  'settled_left',
  'unreachable',
  'no_way_out',
  'two_waits',
  'mixed_processors',
  'no_fail',
  'not_total',
  'shadowed',
  'free_cycle',
  'not_bare',
  'no_opener',
  'claim_without_run',
  'processor_on_outcome',
  'outcome_without_processor',
  'outcome_without_run',
  'ensure_without_processor',
  'after_missing',
  'bad_after',
  'bad_children',
  'bad_respawn',
] as const

export type MachineFaultCode = (typeof machineFaultCodes)[number]

/** One thing that would leave an entity of this machine stuck, lost or misled. */
export interface MachineFault {
  readonly code: MachineFaultCode
  readonly state?: string
  /** Name of the transition. */
  readonly edge?: string
  /** One sentence: machine, state and edge, what was expected, and what to do. */
  readonly message: string
}

/** An edge tells its state too. */
export function fault(
  machine: Machine,
  code: MachineFaultCode,
  said: string,
  where: { readonly state?: string; readonly edge?: Edge } = {},
): MachineFault {
  const state = where.state ?? where.edge?.from
  return {
    code,
    ...(state === undefined ? {} : { state }),
    ...(where.edge === undefined ? {} : { edge: where.edge.name }),
    message: `In machine ${machine.name}, ${said}.`,
  }
}

export function edgeText(edge: Edge): string {
  return `transition ${edge.name} (${edge.from} → ${edge.to})`
}

export function listText(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.join(', ')
}
