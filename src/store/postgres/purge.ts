import type { EntityId } from '../../entity.ts'
import { SluiceError } from '../../errors.ts'
import { keyPool } from '../../pool.ts'
import type { Session } from './database.ts'
import type { Desk } from './desk.ts'
import type { Facts } from './facts.ts'
import { decided, Ledger } from './ledger.ts'
import { inAnyOrder, inIndexOrder } from './reading.ts'
import { type EntityRow, sharesOf } from './row.ts'
import { Stock } from './stock.ts'
import { noteTime } from './workers.ts'

/**
 * Removes a settled root and all below it, in groups, each a transaction of its own. The root is marked first: from then on nothing of its
 * tree is claimed or committed, so that no half-purged tree comes to life again. True: all is gone.
 */
export async function purge(desk: Desk, root: EntityId, limit: number): Promise<boolean> {
  if (!Number.isSafeInteger(root)) throw nothingToPurge(root)
  const { isGone, hints } = await desk.write(async (session, facts) => {
    const stock = new Stock(session, desk.dictionary)
    const [, found] = await Promise.all([
      stock.loadRows([root]),
      session.one(
        `SELECT lane.parent, (SELECT 1 FROM tombstone WHERE id = $1) FROM (SELECT $1::int8 AS id) asked
         LEFT JOIN entity USING (id) LEFT JOIN lane ON lane.id = entity.lane`,
        [root],
      ),
    ])
    const [parent, tombstone] = found as [number | null, number | null]
    const row = stock.rows.get(root)
    if (!row || (row.staging !== null && facts.stagings.has(row.staging))) {
      if (tombstone !== null) return { isGone: true, hints: null }
      throw nothingToPurge(root)
    }
    await mark(session, desk, facts, row, parent)
    return removeGroup(session, desk, facts, stock, row, Math.max(1, Math.floor(limit)))
  })
  if (hints) desk.tell(hints)
  return isGone
}

function nothingToPurge(root: EntityId): SluiceError {
  return new SluiceError('not_found', `There is no entity ${root} to purge.`, { id: root })
}

/** Its epoch grows: whoever has decided about it before it was marked, and waits for its lock, is stale. */
async function mark(
  session: Session,
  desk: Desk,
  facts: Facts,
  row: EntityRow,
  parent: EntityId | null,
): Promise<void> {
  const { id } = row
  if (parent !== null) {
    throw new SluiceError(
      'conflict',
      `Entity ${id} is a child of ${parent}; only a root is purged, with all below it.`,
      { id },
    )
  }
  const state = desk.dictionary.text(row.state)
  if (!row.settled) {
    throw new SluiceError(
      'conflict',
      `Entity ${id} is ${state}, which is not settled. Let it end or cancel it first.`,
      {
        id,
      },
    )
  }
  if (facts.purging.has(id)) return
  const { name, version } = desk.dictionary.machineOf(row.machine)
  session.send(
    `WITH marked AS (
       INSERT INTO tombstone (id, machine, version, state, key, data, lanes, created_at)
       SELECT id, $2, $3, $4, key, data, '[]', created_at FROM entity WHERE id = $1 ON CONFLICT (id) DO NOTHING RETURNING id)
     UPDATE entity SET epoch = epoch + 1 WHERE id = (SELECT id FROM marked)`,
    [id, name, version, state],
  )
}

interface Group {
  /** Each of them has nothing below it but what is in the group too. */
  readonly ids: readonly EntityId[]
  /** Nothing is below the root but the group. */
  readonly isLast: boolean
}

async function removeGroup(
  session: Session,
  desk: Desk,
  facts: Facts,
  stock: Stock,
  root: EntityRow,
  limit: number,
): Promise<{ readonly isGone: boolean; readonly hints: ReturnType<Ledger['hints']> }> {
  const chosen = await groupBelow(session, root.id, limit)
  const leaving = chosen.isLast ? [root.id] : []
  await lock(stock, chosen, root)
  inIndexOrder(session)
  // While we waited for the locks somebody may have given one of them a child: it stays until that is gone.
  const ids = await childless(session, chosen.ids)
  const isLast = chosen.isLast && ids.length === chosen.ids.length && !(await hasMore(session, root.id, ids))
  inAnyOrder(session)
  const { ledger } = await decided(
    stock,
    () => new Ledger(desk, facts, stock, { entities: [], stagings: [] }),
    (ledger) => {
      for (const id of ids) remove(ledger, id)
      if (isLast) removeRoot(ledger, root.id)
    },
  )
  if (isLast) bury(session, stock, root.id, facts.now)
  ledger.flush(session)
  removeBelongings(session, facts, stock, isLast ? [...ids, ...leaving] : ids)
  return { isGone: isLast, hints: ledger.hints() }
}

