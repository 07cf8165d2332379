import type { EntityId } from '../../entity.ts'
import type { Filter, MachineStates, Page, SpawnedBy } from '../../store.ts'
import type { Value } from './database.ts'
import type { Ledger } from './ledger.ts'
import { type EntityRow, rowOf, selectRows } from './row.ts'

const selectSpawned = selectRows.replace(
  /FROM entity$/,
  'FROM (SELECT value AS given FROM json_each(?)) CROSS JOIN entity INDEXED BY entity_source ON source = given',
)
/** Beyond so many lanes and states a list reads rows in the order of their ids rather than merging so many ranges. */
const rangesMax = 2_000

interface Condition {
  readonly sql: string
  readonly values: readonly Value[]
}

/** One page by id, in either direction, or by (source, ordinal). */
export function list(ledger: Ledger, filter: Filter): Page {
  return ledger.read(() => {
    const limit = Math.max(0, Math.min(filter.limit, ledger.limits.pageMax))
    const conditions = conditionsOf(ledger, filter)
    if (!conditions || limit === 0) return { entities: [], next: null }
    if (filter.spawnedBy) return spawnedPage(ledger, filter, filter.spawnedBy, conditions, limit)
    const ids = idsOf(ledger, filter, conditions, limit + 1)
    const shown = ids.slice(0, limit)
    const rows = ledger.rows(shown)
    const entities = shown.map((id) => ledger.entity(rows.get(id)!))
    return { entities, next: ids.length > limit ? (shown.at(-1) ?? null) : null }
  })
}

/** All that the filter says but the lane and the state, which may be ranges of an index. Null: nothing can match. */
function conditionsOf(ledger: Ledger, filter: Filter): readonly Condition[] | null {
  const { machine, version, after, upTo, newestFirst, settled, reason, label, anyOf } = filter
  const conditions: Condition[] = [{ sql: '(staging IS NULL OR staging NOT IN (SELECT id FROM staging))', values: [] }]
  if (after !== undefined && !filter.spawnedBy)
    conditions.push({ sql: newestFirst ? 'id < ?' : 'id > ?', values: [after] })
  if (upTo !== undefined) conditions.push({ sql: 'id <= ?', values: [upTo] })
  if (settled !== undefined) conditions.push({ sql: 'settled = ?', values: [settled ? 1 : 0] })
  if (reason !== undefined) conditions.push({ sql: 'reason = ?', values: [reason] })
  if (machine !== undefined || version !== undefined) {
    const machines = machinesOf(ledger, machine, version)
    if (machines.length === 0) return null
    conditions.push({ sql: `machine IN (${machines.map(({ id }) => id).join()})`, values: [] })
  }
  if (anyOf !== undefined) conditions.push(anyOfCondition(ledger, anyOf))
  if (label !== undefined) {
    const condition = labelCondition(ledger, label)
    if (!condition) return null
    conditions.push(condition)
  }
  return conditions
}

function machinesOf(ledger: Ledger, name: string | undefined, version: number | undefined) {
  const rows = ledger.database.all(
    'SELECT id FROM machine WHERE name = coalesce(?, name) AND version = coalesce(?, version)',
    name ?? null,
    version ?? null,
  )
  return rows.map(([id]) => ledger.dictionary.machineOf(id as number))
}

function anyOfCondition(ledger: Ledger, anyOf: readonly MachineStates[]): Condition {
  const parts = anyOf.flatMap(({ machine, version, states }) => {
    const words = wordsOf(ledger, states)
    return machinesOf(ledger, machine, version).map(
      ({ id }) => `(machine = ${id} AND state IN (${words.join() || -1}))`,
    )
  })
  return { sql: parts.length === 0 ? '0' : `(${parts.join(' OR ')})`, values: [] }
}

function wordsOf({ dictionary }: Ledger, states: readonly string[]): readonly number[] {
  return states.flatMap((state) => dictionary.wordIfKnown(state) ?? [])
}

/** A label has its own position in each machine that declares it. */
function labelCondition(ledger: Ledger, { name, value }: { name: string; value: string }): Condition | null {
  const byPosition = Map.groupBy(machinesOf(ledger, undefined, undefined), (machine) =>
    ledger.dictionary.labelNames(machine.name).indexOf(name),
  )
  const parts = [...byPosition].flatMap(([position, machines]) =>
    position < 0
      ? []
      : [
          `(label${position} = ? AND label${position} IS NOT NULL AND machine IN (${machines.map(({ id }) => id).join()}))`,
        ],
  )
  return parts.length === 0 ? null : { sql: `(${parts.join(' OR ')})`, values: parts.map(() => value) }
}

function idsOf(ledger: Ledger, filter: Filter, conditions: readonly Condition[], limit: number): readonly EntityId[] {
  const ranges = filter.parent === undefined && filter.label ? null : rangesOf(ledger, filter)
  if (ranges === null)
    return select(ledger, [...conditions, ...placeConditions(ledger, filter)], filter.newestFirst, limit)
  const sign = filter.newestFirst ? -1 : 1
  return (filter.reason === undefined ? ranges.map(rangeOf) : lanesByReason(ranges))
    .flatMap((range) => select(ledger, [range, ...conditions], filter.newestFirst, limit))
    .sort((one, other) => sign * (one - other))
    .slice(0, limit)
}

