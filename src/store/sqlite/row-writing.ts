import type { Actor } from '../../store.ts'
import type { Ledger } from './ledger.ts'
import { type EntityRow, setLabels } from './row.ts'

const updateColumns = `line = ?2, rank = ?3, plan = ?4, state = ?5, settled = ?6, seq = ?7, epoch = ?8, generation = ?9, attempts = ?10,
  suspect = ?11, wait = ?12, at = ?13, priority = ?14, standing = ?15, reason = ?16, sums = ?17, shares = ?18, more = ?19, changed_at = ?20`
const updateRow = `UPDATE entity SET ${updateColumns} WHERE id = ?1`
const updateRowAndData = `UPDATE entity SET ${updateColumns}, data = ?21 WHERE id = ?1`

export function record(
  ledger: Ledger,
  row: EntityRow,
  path: number,
  actor: string | null,
  error: string | null,
  now: number,
): void {
  ledger.database.run(
    'INSERT INTO history (entity, seq, epoch, generation, at, path, actor, error) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    row.id,
    row.seq,
    row.epoch,
    row.generation,
    now,
    path,
    actor,
    error,
  )
  ledger.feed.moved(row.id, row.seq)
}

/** Who did it, for a history row. Null: nobody in particular. */
export function actorText({ actor, role, reason, requestId }: Actor): string | null {
  if (actor === null && role === null && reason === null && requestId === null) return null
  return JSON.stringify([actor, role, reason, requestId])
}

export function writeRow(ledger: Ledger, row: EntityRow, data: string | null): void {
  const statement = ledger.database.statement(data === null ? updateRow : updateRowAndData)
  const values = [
    row.id,
    row.line,
    row.rank,
    row.plan,
    row.state,
    row.settled,
    row.seq,
    row.epoch,
    row.generation,
    row.attempts,
    row.suspect,
    row.wait,
    row.at,
    row.priority,
    row.standing,
    row.reason,
    row.sums,
    row.shares,
    row.more,
    row.changedAt,
  ]
  if (data === null) statement.run(...values)
  else statement.run(...values, data)
}

export function writeLabels(ledger: Ledger, row: EntityRow, labels: readonly (string | null)[]): void {
  setLabels(row, labels)
  ledger.database.run(
    'UPDATE entity SET labels = ?, label0 = ?, label1 = ?, label2 = ?, label3 = ? WHERE id = ?',
    row.labels,
    row.label0,
    row.label1,
    row.label2,
    row.label3,
    row.id,
  )
}
