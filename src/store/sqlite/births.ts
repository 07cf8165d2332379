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

const insertPlain = `INSERT INTO entity (id, line, rank, machine, state, born, seq, epoch, generation, settled, attempts, suspect, lane,
  source, ordinal, staging, labels, priority, wait, at, plan, standing, created_at, created_by, changed_at, data)
  VALUES (?1, ?2, ?3, ?4, ?5, ?5, 0, 0, 0, ?6, 0, 0, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, 0, ?16, ?17, ?16, ?18)`
const insertFull = `INSERT INTO entity (id, line, rank, machine, state, born, seq, epoch, generation, settled, attempts, suspect, lane,
  source, ordinal, staging, labels, priority, wait, at, plan, standing, created_at, created_by, changed_at, data,
  label0, label1, label2, label3, reason, sums, key, more)
  VALUES (?1, ?2, ?3, ?4, ?5, ?5, 0, 0, 0, ?6, 0, 0, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, 0, ?16, ?17, ?16, ?18,
  ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26)`

/** The row of a new entity; not yet placed, counted or written. */
export function rowOfBirth(
  ledger: Ledger,
  birth: Birth,
  id: EntityId,
  lane: LaneRow,
  descent: Descent,
  now: number,
): EntityRow {
  const { dictionary } = ledger
  const state = dictionary.word(birth.state)
  const { wait } = birth
  const row: EntityRow = {
    id,
    line: null,
    rank: null,
    machine: dictionary.machine(birth.machine, birth.version).id,
    state,
    born: state,
    seq: 0,
    epoch: 0,
    generation: 0,
    settled: birth.settled ? 1 : 0,
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
  }
  if (birth.labels.length > 0) setLabels(row, birth.labels)
  return row
}

/** Places and writes a new row. Its lane has counted it. */
export function bear(ledger: Ledger, row: EntityRow, lane: LaneRow, now: number): void {
  place(ledger, row, lane, 0, now)
  const { database } = ledger
  if (isPlainBirth(row)) {
    database
      .statement(insertPlain)
      .run(
        row.id,
        row.line,
        row.rank,
        row.machine,
        row.state,
        row.settled,
        row.lane,
        row.source,
        row.ordinal,
        row.staging,
        row.labels,
        row.priority,
        row.wait,
        row.at,
        row.plan,
        row.createdAt,
        row.createdBy,
        row.data,
      )
  } else {
    database
      .statement(insertFull)
      .run(
        row.id,
        row.line,
        row.rank,
        row.machine,
        row.state,
        row.settled,
        row.lane,
        row.source,
        row.ordinal,
        row.staging,
        row.labels,
        row.priority,
        row.wait,
        row.at,
        row.plan,
        row.createdAt,
        row.createdBy,
        row.data,
        row.label0,
        row.label1,
        row.label2,
        row.label3,
        row.reason,
        row.sums,
        row.key,
        row.more,
      )
    if (row.key !== null) ledger.pools.takeKey(row.key, row.id)
  }
}

/** It has nothing that most do not have. */
export function isPlainBirth(row: EntityRow): boolean {
  return (
    row.label0 === null &&
    row.label1 === null &&
    row.label2 === null &&
    row.label3 === null &&
    row.reason === null &&
    row.sums === null &&
    row.key === null &&
    row.more === null
  )
}

export function hintOfWait(ledger: Ledger, row: EntityRow): void {
  if (isRun(row.wait)) ledger.hint('work')
  else if (row.wait !== waits.nothing && row.at !== null) ledger.hint('due')
}
