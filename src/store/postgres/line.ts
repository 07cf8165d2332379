import type { Row } from './database.ts'
import type { LineKind, NewLine } from './need.ts'

/** What a worker takes up: one machine version (its number), state and requested edge (words; 0: none). */
export interface Run {
  readonly machine: number
  readonly state: number
  readonly edge: number
}

/**
 * Where entities wait to run. All of one machine, state and edge share one line, save for what may be shut or put aside as a
 * whole: the children of a large, gated or resting lane, what a source has staged, what a hold or a full pool stops. Suspects
 * stand in lines of their own in each of these places, for a claim takes them first and apart.
 */
export interface Line extends NewLine {
  readonly id: number
}

export interface Place {
  readonly suspect: boolean
  readonly lane?: number | null
  readonly gated?: boolean
  readonly staging?: number | null
  readonly hold?: number | null
  readonly holdable?: boolean
  readonly pool?: string | null
}

export const lineColumns =
  'id, name, kind, suspect, machine, state, edge, lane, gated, staging, hold, holdable, pool, shut, idle'

export function lineOf(row: Row): Line {
  return {
    id: row[0] as number,
    name: row[1] as string,
    kind: row[2] as LineKind,
    suspect: row[3] as boolean,
    machine: row[4] as number,
    state: row[5] as number,
    edge: row[6] as number,
    lane: row[7] as number | null,
    gated: row[8] as boolean,
    staging: row[9] as number | null,
    hold: row[10] as number | null,
    holdable: row[11] as boolean,
    pool: row[12] as string | null,
    shut: row[13] as boolean,
    idle: row[14] as boolean,
  }
}

export function newLine(kind: LineKind, run: Run, place: Place, shut: boolean): NewLine {
  const { suspect, lane = null, gated = false, staging = null, hold = null, holdable = false, pool = null } = place
  const { machine, state, edge } = run
  const name = `${kind}/${suspect ? 1 : 0}/${machine}/${state}/${edge}/${lane ?? ''}/${gated ? 1 : 0}/${staging ?? ''}/${hold ?? ''}/${holdable ? 1 : 0}/${pool ?? ''}`
  return {
    name,
    kind,
    suspect,
    machine,
    state,
    edge,
    lane,
    gated,
    staging,
    hold,
    holdable,
    pool,
    shut,
    idle: kind !== 'shared',
  }
}

export function runKey({ machine, state, edge }: Run): string {
  return `${machine}/${state}/${edge}`
}
