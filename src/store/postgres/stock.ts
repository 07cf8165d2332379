import type { EntityId } from '../../entity.ts'
import { keyPool } from '../../pool.ts'
import type { Row, Session } from './database.ts'
import type { Dictionary } from './dictionary.ts'
import { type LaneColumns, laneColumns, laneOf, standings } from './lane-row.ts'
import { type Line, lineColumns, lineOf } from './line.ts'
import type { LaneName, Need, NewLine, ShareName } from './need.ts'
import { type EntityRow, rowColumnsWithoutData, rowOf, waits } from './row.ts'
import { type Staging, stagingOf } from './staging.ts'

export interface PoolColumns {
  readonly ceiling: number
  readonly taken: number
  readonly turns: number
}

/** How many holders an answer names: enough for a person to know whom to ask. */
export const holdersMax = 10
const keyPrefix = keyPool('')

/** In the order of locks; written so that the planner does not read all ids in their order for it. */
export const byId = 'ORDER BY id + 0 FOR UPDATE'

/**
 * What one transaction has read, each row under a lock of its own. The order of locks is the same everywhere: entities by id, pools by
 * name, lanes by id. Where a decision asks for something late and two transactions meet, the server undoes one of them, which is done again.
 */
export class Stock {
  readonly rows = new Map<EntityId, EntityRow | null>()
  readonly lanes = new Map<number, LaneColumns>()
  readonly laneIds = new Map<string, number | null>()
  readonly lanesOf = new Map<EntityId, readonly number[]>()
  readonly linesOf = new Map<number, Line[]>()
  readonly lines = new Map<string, Line>()
  readonly children = new Map<string, EntityId | null>()
  readonly surpluses = new Map<string, readonly EntityId[]>()
  readonly stagings = new Map<EntityId, Staging | null>()
  readonly pools = new Map<string, PoolColumns | null>()
  readonly shares = new Map<string, number | null>()
  readonly holders = new Map<string, readonly { readonly entity: EntityId; readonly amount: number }[]>()
  readonly #session: Session
  readonly #dictionary: Dictionary

  constructor(session: Session, dictionary: Dictionary) {
    this.#session = session
    this.#dictionary = dictionary
  }

  async load(need: Need): Promise<void> {
    switch (need.kind) {
      case 'rows':
        return this.loadRows(need.ids)
      case 'lanes':
        return this.loadLanes({ ids: need.ids })
      case 'lanesOf':
        return this.loadLanes({ parents: need.parents })
      case 'lanesNamed':
        return this.loadLanes({ names: need.lanes })
      case 'lane':
        return this.#makeLane(need.lane, need.hidden)
      case 'linesOf':
        return this.loadLines(need.lanes)
      case 'line':
        return this.#makeLine(need.line)
      case 'children':
        return this.loadChildren(need.source, need.ordinals)
      case 'surplus':
        return this.#loadSurplus(need.source, need.from, need.staging)
      case 'staging':
        return this.loadStagings([need.source])
      case 'pools':
        return this.loadPools(need.names)
      case 'shares':
        return this.loadShares(need.shares)
      case 'holders':
        return this.loadHolders([need.pool])
      default:
        return need satisfies never
    }
  }

