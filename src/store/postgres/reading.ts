import type { Entity, EntityId } from '../../entity.ts'
import { emptyLane, type Lane, type LaneStatus } from '../../lane.ts'
import type { Tombstone } from '../../store.ts'
import type { Row, Session } from './database.ts'
import type { Desk } from './desk.ts'
import type { Facts } from './facts.ts'
import { laneColumns, laneOf } from './lane-row.ts'
import { entityOf, rowColumns, rowOf } from './row.ts'

/** Staged rows are passed over: nobody sees them before they are published. */
export const isSeen = '(staging IS NULL OR staging NOT IN (SELECT id FROM staging))'

/**
 * For the rest of the transaction rows are read in the order of an index, never sorted. A plan is made once per connection, perhaps while
 * the table is small and sorting all of it seems cheapest; it must still be right when the table has grown.
 */
export function inIndexOrder(session: Session): void {
  session.send("SELECT set_config('enable_sort', 'off', true)")
}

/** Again as the server thinks best: plans of statements that others use too must not be made under the rule above. */
export function inAnyOrder(session: Session): void {
  session.send('SET LOCAL enable_sort TO DEFAULT')
}

/** Numbers that can stand in a table; nothing has any other. */
export function idsIn(numbers: readonly (number | null)[]): number[] {
  return [...new Set(numbers)].filter((number) => Number.isSafeInteger(number)) as number[]
}

/** As readers see them: what is staged is not there. */
export async function entitiesOf(
  session: Session,
  desk: Desk,
  facts: Facts,
  ids: readonly EntityId[],
): Promise<ReadonlyMap<EntityId, Entity>> {
  return seenOf(await rowsOf(session, ids, 'true'), desk, facts.stagings)
}

/** The offset keeps the server from beginning with lanes and all that is in them. */
async function rowsOf(session: Session, ids: readonly EntityId[], condition: string): Promise<readonly Row[]> {
  if (ids.length === 0) return []
  return session.all(
    `SELECT e.*, own.* FROM (SELECT ${rowColumns} FROM entity WHERE id = ANY($1::int8[]) AND ${condition}) e
     CROSS JOIN LATERAL (SELECT parent, name, status FROM lane WHERE lane.id = e.lane OFFSET 0) own`,
    [idsIn(ids)],
  )
}

function seenOf(found: readonly Row[], desk: Desk, stagings: ReadonlySet<number>): ReadonlyMap<EntityId, Entity> {
  const entities = new Map<EntityId, Entity>()
  const lanes = new Map<number, Lane>()
  for (const values of found) {
    const row = rowOf(values)
    if (row.staging !== null && stagings.has(row.staging)) continue
    let lane = lanes.get(row.lane)
    if (!lane) {
      lane = laneAt(values)
      lanes.set(row.lane, lane)
    }
    entities.set(row.id, entityOf(row, lane, desk.dictionary))
  }
  return entities
}

/** What an entity shows of its lane. */
function laneAt(values: Row): Lane {
  const [parent, name, status] = values.slice(-3) as [number | null, string, LaneStatus]
  return { ...emptyLane(parent, name, '', 0, []), status }
}

/** By parent, and in the order in which they were made, as people see them. */
export async function lanesOf(
  session: Session,
  desk: Desk,
  parents: readonly (EntityId | null)[],
): Promise<ReadonlyMap<EntityId | null, readonly Lane[]>> {
  const asked = new Set(parents)
  const [own, roots] = await Promise.all([
    session.all(`SELECT ${laneColumns} FROM lane WHERE parent = ANY($1::int8[]) AND NOT hidden`, [idsIn(parents)]),
    asked.has(null) ? session.all(`SELECT ${laneColumns} FROM lane WHERE parent IS NULL AND NOT hidden`) : [],
  ])
  const lanes = [...own, ...roots]
    .map((row) => laneOf(row, desk.dictionary))
    .sort((one, other) => one.id - other.id)
    .map(({ lane }) => lane)
  const byParent = Map.groupBy(lanes, ({ parent }) => parent)
  return new Map([...asked].map((parent) => [parent, byParent.get(parent) ?? []]))
}

export function get(desk: Desk, ids: readonly EntityId[]): Promise<readonly (Entity | null)[]> {
  // One statement sees one moment by itself, and leaves out what is staged.
  return desk.learning(() =>
    desk.database.single(async (session) => {
      const entities = seenOf(await rowsOf(session, ids, isSeen), desk, noStagings)
      return ids.map((id) => entities.get(id) ?? null)
    }),
  )
}

const noStagings: ReadonlySet<number> = new Set()

export function lanes(desk: Desk, parents: readonly (EntityId | null)[]): Promise<readonly Lane[]> {
  return desk.glance(
    (session) => lanesOf(session, desk, parents),
    (found) => [...found.values()].flat(),
  )
}

export async function tombstones(desk: Desk, ids: readonly EntityId[]): Promise<readonly (Tombstone | null)[]> {
  const found = await desk.glance(
    (session) =>
      session.all(
        `SELECT id, machine, version, state, key, data, lanes, created_at, purged_at FROM tombstone
         WHERE id = ANY($1::int8[]) AND purged_at IS NOT NULL`,
        [idsIn(ids)],
      ),
    (rows) => rows,
  )
  const byId = new Map(found.map((row) => [row[0] as number, tombstoneOf(row)]))
  return ids.map((id) => byId.get(id) ?? null)
}

function tombstoneOf([id, machine, version, state, key, data, lanes, createdAt, purgedAt]: Row): Tombstone {
  return {
    id: id as number,
    machine: machine as string,
    version: version as number,
    state: state as string,
    key: key as string | null,
    data: data as string,
    lanes: JSON.parse(lanes as string),
    createdAt: createdAt as number,
    purgedAt: purgedAt as number,
  }
}
