import {
  fenceText,
  type Mark,
  type Marks,
  type Progress,
  type Report,
  type SourceStatus,
  type TargetStatus,
} from '../../transfer.ts'
import type { Database } from './database.ts'

/** Not among the migrations: a store that is never moved has no use for it. */
const table = `CREATE TABLE IF NOT EXISTS transfer (
  role TEXT PRIMARY KEY, id TEXT NOT NULL, peer TEXT NOT NULL, status TEXT NOT NULL, progress TEXT, report TEXT
) WITHOUT ROWID`

/** All that is carried, or says that somebody works. */
const fenced = [
  ...['machine', 'entity', 'lane', 'staging', 'staging_lane', 'history', 'operation'],
  ...['hold', 'past_hold', 'pool', 'pool_share', 'worker', 'tombstone'],
]
const prefix = 'transfer_fence_'

const none: Marks = { source: null, target: null }

export function marksOf(database: Database): Marks {
  if (!database.get("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'transfer'")) return none
  const rows = database.all('SELECT role, id, peer, status, progress, report FROM transfer')
  const read = (wanted: string) => {
    const row = rows.find(([role]) => role === wanted)
    if (!row) return null
    const [, id, peer, status, progress, report] = row as (string | null)[]
    return { id: id!, peer: peer!, status: status!, progress: progress ?? null, report: report ?? null }
  }
  const [source, target] = [read('source'), read('target')]
  return {
    source: source && { id: source.id, peer: source.peer, status: source.status as SourceStatus },
    target: target && {
      ...{ id: target.id, peer: target.peer, status: target.status as TargetStatus },
      progress: target.progress === null ? null : (JSON.parse(target.progress) as Progress),
      report: target.report === null ? null : (JSON.parse(target.report) as Report),
    },
  }
}

export function setMark(database: Database, role: 'source' | 'target', { id, peer }: Mark): void {
  database.exec(table)
  database.run("INSERT OR REPLACE INTO transfer (role, id, peer, status) VALUES (?, ?, ?, 'moving')", role, id, peer)
}

export function setStatus(database: Database, role: 'source' | 'target', status: SourceStatus | TargetStatus): void {
  database.run('UPDATE transfer SET status = ? WHERE role = ?', status, role)
}

export function setProgress(database: Database, progress: Progress): void {
  database.run("UPDATE transfer SET progress = ? WHERE role = 'target'", JSON.stringify(progress))
}

export function setReport(database: Database, report: Report): void {
  database.run("UPDATE transfer SET report = ? WHERE role = 'target'", JSON.stringify(report))
}

export function removeMark(database: Database, role: 'source' | 'target'): void {
  database.run('DELETE FROM transfer WHERE role = ?', role)
}

/** Triggers refuse every change: also of processes that had the file open before, and would never look at a mark. */
export function raiseFence(database: Database, peer: string): void {
  const message = fenceText(peer).replaceAll("'", "''").replaceAll('\u0000', '')
  for (const name of fenced) {
    for (const change of ['INSERT', 'UPDATE', 'DELETE']) {
      database.exec(
        `CREATE TRIGGER ${prefix}${name}_${change.toLowerCase()} BEFORE ${change} ON ${name} BEGIN SELECT RAISE(ABORT, '${message}'); END`,
      )
    }
  }
}

export function removeFence(database: Database): void {
  const found = database.all(
    "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND substr(name, 1, ?) = ?",
    prefix.length,
    prefix,
  )
  for (const [name] of found) database.exec(`DROP TRIGGER ${name}`)
}
