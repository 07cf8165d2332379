import type { Lane, LaneStatus } from '../../lane.ts'
import type { Row } from './database.ts'
import type { Dictionary } from './dictionary.ts'

/** A lane as its row has it. */
export interface LaneColumns {
  readonly id: number
  readonly lane: Lane
  /** The lane's machine. Null: nobody was born into it yet. */
  readonly machine: number | null
  /** Its parent waits for children. */
  readonly awaited: boolean
  readonly hidden: boolean
}

export const laneColumns =
  'id, parent, name, machine, counts, total, open, reasons, sums, wake, seen, watches, entered, gate, status, awaited, hidden'

/** The order over an entity's own lanes, as its row keeps it. */
export const standings: readonly LaneStatus[] = ['going', 'resting', 'stopped']

export function laneOf(row: Row, dictionary: Dictionary): LaneColumns {
  const machine = row[3] as number | null
  const entry = machine === null ? null : dictionary.machineOf(machine)
  return {
    id: row[0] as number,
    machine,
    awaited: row[15] as boolean,
    hidden: row[16] as boolean,
    lane: {
      parent: row[1] as number | null,
      name: row[2] as string,
      machine: entry?.name ?? '',
      version: entry?.version ?? 0,
      counts: JSON.parse(row[4] as string),
      total: row[5] as number,
      open: row[6] as number,
      reasons: JSON.parse(row[7] as string),
      sums: JSON.parse(row[8] as string),
      wake: row[9] as number,
      seen: row[10] as number,
      watches: JSON.parse(row[11] as string),
      entered: JSON.parse(row[12] as string),
      gate: row[13] as Lane['gate'],
      status: row[14] as LaneStatus,
    },
  }
}

/** Whether a lane lets its children start. */
export function letsThrough({ status, gate }: Lane, gated: boolean): boolean {
  return status === 'going' && (!gated || gate === 'open')
}
