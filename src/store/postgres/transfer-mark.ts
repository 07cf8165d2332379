import {
  fenceText,
  type Mark,
  type Marks,
  type Progress,
  type Report,
  type SourceStatus,
  type TargetStatus,
} from '../../transfer.ts'
import type { Database, Session } from './database.ts'

/** Not among the migrations: a store that is never moved has no use for it. */
const table = `CREATE TABLE IF NOT EXISTS transfer (
  role text PRIMARY KEY, id text NOT NULL, peer text NOT NULL, status text NOT NULL, progress text, report text
)`

/** All that is carried, or says that somebody works. */
const fenced = [
  ...['machine', 'entity', 'entity_hot', 'entity_cold', 'claimed', 'lane', 'staging', 'history', 'operation'],
  ...['hold', 'past_hold', 'pool', 'pool_share', 'worker', 'tombstone'],
]
const fence = 'transfer_fence'
/** Somebody's transaction may hold a table for long: then it is tried again, and in the end given up. */
const patience = "SET LOCAL lock_timeout = '3s'"

type MarkRow = readonly [
  role: string,
  id: string,
  peer: string,
  status: string,
  progress: string | null,
  report: string | null,
]

export function marksOf(database: Database): Promise<Marks> {
  return database.single(async (session) => {
    const [isThere] = (await session.one("SELECT to_regclass('transfer') IS NOT NULL")) as [boolean]
    const rows = isThere ? await session.all('SELECT role, id, peer, status, progress, report FROM transfer') : []
    const of = (wanted: string) => (rows as readonly unknown[] as readonly MarkRow[]).find(([role]) => role === wanted)
    const [source, target] = [of('source'), of('target')]
    return {
      source: source ? { id: source[1], peer: source[2], status: source[3] as SourceStatus } : null,
      target: target
        ? {
            ...{ id: target[1], peer: target[2], status: target[3] as TargetStatus },
            progress: target[4] === null ? null : (JSON.parse(target[4]) as Progress),
            report: target[5] === null ? null : (JSON.parse(target[5]) as Report),
          }
        : null,
    }
  })
}

export async function setMark(session: Session, role: 'source' | 'target', { id, peer }: Mark): Promise<void> {
  await session.exec(table)
  session.send(
    `INSERT INTO transfer (role, id, peer, status) VALUES ($1, $2, $3, 'moving')
     ON CONFLICT (role) DO UPDATE SET id = excluded.id, peer = excluded.peer, status = excluded.status, progress = NULL, report = NULL`,
    [role, id, peer],
  )
}

export function setStatus(session: Session, role: 'source' | 'target', status: SourceStatus | TargetStatus): void {
  session.send('UPDATE transfer SET status = $2 WHERE role = $1', [role, status])
}

export function setProgress(session: Session, progress: Progress): void {
  session.send("UPDATE transfer SET progress = $1 WHERE role = 'target'", [JSON.stringify(progress)])
}

export function setReport(session: Session, report: Report): void {
  session.send("UPDATE transfer SET report = $1 WHERE role = 'target'", [JSON.stringify(report)])
}

export function removeMark(session: Session, role: 'source' | 'target'): void {
  session.send('DELETE FROM transfer WHERE role = $1', [role])
}

/**
 * Triggers refuse every change: also of processes that were connected before, and would never look at a mark. Making one waits until all
 * transactions that have changed its table have ended.
 */
export async function raiseFence(session: Session, peer: string): Promise<void> {
  await session.exec(patience)
  const message = fenceText(peer).replaceAll("'", "''").replaceAll('$', '')
  await session.exec(
    `CREATE OR REPLACE FUNCTION ${fence}() RETURNS trigger LANGUAGE plpgsql AS
     $fence$ BEGIN RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state', MESSAGE = E'${message.replaceAll('\\', '\\\\')}'; END $fence$`,
  )
  for (const name of fenced) {
    await session.exec(
      `CREATE TRIGGER ${fence} BEFORE INSERT OR UPDATE OR DELETE ON ${name} FOR EACH STATEMENT EXECUTE FUNCTION ${fence}()`,
    )
  }
}

export async function removeFence(session: Session): Promise<void> {
  await session.exec(patience)
  await session.exec(`DROP FUNCTION IF EXISTS ${fence}() CASCADE`)
}
