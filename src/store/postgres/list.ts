import type { EntityId } from '../../entity.ts'
import type { Filter, Page, SpawnedBy } from '../../store.ts'
import type { Session } from './database.ts'
import type { Desk } from './desk.ts'
import { Conditions, labelReaches } from './list-condition.ts'
import { idsAlong, type Reach } from './reach.ts'
import { entitiesOf, idsIn, inIndexOrder } from './reading.ts'
import { allOf, Terms } from './term.ts'

/** Beyond so many lanes and states a list reads rows in the order of their ids rather than merging so many ranges. */
const rangesMax = 2_000
/** Lanes that are looked through for those that have what is asked for. */
const lanesMax = 20_000

const nothing: Page = { entities: [], next: null }

/** One page by id, in either direction, or by (source, ordinal). */
export async function list(desk: Desk, filter: Filter): Promise<Page> {
  const limit = Math.max(0, Math.min(Math.floor(filter.limit), desk.limits.pageMax))
  if (limit === 0 || !isPossible(filter)) return nothing
  return desk.read(async (session, facts) => {
    inIndexOrder(session)
    const ids = filter.spawnedBy
      ? await spawned(session, desk, filter, filter.spawnedBy, limit + 1)
      : await idsOf(session, desk, filter, limit + 1)
    const shown = ids.slice(0, limit)
    const found = await entitiesOf(session, desk, facts, shown)
    const entities = shown.flatMap((id) => found.get(id) ?? [])
    return { entities, next: ids.length > limit ? (shown.at(-1) ?? null) : null }
  })
}

/** Texts with NUL, and numbers that are none, are nowhere in the tables; the server would refuse to look. */
function isPossible({ machine, version, states, parent, lane, label, reason }: Filter): boolean {
  const texts = [machine, lane, reason, label?.name, label?.value]
  if (texts.some((text) => text?.includes('\u0000'))) return false
  if (states?.every((state) => state.includes('\u0000'))) return false
  if (version !== undefined && !(Number.isInteger(version) && Math.abs(version) < 2 ** 31)) return false
  return parent === undefined || parent === null || Number.isSafeInteger(parent)
}

async function idsOf(session: Session, desk: Desk, filter: Filter, limit: number): Promise<readonly EntityId[]> {
  const reaches = await reachesOf(session, desk, filter)
  const { after, upTo = Number.MAX_SAFE_INTEGER, newestFirst = false } = filter
  // Both ends are left out: the page lies between them.
  const high = Math.min(Math.floor(upTo), Number.MAX_SAFE_INTEGER - 1) + 1
  const bounds = newestFirst
    ? { from: Math.min(high, Math.ceil(after ?? high)), to: 0 }
    : { from: Math.max(0, Math.floor(after ?? 0)), to: high }
  return idsAlong(session, reaches, { ...bounds, newestFirst, limit })
}

/** Where all matches lie. */
async function reachesOf(session: Session, desk: Desk, filter: Filter): Promise<readonly Reach[]> {
  const conditions = new Conditions(desk.dictionary, filter)
  if (filter.parent === undefined && filter.label) {
    return labelReaches(desk.dictionary, filter.label, [...conditions.own(), ...conditions.place()])
  }
  const ranges = await rangesOf(session, desk, filter)
  if (ranges === null) {
    const isNowhere = filter.states !== undefined && (await isUnknown(session, desk, filter.states))
    const where = [...conditions.own(), ...conditions.label(), ...conditions.reason(), ...conditions.place()]
    return isNowhere ? [] : [{ columns: [], ranges: [[]], where }]
  }
  const where = [...conditions.own(), ...conditions.label()]
  const lane = ['lane', 'int8'] as const
  // What carries a reason has an index of its own.
  return filter.reason === undefined
    ? [{ columns: [lane, ['state', 'int4']], ranges, where }]
    : [
        {
          columns: [lane, ['reason', 'text']],
          ranges,
          where: [...where, ...conditions.states(), () => 'reason IS NOT NULL'],
        },
      ]
}

