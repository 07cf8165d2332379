import type { Entity, EntityId } from '../../entity.ts'
import type { Due } from '../../store.ts'
import type { Row, Session, Value } from './database.ts'
import type { Desk } from './desk.ts'
import { entitiesOf, inIndexOrder, isSeen, lanesOf } from './reading.ts'
import { plans } from './row.ts'

/** What the engine must look at now, up to `limit` of each kind, of the machines that it knows (each `name@version`). */
export function due(desk: Desk, limit: number, machines: readonly string[] | undefined): Promise<Due> {
  return desk.read(async (session, facts) => {
    inIndexOrder(session)
    const { now } = facts
    const [woken, looks, timers, purges, times] = await Promise.all([
      wokenOf(session, machines, limit),
      ripeOf(session, plans.look, machines, now, limit),
      ripeOf(session, plans.timer, machines, now, limit),
      ripeOf(session, plans.purge, machines, now, limit),
      session.one(next, [Object.values(plans), now]),
    ])
    const parents = new Set(woken)
    for (const id of looks) if (parents.size < limit) parents.add(id)
    const [entities, lanes] = await Promise.all([
      entitiesOf(session, desk, facts, [...parents, ...timers]),
      parents.size > 0 ? lanesOf(session, desk, [...parents]) : null,
    ])
    return {
      parents: presentOf(entities, [...parents]).map((entity) => ({ entity, lanes: lanes?.get(entity.id) ?? [] })),
      timers: presentOf(entities, timers),
      purges,
      next: earliest(times?.[0] as number | null, facts.holds.nextEnd(now)),
    }
  })
}

/** The earliest of all plans: for each the first of its index. */
const next = `SELECT min(first.at) FROM unnest($1::int2[]) AS kind (plan)
  CROSS JOIN LATERAL (SELECT at FROM entity WHERE plan = kind.plan AND at > $2 AND ${isSeen} ORDER BY at LIMIT 1) first`

/** Asked once per statement, not once per row. */
function known(parameter: number): string {
  return `ANY(ARRAY(SELECT id FROM machine WHERE name || '@' || version = ANY($${parameter}::text[])))`
}

/** Parents that wait for their children and have not seen a lane's last wake number. A subquery that is no join keeps the order of the index. */
async function wokenOf(session: Session, machines: readonly string[] | undefined, limit: number) {
  const machine = '(SELECT machine FROM entity WHERE entity.id = lane.parent)'
  const isKnown = machines === undefined ? `${machine} IS NOT NULL` : `${machine} = ${known(2)}`
  const values: Value[] = machines === undefined ? [limit] : [limit, machines]
  return idsOf(
    await session.all(
      `SELECT DISTINCT parent FROM lane WHERE awaited AND wake > seen AND ${isKnown} ORDER BY parent LIMIT $1`,
      values,
    ),
  )
}

async function ripeOf(
  session: Session,
  plan: number,
  machines: readonly string[] | undefined,
  now: number,
  limit: number,
): Promise<readonly EntityId[]> {
  const isKnown = machines === undefined ? '' : `AND machine = ${known(4)}`
  const values: Value[] = machines === undefined ? [plan, now, limit] : [plan, now, limit, machines]
  return idsOf(
    await session.all(
      `SELECT id FROM entity WHERE plan = $1 AND at <= $2 AND ${isSeen} ${isKnown} ORDER BY at, id LIMIT $3`,
      values,
    ),
  )
}

function idsOf(rows: readonly Row[]): readonly EntityId[] {
  return rows.map(([id]) => id as number)
}

function presentOf(entities: ReadonlyMap<EntityId, Entity>, ids: readonly EntityId[]): readonly Entity[] {
  return ids.flatMap((id) => entities.get(id) ?? [])
}

function earliest(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other)
}