  async loadRows(ids: readonly EntityId[]): Promise<void> {
    const found = await this.#session.all(
      `SELECT ${rowColumnsWithoutData} FROM entity WHERE id = ANY($1::int8[]) ORDER BY id FOR UPDATE`,
      [ids],
    )
    for (const id of ids) if (!this.rows.has(id)) this.rows.set(id, null)
    this.#keepRows(found)
  }

  async loadChildren(source: EntityId, ordinals: readonly number[]): Promise<void> {
    const [low, high] = [Math.min(...ordinals), Math.max(...ordinals)]
    const select = `SELECT ${rowColumnsWithoutData} FROM entity WHERE source = $1`
    // Most come one after another: a short range of the index. Others are looked up one by one.
    const found =
      high - low < ordinals.length * 2
        ? await this.#session.all(`${select} AND ordinal >= $2 AND ordinal <= $3 ${byId}`, [source, low, high])
        : await this.#session.all(
            `SELECT child.* FROM unnest($2::int8[]) AS wanted (number)
             CROSS JOIN LATERAL (${select} AND ordinal = wanted.number FOR UPDATE) child`,
            [source, ordinals],
          )
    for (const ordinal of ordinals) this.children.set(`${source}/${ordinal}`, null)
    for (const { id, ordinal } of this.#keepRows(found)) this.children.set(`${source}/${ordinal}`, id)
  }

  async #loadSurplus(source: EntityId, from: number, staging: number): Promise<void> {
    const found = await this.#session.all(
      `SELECT ${rowColumnsWithoutData} FROM entity WHERE source = $1 AND ordinal >= $2 AND staging = $3 ${byId}`,
      [source, from, staging],
    )
    this.surpluses.set(
      `${source}/${from}`,
      this.#keepRows(found).map(({ id }) => id),
    )
  }

  /** Lanes by id, all of some parents, and those of these names. */
  async loadLanes({
    ids = [],
    parents = [],
    names = [],
  }: {
    readonly ids?: readonly number[]
    readonly parents?: readonly EntityId[]
    readonly names?: readonly LaneName[]
  }): Promise<void> {
    const found = await this.#askLanes(ids, parents, names)
    const own = new Map<EntityId, number[]>(parents.map((parent) => [parent, []]))
    for (const { parent, name } of names) {
      const key = laneKey(parent, name)
      if (!this.laneIds.has(key)) this.laneIds.set(key, null)
    }
    const lanes = found.map((row) => laneOf(row, this.#dictionary))
    for (const lane of lanes) {
      this.keepLane(lane)
      if (lane.lane.parent !== null) own.get(lane.lane.parent)?.push(lane.id)
    }
    for (const [parent, lanes] of own) {
      lanes.sort((one, other) => (this.lanes.get(one)!.lane.name < this.lanes.get(other)!.lane.name ? -1 : 1))
      this.lanesOf.set(parent, lanes)
    }
  }

  #askLanes(ids: readonly number[], parents: readonly EntityId[], names: readonly LaneName[]): Promise<readonly Row[]> {
    // Most ask for lanes of roots only: a shorter statement.
    if (ids.length === 0 && parents.length === 0 && names.every(({ parent }) => parent === null)) {
      return this.#session.all(
        `SELECT ${laneColumns} FROM lane WHERE parent IS NULL AND name = ANY($1::text[]) ${byId}`,
        [names.map(({ name }) => name)],
      )
    }
    return this.#session.all(
      `SELECT ${laneColumns} FROM lane WHERE id IN (
         SELECT unnest($1::int8[]) UNION SELECT id FROM lane WHERE parent = ANY($2::int8[])
         UNION SELECT own.id FROM unnest($3::int8[], $4::text[]) AS named (parent, name)
           CROSS JOIN LATERAL (SELECT id FROM lane WHERE lane.parent = named.parent AND lane.name = named.name) own
         UNION SELECT id FROM lane WHERE parent IS NULL AND name = ANY($5::text[]))
       ORDER BY id FOR UPDATE`,
      [
        ids,
        parents,
        names.flatMap(({ parent }) => parent ?? []),
        names.flatMap(({ parent, name }) => (parent === null ? [] : [name])),
        names.flatMap(({ parent, name }) => (parent === null ? [name] : [])),
      ],
    )
  }

  async loadLines(lanes: readonly number[]): Promise<void> {
    const found = await this.#session.all(`SELECT ${lineColumns} FROM line WHERE lane = ANY($1::int8[]) ORDER BY id`, [
      lanes,
    ])
    for (const lane of lanes) this.linesOf.set(lane, [])
    for (const row of found) this.#keepLine(lineOf(row))
  }

  async loadStagings(sources: readonly EntityId[]): Promise<void> {
    const found = await this.#session.all(
      'SELECT id, source, births, lanes FROM staging WHERE source = ANY($1::int8[]) FOR UPDATE',
      [sources],
    )
    for (const source of sources) this.stagings.set(source, null)
    for (const row of found) {
      const staging = stagingOf(row)
      this.stagings.set(staging.source, staging)
    }
  }

  /** A pool that is not there cannot be locked, so it is made first; keys have no row of their own. */
  async loadPools(names: readonly string[]): Promise<void> {
    const pools = names.filter((name) => !name.startsWith(keyPrefix)).sort()
    const keys = names.filter((name) => name.startsWith(keyPrefix))
    if (pools.length > 0) {
      this.#session.send(
        `INSERT INTO pool (name, ceiling, taken, turns)
         SELECT name, 0, 0, 0 FROM unnest($1::text[]) name WHERE NOT EXISTS (SELECT FROM pool WHERE pool.name = name.name)
         ORDER BY name ON CONFLICT DO NOTHING`,
        [pools],
      )
      const found = await this.#session.all(
        'SELECT name, ceiling, taken, turns FROM pool WHERE name = ANY($1::text[]) ORDER BY name FOR UPDATE',
        [pools],
      )
      for (const [name, ceiling, taken, turns] of found as [string, number, number, number][])
        this.pools.set(name, turns === 0 && taken === 0 ? null : { ceiling, taken, turns })
    }
    if (keys.length === 0) return
    const found = await this.#session.all(
      'SELECT pool, sum(amount) FROM pool_share WHERE pool = ANY($1::text[]) GROUP BY pool',
      [keys],
    )
    for (const key of keys) this.pools.set(key, null)
    for (const [name, taken] of found as [string, number][]) this.pools.set(name, { ceiling: 1, taken, turns: 0 })
  }

  async loadShares(shares: readonly ShareName[]): Promise<void> {
    const found = await this.#session.all(
      `SELECT pool, entity, amount FROM pool_share
       WHERE (pool, entity) IN (SELECT * FROM unnest($1::text[], $2::int8[]))`,
      [shares.map(({ pool }) => pool), shares.map(({ entity }) => entity)],
    )
    for (const share of shares) this.shares.set(shareKey(share.pool, share.entity), null)
    for (const [pool, entity, amount] of found as [string, number, number][])
      this.shares.set(shareKey(pool, entity), amount)
  }

  async loadHolders(names: readonly string[]): Promise<void> {
    const found = await this.#session.all(
      `SELECT name, entity, amount FROM unnest($1::text[]) name
       CROSS JOIN LATERAL (SELECT entity, amount, turn FROM pool_share WHERE pool = name ORDER BY turn, entity LIMIT ${holdersMax}) held
       ORDER BY name, turn, entity`,
      [names],
    )
    for (const name of names) this.holders.set(name, [])
    for (const [name, holders] of Map.groupBy(found as [string, number, number][], ([name]) => name))
      this.holders.set(
        name,
        holders.map(([, entity, amount]) => ({ entity, amount })),
      )
  }

  /** With its parent's standing order. The parent is locked, so that it gives no other order before the lane is there. */
  async #makeLane({ parent, name }: LaneName, hidden: boolean): Promise<void> {
    let [standing, awaited] = [0, false]
    if (parent !== null) {
      const row = await this.#session.one('SELECT standing, wait, settled FROM entity WHERE id = $1 FOR SHARE', [
        parent,
      ])
      if (row) [standing, awaited] = [row[0] as number, row[1] === waits.children && row[2] === false]
      else standing = standings.length
    }
    await this.#session.all(
      `INSERT INTO lane (parent, name, counts, total, open, reasons, sums, wake, seen, watches, entered, gate, status, awaited, hidden)
       VALUES ($1, $2, '{}', 0, 0, '{}', '{}', 0, 0, '[]', '[]', 'shut', $3, $4, $5) ON CONFLICT DO NOTHING`,
      [parent, name, standings[standing] ?? 'stopped', awaited, hidden],
    )
    if (parent !== null) this.lanesOf.delete(parent)
    await this.loadLanes({ names: [{ parent, name }] })
  }

  async #makeLine(line: NewLine): Promise<void> {
    await this.#session.all(
      `INSERT INTO line (name, kind, suspect, machine, state, edge, lane, gated, staging, hold, holdable, pool, shut, idle)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT (name) DO NOTHING`,
      [
        ...[line.name, line.kind, line.suspect, line.machine, line.state, line.edge, line.lane, line.gated],
        ...[line.staging, line.hold, line.holdable, line.pool, line.shut, line.idle],
      ],
    )
    // Who enters a line that is not of a lane locks it, so that nobody calls it empty meanwhile.
    const row = await this.#session.one(`SELECT ${lineColumns} FROM line WHERE name = $1 FOR UPDATE`, [line.name])
    this.#keepLine(lineOf(row!))
  }

  #keepRows(found: readonly Row[]): readonly EntityRow[] {
    return found.map((values) => {
      const row = rowOf(values)
      if (!this.rows.get(row.id)) this.rows.set(row.id, row)
      return row
    })
  }

  /** One that was read under its lock. */
  keepLane(lane: LaneColumns): void {
    if (!this.lanes.has(lane.id)) this.lanes.set(lane.id, lane)
    this.laneIds.set(laneKey(lane.lane.parent, lane.lane.name), lane.id)
  }

  #keepLine(line: Line): void {
    this.lines.set(line.name, line)
    if (line.lane === null) return
    const own = this.linesOf.get(line.lane)
    if (own && !own.some(({ id }) => id === line.id)) own.push(line)
  }
}

export function laneKey(parent: EntityId | null, name: string): string {
  return `${parent ?? ''}/${name}`
}

export function shareKey(pool: string, entity: EntityId): string {
  return `${pool}\n${entity}`
}
