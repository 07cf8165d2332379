import type { EntityId } from '../../entity.ts'
import type { Session } from './database.ts'
import { allOf, type Condition, Terms } from './term.ts'

/** Ranges of one index whose last column is the id: in each of them rows lie in the order of their ids. */
export interface Reach {
  /** What stands before the id in the index, with its type. */
  readonly columns: readonly (readonly [name: string, type: string])[]
  /** The values of these columns, for each range. */
  readonly ranges: readonly (readonly (string | number)[])[]
  /** What else a row must be. */
  readonly where: readonly Condition[]
}

export interface Section {
  /** Behind this id, and before that one, in the order of the list. */
  readonly from: EntityId
  readonly to: EntityId
  readonly newestFirst: boolean
  readonly limit: number
}

/** What was read of one range so far. */
interface Stream {
  readonly reach: Reach
  readonly range: readonly (string | number)[]
  last: EntityId
  isOpen: boolean
}

/** The fewest rows that are worth asking one of many ranges for. */
const portionMin = 16

/**
 * The first ids of all ranges, merged. Of each range no more is read at first than its share of the page, twice over; where that is not
 * enough, more and more.
 */
export async function idsAlong(
  session: Session,
  reaches: readonly Reach[],
  section: Section,
): Promise<readonly EntityId[]> {
  const { from, newestFirst, limit } = section
  const sign = newestFirst ? -1 : 1
  const streams = reaches.flatMap((reach) =>
    reach.ranges.map((range): Stream => ({ reach, range, last: from, isOpen: true })),
  )
  let found: EntityId[] = []
  let portion =
    streams.length === 1 ? limit : Math.min(limit, Math.max(portionMin, Math.ceil((2 * limit) / streams.length)))
  for (;;) {
    // What lies behind the end of the page is of no use.
    const end = found.length >= limit ? found[limit - 1]! : null
    const wanted = streams.filter(({ isOpen, last }) => isOpen && (end === null || sign * (last - end) < 0))
    if (wanted.length === 0) return found
    const portions = await Promise.all(
      [...Map.groupBy(wanted, ({ reach }) => reach).values()].map((group) => read(session, group, section, portion)),
    )
    found = [...found, ...portions.flat()].sort((one, other) => sign * (one - other)).slice(0, limit)
    portion = Math.min(limit, portion * 4)
  }
}

/**
 * The next ids of these streams. The last column before the id is compared together with it, as one row, and the order names both: then no
 * other index, such as that of the ids alone, gives the order, whatever the server believes of the numbers of rows. The comparison of that
 * column alone ends the range.
 */
async function read(
  session: Session,
  streams: readonly Stream[],
  { to, newestFirst }: Section,
  portion: number,
): Promise<readonly EntityId[]> {
  const { columns, where } = streams[0]!.reach
  const terms = new Terms()
  const numbers = terms.add(streams.map((_, index) => index))
  const begins = terms.add(streams.map(({ last }) => last))
  const given = columns.map(([, type], column) => `${terms.add(streams.map(({ range }) => range[column]!))}::${type}[]`)
  const [end, most] = [terms.add(to), terms.add(portion)]
  const [behind, before, direction] = newestFirst ? ['<', '>', 'DESC'] : ['>', '<', 'ASC']
  const equal = columns.slice(0, -1).map(([name]) => `${name} = along.${name}`)
  const last = columns.at(-1)?.[0]
  const bounds =
    last === undefined
      ? ['id', `id ${behind} along.begins`]
      : [
          `${last} ${direction}, id`,
          `(${last}, id) ${behind} (along.${last}, along.begins) AND ${last} ${before}= along.${last}`,
        ]
  const rows = await session.all(
    `SELECT along.number, entity.id
     FROM unnest(${[`${numbers}::int4[]`, `${begins}::int8[]`, ...given].join(', ')})
       AS along (${['number', 'begins', ...columns.map(([name]) => name)].join(', ')})
     CROSS JOIN LATERAL (
       SELECT id FROM entity
       WHERE ${[...equal, bounds[1], `id ${before} ${end}::int8`, allOf(where, terms)].join(' AND ')}
       ORDER BY ${bounds[0]} ${direction} LIMIT ${most}::int4) entity`,
    terms.values,
  )
  const counts = streams.map(() => 0)
  for (const [number, id] of rows as readonly (readonly [number, number])[]) {
    streams[number]!.last = id
    counts[number]! += 1
  }
  streams.forEach((stream, index) => {
    if (counts[index]! < portion) stream.isOpen = false
  })
  return rows.map(([, id]) => id as number)
}
