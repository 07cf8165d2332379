import type { EntityId } from '../../entity.ts'
import { runsOf } from './claimed.ts'
import type { Row, Session } from './database.ts'
import type { Desk } from './desk.ts'
import type { Facts } from './facts.ts'
import { dataAtOnceMax, waits } from './row.ts'
import type { Pick } from './selection.ts'
import type { Served } from './served.ts'

/** One statement per run, whatever their number. Returns the data of those that have much. */
export async function writeLeases(
  desk: Desk,
  session: Session,
  worker: number,
  over: readonly number[],
  picks: readonly Pick[],
  { now }: Facts,
  name: string,
): Promise<{ readonly number: number; readonly rows: readonly Row[] }> {
  if (picks.length === 0) {
    if (over.length > 0)
      session.send('DELETE FROM claimed WHERE worker = $1 AND number = ANY($2::int8[])', [worker, over])
    return { number: 0, rows: [] }
  }
  const numbered = noteClaim(session, worker, idsOf(picks), over)
  for (const [{ run }, group] of Map.groupBy(picks, servedOfPick)) {
    const suspect = group[0]!.row.suspect
    const leased = idsOf(group)
    if (run.hops.length === 0) {
      session.send(leaseSql, [leased, worker, suspect])
      continue
    }
    const state = desk.dictionary.word(run.hops.at(-1)!.to)
    const rest = `,${desk.dictionary.path('claim', run.hops)},${JSON.stringify([name])},null]\n`
    session.send(hopSql, [leased, worker, suspect, state, now, rest])
  }
  const long: EntityId[] = []
  for (const { row, served, bytes } of picks) {
    if (bytes > dataAtOnceMax) long.push(row.id)
    row.owner = worker
    row.epoch += 1
    row.attempts += 1
    if (served.run.hops.length === 0) continue
    row.state = desk.dictionary.word(served.run.hops.at(-1)!.to)
    row.seq += 1
    row.changedAt = Math.max(row.changedAt, now)
    if (row.wait === waits.gatedRun) row.wait = waits.run
  }
  const [number, rows] = await Promise.all([
    numbered,
    long.length > 0 ? session.all('SELECT id, data FROM entity_hot WHERE id = ANY($1::int8[])', [long]) : [],
  ])
  return { number: number?.[0] as number, rows }
}

function servedOfPick({ served }: Pick): Served {
  return served
}

/**
 * In the place of those that are over. The worker is locked: until the claim is saved nobody removes it. If somebody has, no number stands
 * in its place, which the table refuses, and with it the whole claim.
 */
function noteClaim(
  session: Session,
  worker: number,
  ids: readonly EntityId[],
  over: readonly number[],
): Promise<Row | null> {
  const { firsts, counts } = runsOf(ids)
  return session.one(
    `WITH gone AS (DELETE FROM claimed WHERE worker = $1 AND number = ANY($4::int8[]))
     INSERT INTO claimed (worker, firsts, counts)
     VALUES ((SELECT id FROM worker WHERE id = $1 FOR KEY SHARE), $2::int8[], $3::int4[]) RETURNING number`,
    [worker, firsts, counts, over],
  )
}

const leaseSql = `UPDATE entity_hot SET owner = $2, epoch = epoch + 1, attempts = attempts + 1, suspect = $3
  WHERE id = ANY($1::int8[])`

/** The hops that the claim itself takes are a move, with its history. Behind the gate nothing is gated any more. */
const hopSql = `UPDATE entity_hot SET owner = $2, epoch = epoch + 1, attempts = attempts + 1, suspect = $3, state = $4, seq = seq + 1,
  changed_at = greatest(changed_at, $5), wait = CASE wait WHEN ${waits.gatedRun} THEN ${waits.run} ELSE wait END,
  trail = trail || '[' || (seq + 1) || ',' || (epoch + 1) || ',' || generation || ',' || greatest(changed_at, $5) || $6
  WHERE id = ANY($1::int8[])`

export function idsOf(picks: readonly Pick[]): EntityId[] {
  const ids: EntityId[] = []
  for (const { row } of picks) ids.push(row.id)
  return ids
}
