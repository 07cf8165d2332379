import type { Entity, EntityId } from '../../entity.ts'
import type { Due } from '../../store.ts'
import type { Ledger } from './ledger.ts'
import { plans } from './row.ts'

/** What the engine must look at now, up to `limit` of each kind, of the machines that it knows (each `name@version`). */
export function due(ledger: Ledger, limit: number, machines: readonly string[] | undefined): Due {
  return ledger.read((now) => {
    const known = machines === undefined ? '' : `AND machine IN (${numbersOf(ledger, machines).join()})`
    const woken = ledger.database.all(
      `SELECT DISTINCT parent FROM lane WHERE awaited = 1 AND wake > seen
       AND EXISTS (SELECT 1 FROM entity WHERE id = lane.parent ${known}) ORDER BY parent LIMIT ?`,
      limit,
    )
    const parents = new Set(woken.map(([id]) => id as number))
    for (const id of ripeOf(ledger, plans.look, known, now, limit)) if (parents.size < limit) parents.add(id)
    return {
      parents: entitiesOf(ledger, [...parents]).map((entity) => ({ entity, lanes: ledger.lanes.shown(entity.id) })),
      timers: entitiesOf(ledger, ripeOf(ledger, plans.timer, known, now, limit)),
      purges: ripeOf(ledger, plans.purge, known, now, limit),
      next: nextOf(ledger, now),
    }
  })
}

function numbersOf(ledger: Ledger, machines: readonly string[]): readonly number[] {
  const rows = ledger.database.all(
    "SELECT id FROM machine WHERE name || '@' || version IN (SELECT value FROM json_each(?))",
    JSON.stringify(machines),
  )
  return rows.map(([id]) => id as number)
}

/** Staged rows are passed over: nobody sees them before they are published. */
const isSeen = '(staging IS NULL OR staging NOT IN (SELECT id FROM staging))'

function ripeOf(ledger: Ledger, plan: number, known: string, now: number, limit: number): readonly EntityId[] {
  const rows = ledger.database.all(
    `SELECT id FROM entity WHERE plan = ? AND at <= ? AND ${isSeen} ${known} ORDER BY at, id LIMIT ?`,
    plan,
    now,
    limit,
  )
  return rows.map(([id]) => id as number)
}

function nextOf(ledger: Ledger, now: number): number | null {
  const times = Object.values(plans).flatMap((plan) => {
    const at = ledger.database.number(
      `SELECT at FROM entity WHERE plan = ? AND at > ? AND ${isSeen} ORDER BY at LIMIT 1`,
      plan,
      now,
    )
    return at === null ? [] : [at]
  })
  const end = ledger.holds.nextEnd(now)
  if (end !== null) times.push(end)
  return times.length === 0 ? null : Math.min(...times)
}

function entitiesOf(ledger: Ledger, ids: readonly EntityId[]): readonly Entity[] {
  if (ids.length === 0) return []
  const rows = ledger.rows(ids)
  return ids.flatMap((id) => {
    const row = rows.get(id)
    return row ? [ledger.entity(row)] : []
  })
}