/** A state that was never written is nobody's. Another process may have written it just now. */
async function isUnknown(session: Session, { dictionary }: Desk, states: readonly string[]): Promise<boolean> {
  if (states.some((state) => dictionary.wordIfKnown(state) !== null)) return false
  const texts = states.filter((state) => !state.includes('\u0000'))
  return (await session.one('SELECT 1 FROM word WHERE text = ANY($1::text[]) LIMIT 1', [texts])) === null
}

/** The ranges, by lane and state or by lane and reason, in which all matches lie. Null: there are too many, or it may be anything. */
async function rangesOf(session: Session, desk: Desk, filter: Filter): Promise<Reach['ranges'] | null> {
  const { parent, lane, machine, states, reason } = filter
  if (parent === undefined && machine === undefined && lane === undefined && !states && reason === undefined)
    return null
  const looked = states || reason !== undefined ? lanesMax : rangesMax
  const [condition, values] = laneCondition(filter)
  const rows = await session.all(
    `SELECT id, counts, reasons FROM lane WHERE ${condition} AND NOT hidden AND total > 0 LIMIT ${looked + 1}`,
    values,
  )
  if (rows.length > looked) return null
  const ranges = rows.flatMap(([id, counts, reasons]): Reach['ranges'] => {
    const lane = id as number
    if (reason !== undefined) return Object.hasOwn(JSON.parse(reasons as string), reason) ? [[lane, reason]] : []
    const present = Object.keys(JSON.parse(counts as string))
    const wanted = states === undefined ? present : present.filter((state) => states.includes(state))
    return wanted.map((state) => [lane, desk.dictionary.word(state)])
  })
  return ranges.length <= rangesMax ? ranges : null
}

/** A lane is of the machine of its first child; under a parent any lane may be meant. */
function laneCondition({ parent, lane, machine, version }: Filter): [string, (string | number | null)[]] {
  if (parent === null) return lane === undefined ? ['parent IS NULL', []] : ['parent IS NULL AND name = $1', [lane]]
  if (parent !== undefined) {
    return lane === undefined ? ['parent = $1', [parent]] : ['parent = $1 AND name = $2', [parent, lane]]
  }
  if (machine === undefined && version === undefined && lane === undefined) return ['true', []]
  const ofMachine = `machine = ANY(ARRAY(
    SELECT id FROM machine WHERE name = coalesce($1::text, name) AND version = coalesce($2::int4, version)))`
  const values = [machine ?? null, version ?? null]
  return lane === undefined ? [ofMachine, values] : [`${ofMachine} AND name = $3`, [...values, lane]]
}

/**
 * One source after another, each a range of the index, and no further than the page: the join is driven by the sources as they are
 * given, so it needs no sorting, for which all that a source has spawned would be read first.
 */
async function spawned(
  session: Session,
  desk: Desk,
  filter: Filter,
  { sources, after }: SpawnedBy,
  limit: number,
): Promise<readonly EntityId[]> {
  const conditions = new Conditions(desk.dictionary, filter)
  const ordered = idsIn(sources)
    .filter((source) => !after || source >= after.source)
    .sort((one, other) => one - other)
  const begins = ordered.map((source) =>
    after?.source === source ? Math.floor(after.ordinal) : Number.MIN_SAFE_INTEGER,
  )
  const where = [
    ...conditions.own(),
    ...conditions.label(),
    ...conditions.reason(),
    ...conditions.place(),
    ...conditions.upTo(),
  ]
  const terms = new Terms()
  const [given, behind] = [terms.add(ordered), terms.add(begins)]
  const most = terms.add(limit)
  const rows = await session.all(
    `SELECT child.id FROM unnest(${given}::int8[], ${behind}::int8[]) AS by (source, ordinal)
     CROSS JOIN LATERAL (
       SELECT id FROM entity WHERE source IS NOT NULL AND (source, ordinal) > (by.source, by.ordinal)
       AND source <= by.source AND ${allOf(where, terms)}
       ORDER BY source, ordinal LIMIT ${most}::int4) child
     LIMIT ${most}::int4`,
    terms.values,
  )
  return rows.map(([id]) => id as number)
}