/** Up to `limit` descendants, each after all that is below it. Staged ones are among them. */
async function groupBelow(session: Session, root: EntityId, limit: number): Promise<Group> {
  inIndexOrder(session)
  const levels: { readonly ids: readonly EntityId[]; readonly isWhole: boolean }[] = []
  let parents: readonly EntityId[] = [root]
  for (;;) {
    const rows = await session.all(
      `SELECT child.id FROM unnest($1::int8[]) AS above (id) CROSS JOIN LATERAL (SELECT id FROM lane WHERE parent = above.id) own
       CROSS JOIN LATERAL (SELECT id FROM entity WHERE lane = own.id LIMIT $2) child LIMIT $2`,
      [parents, limit + 1],
    )
    if (rows.length === 0) break
    const ids = rows.slice(0, limit).map(([id]) => id as number)
    levels.push({ ids, isWhole: rows.length <= limit })
    parents = ids
  }
  inAnyOrder(session)
  const chosen: EntityId[] = []
  for (const { ids, isWhole } of levels.reverse()) {
    const room = limit - chosen.length
    chosen.push(...ids.slice(0, room))
    // Above what is not gone as a whole everybody may still have children.
    if (!isWhole || ids.length > room) return { ids: chosen, isLast: false }
  }
  return { ids: chosen, isLast: true }
}

/** Entities by id, pools by name, lanes by id: the order of all locks. */
async function lock(stock: Stock, { ids, isLast }: Group, root: EntityRow): Promise<void> {
  if (ids.length > 0) await stock.loadRows([...ids].sort((one, other) => one - other))
  const rows = [...ids.flatMap((id) => stock.rows.get(id) ?? []), ...(isLast ? [root] : [])]
  const shares = rows.flatMap((row) => sharesToGive(row, row.id !== root.id).map((pool) => ({ pool, entity: row.id })))
  if (shares.length > 0)
    await Promise.all([stock.loadPools([...new Set(shares.map(({ pool }) => pool))]), stock.loadShares(shares)])
  await stock.loadLanes({ parents: isLast ? [...ids, root.id] : ids, ids: isLast ? [root.lane] : [] })
}

/** A purged root's key stays taken, so that the same submission is never run twice. */
function sharesToGive(row: EntityRow, withKey: boolean): readonly string[] {
  const { own = [], lease = [] } = sharesOf(row)
  return [...own, ...lease, ...(withKey && row.key !== null ? [keyPool(row.key)] : [])]
}

/** Those that have nothing below them but what is among them too. */
async function childless(session: Session, ids: readonly EntityId[]): Promise<readonly EntityId[]> {
  let left = ids
  for (;;) {
    if (left.length === 0) return left
    const rows = await session.all(
      `SELECT DISTINCT parent FROM lane WHERE parent = ANY($1::int8[])
       AND (SELECT 1 FROM entity WHERE entity.lane = lane.id AND entity.id <> ALL($1::int8[]) LIMIT 1) IS NOT NULL`,
      [left],
    )
    if (rows.length === 0) return left
    const parents = new Set(rows.map(([parent]) => parent as number))
    left = left.filter((id) => !parents.has(id))
  }
}

async function hasMore(session: Session, root: EntityId, ids: readonly EntityId[]): Promise<boolean> {
  const row = await session.one(
    `SELECT 1 FROM lane WHERE parent = $1
     AND (SELECT 1 FROM entity WHERE entity.lane = lane.id AND entity.id <> ALL($2::int8[]) LIMIT 1) IS NOT NULL LIMIT 1`,
    [root, ids],
  )
  return row !== null
}

/** Lanes keep their figures: they go into the tombstone as they were. */
function remove(ledger: Ledger, id: EntityId): void {
  const row = ledger.row(id)
  if (!row) return
  for (const pool of sharesToGive(row, true)) if (ledger.pools.give(pool, id)) ledger.hint('work')
  ledger.remove(row)
}

function removeRoot(ledger: Ledger, id: EntityId): void {
  const row = ledger.row(id)!
  for (const pool of sharesToGive(row, false)) if (ledger.pools.give(pool, id)) ledger.hint('work')
  ledger.lanes.count(ledger.lanes.byId(row.lane), ledger.figure(row), null)
  ledger.remove(row)
}

function bury(session: Session, stock: Stock, root: EntityId, now: number): void {
  const lanes = (stock.lanesOf.get(root) ?? []).flatMap((id) => stock.lanes.get(id) ?? [])
  const shown = lanes.filter(({ hidden }) => !hidden).map(({ lane }) => lane)
  session.send('UPDATE tombstone SET lanes = $2, purged_at = $3 WHERE id = $1', [root, JSON.stringify(shown), now])
  noteTime(session, now)
}

/**
 * The lanes of those that are gone, and their lines. What a removed source has staged stays unseen until the last of it is removed too: it
 * may lie in a lane of the source's parent, and be a group of its own.
 */
function removeBelongings(session: Session, facts: Facts, stock: Stock, ids: readonly EntityId[]): void {
  const lanes = ids.flatMap((id) => stock.lanesOf.get(id) ?? [])
  if (lanes.length > 0) {
    session.send('DELETE FROM line WHERE lane = ANY($1::int8[])', [lanes])
    session.send('DELETE FROM lane WHERE id = ANY($1::int8[])', [lanes])
  }
  if (facts.stagings.size === 0) return
  const sources = ids.flatMap((id) => [id, stock.rows.get(id)?.source ?? id])
  session.send(
    `DELETE FROM staging WHERE source = ANY($1::int8[]) AND NOT EXISTS (SELECT FROM entity WHERE id = staging.source)
     AND NOT EXISTS (SELECT FROM entity WHERE entity.source = staging.source AND entity.staging = staging.id)`,
    [[...new Set(sources)]],
  )
}
