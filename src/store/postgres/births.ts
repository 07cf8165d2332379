import type { EntityId } from '../../entity.ts'
import type { Birth } from '../../store.ts'
import type { LaneRow } from './lanes.ts'
import type { Ledger } from './ledger.ts'
import { place } from './placing.ts'
import { type EntityRow, isRun, setLabels, waitAt, waitCode, waits } from './row.ts'

/** Where a new entity comes from. */
export interface Descent {
  readonly source: EntityId | null
  readonly ordinal: number | null
  readonly staging: number | null
}

export const rootDescent: Descent = { source: null, ordinal: null, staging: null }

/** The row of a new entity; not yet placed, counted or written. */
export function rowOfBirth(ledger: Ledger, birth: Birth, id: EntityId, lane: LaneRow, descent: Descent): EntityRow {
  const { dictionary, now } = ledger
  const state = dictionary.word(birth.state)
  const { wait } = birth
  const row: EntityRow = {
    id,
    line: null,
    owner: null,
    rank: null,
    machine: dictionary.machine(birth.machine, birth.version).id,
    state,
    born: state,
    seq: 0,
    epoch: 0,
    generation: 0,
    settled: birth.settled,
    attempts: 0,
    suspect: 0,
    lane: lane.id,
    source: descent.source,
    ordinal: descent.ordinal,
    staging: descent.staging,
    labels: 0,
    label0: null,
    label1: null,
    label2: null,
    label3: null,
    priority: birth.priority,
    wait: waitCode(wait),
    at: waitAt(wait),
    plan: null,
    standing: 0,
    reason: birth.reason,
    sums: birth.sums === null ? null : JSON.stringify(birth.sums),
    key: birth.key,
    shares: null,
    more: wait.for === 'run' && wait.pool !== undefined ? JSON.stringify({ pool: wait.pool }) : null,
    createdAt: now,
    createdBy: birth.createdBy,
    changedAt: now,
    data: birth.data,
    trail: 0,
    cold: null,
  }
  if (birth.labels.length > 0) setLabels(row, birth.labels)
  return row
}

/** Places and writes a new row. Its lane has counted it. */
export function bear(ledger: Ledger, row: EntityRow, lane: LaneRow): void {
  place(ledger, row, lane, 0)
  ledger.bear(row)
}

export function hintOfWait(ledger: Ledger, row: EntityRow): void {
  if (isRun(row.wait)) ledger.hint('work')
  else if (row.wait !== waits.nothing && row.at !== null) ledger.hint('due')
}