function spawnedPage(
  ledger: Ledger,
  filter: Filter,
  by: SpawnedBy,
  conditions: readonly Condition[],
  limit: number,
): Page {
  const rows = spawned(ledger, by, [...conditions, ...placeConditions(ledger, filter)], limit + 1)
  const entities = rows.slice(0, limit).map((row) => ledger.entity(row))
  return { entities, next: rows.length > limit ? (entities.at(-1)?.id ?? null) : null }
}

/**
 * One source after another, each a range of the index, and no further than the page: the join is driven by the sources as they are
 * given, so it needs no sorting, for which all that a source has spawned would be read first.
 */
function spawned(
  { database }: Ledger,
  { sources, after }: SpawnedBy,
  conditions: readonly Condition[],
  limit: number,
): readonly EntityRow[] {
  const where = conditions.map(({ sql }) => sql).join(' AND ')
  const values = conditions.flatMap(({ values }) => values)
  const select = (sql: string, ...given: Value[]) =>
    database.all(sql, ...given, ...values, limit).map((row) => rowOf(row))
  const ordered = [...new Set(sources)].sort((one, other) => one - other)
  const begun = after && ordered.includes(after.source) ? after : null
  // The source in which the page before ended goes on behind its last one.
  const rest = begun
    ? select(
        `${selectRows} INDEXED BY entity_source WHERE source = ? AND ordinal > ? AND ${where} ORDER BY ordinal LIMIT ?`,
        begun.source,
        begun.ordinal,
      )
    : []
  const others = after ? ordered.filter((source) => source > after.source) : ordered
  if (rest.length >= limit || others.length === 0) return rest
  const more = select(
    `${selectSpawned}
     WHERE ${where} LIMIT ?`,
    JSON.stringify(others),
  )
  return [...rest, ...more].slice(0, limit)
}

function rangeOf({ lane, state }: { lane: number; state: number }): Condition {
  return { sql: 'lane = ? AND state = ?', values: [lane, state] }
}

/** What carries a reason has an index of its own; the plus keeps the other index, by state, from being taken for these few. */
function lanesByReason(ranges: readonly { lane: number; state: number }[]): readonly Condition[] {
  return [...Map.groupBy(ranges, ({ lane }) => lane)].map(([lane, group]) => ({
    sql: `reason IS NOT NULL AND lane = ? AND +state IN (${group.map(({ state }) => state).join()})`,
    values: [lane],
  }))
}

function select(
  ledger: Ledger,
  conditions: readonly Condition[],
  newestFirst: boolean | undefined,
  limit: number,
): readonly EntityId[] {
  const where = conditions.map(({ sql }) => sql).join(' AND ')
  const sql = `SELECT id FROM entity WHERE ${where} ORDER BY id ${newestFirst ? 'DESC' : 'ASC'} LIMIT ?`
  const rows = ledger.database.all(sql, ...conditions.flatMap(({ values }) => values), limit)
  return rows.map(([id]) => id as number)
}

/** The ranges of the index by lane and state in which all matches lie. Null: there are too many, or it may be anything. */
function rangesOf(ledger: Ledger, filter: Filter): readonly { lane: number; state: number }[] | null {
  const { parent, lane, machine, version, states } = filter
  if (parent === undefined && machine === undefined && lane === undefined) return null
  const { sql, values } = laneCondition(ledger, filter)
  const rows = ledger.database.all(
    `SELECT id, counts FROM lane WHERE ${sql} AND hidden = 0 AND total > 0 LIMIT ${rangesMax + 1}`,
    ...values,
  )
  const ranges = rows.flatMap(([id, counts]) => {
    const present = Object.keys(JSON.parse(counts as string))
    const wanted = states === undefined ? present : present.filter((state) => states.includes(state))
    return wanted.map((state) => ({ lane: id as number, state: ledger.dictionary.wordIfKnown(state) ?? 0 }))
  })
  const isSure = parent !== undefined || lane !== undefined || machine !== undefined || version !== undefined
  return isSure && ranges.length <= rangesMax ? ranges : null
}

function laneCondition(ledger: Ledger, { parent, lane, machine, version }: Filter): Condition {
  const parts: Condition[] = []
  if (parent !== undefined) parts.push({ sql: 'parent IS ?', values: [parent] })
  if (lane !== undefined) parts.push({ sql: 'name = ?', values: [lane] })
  // A lane is of the machine of its first child; under a parent any lane may be meant.
  if (parent === undefined && (machine !== undefined || version !== undefined)) {
    const machines = machinesOf(ledger, machine, version)
    parts.push({ sql: `machine IN (${machines.map(({ id }) => id).join()})`, values: [] })
  }
  return { sql: parts.map((part) => part.sql).join(' AND '), values: parts.flatMap((part) => part.values) }
}

/** The lane and the states, where rows are read in the order of their ids. */
function placeConditions(ledger: Ledger, { parent, lane, states }: Filter): readonly Condition[] {
  const conditions: Condition[] = []
  if (parent !== undefined || lane !== undefined) {
    const { sql, values } = laneCondition(ledger, {
      ...(parent !== undefined && { parent }),
      ...(lane !== undefined && { lane }),
      limit: 0,
    })
    conditions.push({ sql: `lane IN (SELECT id FROM lane WHERE ${sql})`, values })
  }
  if (states !== undefined) {
    conditions.push({ sql: `state IN (${wordsOf(ledger, states).join() || -1})`, values: [] })
  }
  return conditions
}
