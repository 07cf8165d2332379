import type { EntityId } from '../../entity.ts'
import type { MoveRecord } from '../../event.ts'
import type { EventPage, EventQuery } from '../../store.ts'
import type { Change } from './changes.ts'
import type { Session } from './database.ts'
import type { Desk } from './desk.ts'
import { historyOf, recordsOf } from './history.ts'
import { horizon } from './operation.ts'

/**
 * A position is the operation's number times this, plus how far the reader has come within it. What an operation changed is counted in
 * as many strides at most: one change each for most operations, a few for a very large one.
 */
const span = 4_096
/** Operations that are read at once: most have few changes. */
const operationsMax = 100
/** Old operations that one call removes: enough to keep up, few enough not to be felt. */
const prunedMax = 1_000

/** `onBehind` is called if there is more than can be shown yet: somebody looks again soon. */
export function events(desk: Desk, query: EventQuery, onBehind: () => void = () => {}): Promise<EventPage> {
  const limit = Math.max(0, Math.min(Math.floor(query.limit), desk.limits.pageMax))
  if ('entity' in query) {
    return desk.read(async (session) => ({
      moves: await historyOf(session, desk.dictionary, query.entity, query.afterSeq, limit),
      births: [],
      position: 0,
      missed: false,
    }))
  }
  return readFeed(desk, query.after, { limit, onBehind })
}

export interface FeedOptions {
  readonly limit: number
  readonly onBehind: () => void
}

/** The feed of all moves and creations behind a position. */
export async function readFeed(desk: Desk, after: number, { limit, onBehind }: FeedOptions): Promise<EventPage> {
  const bound = await desk.database.single(horizon)
  return desk.read(async (session, facts) => {
    const begin = Math.floor(Math.max(0, Math.min(after, Number.MAX_SAFE_INTEGER)))
    const [ends, first] = await Promise.all([
      endsOf(session, bound, facts.now - desk.limits.operationMs),
      operationsFrom(session, Math.floor(begin / span)),
    ])
    if (ends.isBehind) onBehind()
    // Whoever asks from beyond the end goes on from the end: what comes next is not lost to him.
    const from = Math.min(begin, ends.end * span)
    const missed = from < (ends.gone + 1) * span
    const cursor = new Cursor(session, missed ? (ends.gone + 1) * span : from, ends.horizon)
    if (!missed && from === begin) cursor.offer(first)
    const moves: MoveRecord[] = []
    const births: EntityId[] = []
    for (;;) {
      const found = await cursor.take(limit - moves.length - births.length)
      if (found.length === 0) break
      const shown = await shownOf(session, desk, found)
      moves.push(...shown.moves)
      births.push(...shown.births)
    }
    return { moves, births, position: cursor.position, missed }
  })
}

/** Removes operations that nobody may ask for any more, and notes how far. Says how many there were. */
export function prune(desk: Desk): Promise<number> {
  return desk.write(async (session, { now }) => {
    const row = await session.one(
      `WITH gone AS (
         DELETE FROM operation WHERE at < $1 AND position IN (SELECT position FROM operation ORDER BY position LIMIT ${prunedMax})
         RETURNING position),
       noted AS (
         INSERT INTO counter (name, value) SELECT 'pruned', max(position) FROM gone HAVING count(*) > 0
         ON CONFLICT (name) DO UPDATE SET value = greatest(counter.value, excluded.value))
       SELECT count(*) FROM gone`,
      [now - desk.limits.operationMs],
    )
    return (row?.[0] as number | undefined) ?? 0
  })
}

interface Ends {
  /** Below it every operation is there or never will be. */
  readonly horizon: number
  /** The last operation that is not shown any more. -1: all are. */
  readonly gone: number
  /** Behind the last one that can be shown. */
  readonly end: number
  /** There are some that cannot be shown yet. */
  readonly isBehind: boolean
}

/** Operations count as gone up to the first that is young enough, whether they were removed or not. */
async function endsOf(session: Session, horizon: number, since: number): Promise<Ends> {
  const row = await session.one(
    `WITH bound AS MATERIALIZED (
       SELECT $1::int8 AS horizon, (SELECT position FROM operation WHERE at >= $2 ORDER BY position LIMIT 1) AS oldest)
     SELECT (SELECT value FROM counter WHERE name = 'pruned'), (SELECT max(position) FROM operation),
       (SELECT max(position) FROM operation WHERE position < horizon),
       (SELECT max(position) FROM operation WHERE position < least(oldest, horizon)) FROM bound`,
    [horizon, since],
  )
  const [pruned, last, shown, old] = row as (number | null)[]
  const gone = Math.max(pruned ?? -1, old ?? -1)
  return { horizon, gone, end: Math.max(gone, shown ?? -1) + 1, isBehind: (last ?? -1) >= horizon }
}

