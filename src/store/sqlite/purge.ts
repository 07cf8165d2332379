import type { EntityId } from '../../entity.ts'
import { SluiceError } from '../../errors.ts'
import type { Tombstone } from '../../store.ts'
import type { Ledger } from './ledger.ts'
import { removeRows } from './removal.ts'
import { type EntityRow, rowOf, selectRows, selectRowsWithoutData } from './row.ts'

/**
 * Removes a settled root and all below it, in groups. The root is marked first: from then on nothing of its tree is
 * claimed or committed, so that no half-purged tree comes to life again. True: all is gone.
 */
export function purge(ledger: Ledger, root: EntityId, limit: number): boolean {
  return ledger.write((now) => {
    const { database } = ledger
    const values = database.get(`${selectRows} WHERE id = ?`, root)
    if (!values || ledger.stagings.isOpen(rowOf(values).staging)) {
      if (database.get('SELECT 1 FROM tombstone WHERE id = ?', root)) return true
      throw new SluiceError('not_found', `There is no entity ${root} to purge.`, { id: root })
    }
    const row = rowOf(values)
    mark(ledger, row)
    const group = deepestFirst(ledger, root, Math.max(1, limit))
    // Lanes keep their figures: they go into the tombstone as they were.
    removeRows(ledger, group)
    for (const { id } of group) removeLanes(ledger, id)
    closeStagings(ledger, group)
    if (group.length >= Math.max(1, limit) && firstBelow(ledger, root)) return false
    bury(ledger, row, now)
    return true
  })
}

export function tombstones(ledger: Ledger, ids: readonly EntityId[]): readonly (Tombstone | null)[] {
  return ledger.read(() =>
    ids.map((id) => {
      const row = ledger.database.get(
        'SELECT machine, version, state, key, data, lanes, created_at, purged_at FROM tombstone WHERE id = ? AND purged_at IS NOT NULL',
        id,
      )
      if (!row) return null
      const [machine, version, state, key, data, lanes, createdAt, purgedAt] = row
      return {
        id,
        machine: machine as string,
        version: version as number,
        state: state as string,
        key: key as string | null,
        data: data as string,
        lanes: JSON.parse(lanes as string),
        createdAt: createdAt as number,
        purgedAt: purgedAt as number,
      }
    }),
  )
}

function mark(ledger: Ledger, row: EntityRow): void {
  const { parent } = ledger.lanes.byId(row.lane).lane
  if (parent !== null) {
    throw new SluiceError(
      'conflict',
      `Entity ${row.id} is a child of ${parent}; only a root is purged, with all below it.`,
      { id: row.id },
    )
  }
  const state = ledger.dictionary.text(row.state)
  if (row.settled === 0) {
    throw new SluiceError(
      'conflict',
      `Entity ${row.id} is ${state}, which is not settled. Let it end or cancel it first.`,
      { id: row.id },
    )
  }
  if (ledger.purging().has(row.id)) return
  const { name, version } = ledger.dictionary.machineOf(row.machine)
  ledger.database.run(
    'INSERT INTO tombstone (id, machine, version, state, key, data, lanes, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    row.id,
    name,
    version,
    state,
    row.key,
    row.data,
    '[]',
    row.createdAt,
  )
  ledger.forgetPurging()
}

/** Up to `limit` descendants, each after all that is below it. Staged ones are among them. */
function deepestFirst(ledger: Ledger, parent: EntityId, limit: number): readonly EntityRow[] {
  const { database } = ledger
  const children = firstChildren(ledger, parent, limit)
  const ids = JSON.stringify(children.map(({ id }) => id))
  const parents = database.all('SELECT DISTINCT parent FROM lane WHERE parent IN (SELECT value FROM json_each(?))', ids)
  const withLanes = new Set(parents.map(([id]) => id as number))
  const found: EntityRow[] = []
  for (const child of children) {
    if (found.length >= limit) break
    if (withLanes.has(child.id)) found.push(...deepestFirst(ledger, child.id, limit - found.length))
    if (found.length < limit) found.push(child)
  }
  return found
}

/** The first by id, found in the index by lane and state: one short range for each. */
function firstChildren(ledger: Ledger, parent: EntityId, limit: number): readonly EntityRow[] {
  const { database } = ledger
  const ids: EntityId[] = []
  for (const [lane] of database.all('SELECT id FROM lane WHERE parent = ?', parent)) {
    let state = database.number('SELECT min(state) FROM entity WHERE lane = ?', lane as number)
    while (state !== null) {
      const rows = database.all(
        'SELECT id FROM entity WHERE lane = ? AND state = ? ORDER BY id LIMIT ?',
        lane as number,
        state,
        limit,
      )
      for (const [id] of rows) ids.push(id as number)
      state = database.number('SELECT min(state) FROM entity WHERE lane = ? AND state > ?', lane as number, state)
    }
  }
  const first = JSON.stringify(ids.sort((one, other) => one - other).slice(0, limit))
  return database
    .all(`${selectRowsWithoutData} WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id`, first)
    .map(rowOf)
}

function firstBelow(ledger: Ledger, root: EntityId): boolean {
  return (
    ledger.database.get('SELECT 1 FROM entity WHERE lane IN (SELECT id FROM lane WHERE parent = ?) LIMIT 1', root) !==
    undefined
  )
}

function removeLanes(ledger: Ledger, parent: EntityId): void {
  for (const { id } of ledger.lanes.of(parent)) ledger.lines.removeOf(id)
  ledger.lanes.removeOf(parent)
}

/**
 * What a removed source has staged stays unseen until the last of it is removed too: it may lie in a lane of the source's
 * parent, and be a group of its own.
 */
function closeStagings(ledger: Ledger, group: readonly EntityRow[]): void {
  const { database, stagings } = ledger
  if (stagings.open().size === 0) return
  const sources = new Set(
    group.flatMap((row) => (stagings.isOpen(row.staging) ? [row.id, row.source ?? row.id] : [row.id])),
  )
  for (const source of sources) {
    const staging = stagings.of(source)
    if (!staging || database.get('SELECT 1 FROM entity WHERE id = ?', source)) continue
    if (database.get('SELECT 1 FROM entity WHERE source = ? AND staging = ? LIMIT 1', source, staging.id)) continue
    stagings.close(staging)
  }
}

function bury(ledger: Ledger, row: EntityRow, now: number): void {
  const { database, lanes } = ledger
  const text = JSON.stringify(lanes.shown(row.id))
  const lane = lanes.byId(row.lane)
  const figure = ledger.figure(row)
  database.run('UPDATE tombstone SET lanes = ?, purged_at = ? WHERE id = ?', text, now, row.id)
  removeRows(ledger, [row])
  removeLanes(ledger, row.id)
  closeStagings(ledger, [row])
  lanes.count(lane, figure, null)
  ledger.noteTime(now)
  ledger.forgetPurging()
}