interface Operation {
  readonly position: number
  readonly changes: readonly Change[]
}

async function operationsFrom(session: Session, position: number): Promise<readonly Operation[]> {
  const rows = await session.all(
    `SELECT position, changes FROM operation WHERE position >= $1 ORDER BY position LIMIT ${operationsMax}`,
    [position],
  )
  return rows.map(([position, changes]) => ({ position: position as number, changes: JSON.parse(changes as string) }))
}

/** Goes through the operations, so many changes at a time. */
class Cursor {
  readonly #session: Session
  readonly #horizon: number
  #operations: readonly Operation[] | null = null
  #next = 0
  #position: number

  constructor(session: Session, position: number, horizon: number) {
    this.#session = session
    this.#position = position
    this.#horizon = horizon
  }

  get position(): number {
    return this.#position
  }

  /** Operations from this position on, read by somebody else. */
  offer(operations: readonly Operation[]): void {
    this.#operations = operations
  }

  /** Up to `room` changes, and less than a stride more. None: this is the end. */
  async take(room: number): Promise<readonly Change[]> {
    const taken: Change[] = []
    let count = 0
    while (count < room) {
      const operation = await this.#operation()
      if (!operation) break
      const { position, changes } = operation
      const total = changes.reduce((sum, [, , count]) => sum + count, 0)
      const stride = Math.max(1, Math.ceil(total / span))
      const passed = Math.floor(this.#position / span) === position ? (this.#position % span) * stride : 0
      const strides = Math.ceil((room - count) / stride)
      const end = Math.min(total, passed + strides * stride)
      taken.push(...between(changes, passed, end))
      count += Math.max(0, end - passed)
      if (end >= total) {
        this.#position = (position + 1) * span
        this.#next += 1
      } else {
        this.#position = position * span + end / stride
      }
    }
    return taken
  }

  async #operation(): Promise<Operation | null> {
    if (this.#operations && this.#next >= this.#operations.length) {
      if (this.#operations.length < operationsMax) return null
      this.#operations = null
    }
    if (!this.#operations) {
      this.#operations = await operationsFrom(this.#session, Math.floor(this.#position / span))
      this.#next = 0
    }
    const operation = this.#operations[this.#next]
    return operation && operation.position < this.#horizon ? operation : null
  }
}

/** The part of the changes between two counts. */
function between(changes: readonly Change[], from: number, to: number): readonly Change[] {
  let at = 0
  return changes.flatMap(([seq, first, count]): Change[] => {
    const [begin, end] = [Math.max(from, at) - at, Math.min(to, at + count) - at]
    at += count
    return begin < end ? [[seq, first + begin, end - begin]] : []
  })
}

interface Shown {
  readonly moves: readonly MoveRecord[]
  readonly births: readonly EntityId[]
}

/** What was purged since, or staged and dropped, is not there any more. */
async function shownOf(session: Session, desk: Desk, changes: readonly Change[]): Promise<Shown> {
  const made = changes.flatMap(([seq, first, count]) =>
    seq > 0 ? Array.from({ length: count }, (_, index) => ({ entity: first + index, seq })) : [],
  )
  const published = changes.filter(([seq]) => seq === -1)
  const [moves, present] = await Promise.all([
    recordsOf(session, desk.dictionary, made),
    published.length === 0
      ? []
      : session.all(
          `SELECT child.id FROM unnest($1::int8[], $2::int4[]) AS run (first, count)
           CROSS JOIN LATERAL (SELECT id FROM entity WHERE id >= run.first AND id < run.first + run.count) child`,
          [published.map(([, first]) => first), published.map(([, , count]) => count)],
        ),
  ])
  const alive = new Set(present.map(([id]) => id as number))
  const births = changes.flatMap(([seq, first, count]) => {
    if (seq > 0) return []
    const ids = Array.from({ length: count }, (_, index) => first + index)
    return seq === 0 ? ids : ids.filter((id) => alive.has(id))
  })
  return { moves, births }
}
