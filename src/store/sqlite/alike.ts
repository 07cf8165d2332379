import type { ChildBirth, Move } from '../../store.ts'
import { Brood, spawnedBefore } from './brood.ts'
import { idSet } from './id-set.ts'
import type { Ledger } from './ledger.ts'
import { place } from './placing.ts'
import { type EntityRow, isRun, textOfMore, waitAt, waitCode, waits } from './row.ts'
import { actorText } from './row-writing.ts'

/** How a set of alike moves changes its rows: everything but their ids. */
interface Shape {
  readonly by: Move['by']
  readonly state: number
  readonly settled: number
  readonly generation: number
  readonly wait: number
  readonly at: number | null
  readonly attempts: Move['attempts']
  readonly line: number | null
  readonly plan: number | null
  readonly path: number
  readonly actor: string | null
  readonly spawned: number
}

/**
 * Moves of a commit that do the same to their rows and nothing else (most do: `done`, without new data) are written
 * together, as two statements for all of them; if one is refused, the whole commit is undone (`OR ROLLBACK`). Order among them does not matter: each entity stands once in a commit.
 */
export class Alike {
  readonly #ledger: Ledger
  readonly #now: number
  #shape: Shape | null = null
  #ids: number[] = []
  /** Those that have something of their own. */
  #own: Own[] = []
  readonly #brood: Brood
  readonly #spawnedBefore: ReadonlySet<number>

  constructor(ledger: Ledger, moves: readonly Move[], now: number) {
    this.#ledger = ledger
    this.#now = now
    this.#brood = new Brood(ledger, now)
    this.#spawnedBefore = spawnedBefore(ledger, moves)
  }

  /** False: the move does more than that, and is applied by itself. */
  add(row: EntityRow, move: Move): boolean {
    if (!isPlainRow(row) || !isPlainMove(move) || this.#spawnedBefore.has(row.id)) return false
    const { lanes, feed } = this.#ledger
    const lane = lanes.byId(row.lane)
    if (move.by === 'outside' && row.line !== null && row.line < 0) this.#ledger.hint('ended')
    const before = this.#ledger.figure(row)
    const shape = this.#shapeOf(row, move)
    if (!this.#shape || !isSame(this.#shape, shape)) this.#write()
    this.#shape ??= shape
    this.#ids.push(row.id)
    row.sums = move.sums ? JSON.stringify(move.sums) : null
    if (move.data !== null || row.sums !== null) this.#own.push({ id: row.id, data: move.data, sums: row.sums })
    if (move.children.length > 0) this.#brood.bear(row.id, move.children)
    lanes.count(lane, before, this.#ledger.figure(row))
    feed.moved(row.id, row.seq + 1)
    if (isRun(row.wait)) this.#ledger.hint('work')
    else if (row.plan !== null) this.#ledger.hint('due')
    return true
  }

  /** So many moves that are the same, from rows that are the same as this one. */
  addAll(row: EntityRow, move: Move, like: readonly Move[]): void {
    const { lanes, feed } = this.#ledger
    this.#write()
    const lane = lanes.byId(row.lane)
    const before = this.#ledger.figure(row)
    const seq = row.seq + 1
    this.#shape = this.#shapeOf(row, move)
    lanes.count(lane, before, this.#ledger.figure(row), like.length)
    for (const { id, data } of like) {
      this.#ids.push(id)
      if (data !== null) this.#own.push({ id, data, sums: null })
      feed.moved(id, seq)
    }
    if (isRun(row.wait)) this.#ledger.hint('work')
    else if (row.plan !== null) this.#ledger.hint('due')
    this.#write()
  }

  flush(): void {
    this.#write()
    this.#brood.flush()
  }

  #write(): void {
    const shape = this.#shape
    if (!shape) return
    const ids = this.#ids
    const own = this.#own
    this.#shape = null
    this.#ids = []
    this.#own = []
    if (own.length < ids.length) this.#moveTogether(shape, own.length === 0 ? ids : without(ids, own))
    if (own.length > 0) this.#moveWithOwn(shape, own)
    const recorded = idSet(ids, 4)
    this.#ledger.database.run(
      `INSERT OR ROLLBACK INTO history (entity, seq, epoch, generation, at, path, actor)
       SELECT id, seq, epoch, generation, ?1, ?2, ?3 FROM entity WHERE ${recorded.where}`,
      this.#now,
      shape.path,
      shape.actor,
      ...recorded.values,
    )
  }

  #moveTogether(shape: Shape, ids: readonly number[]): void {
    const { database, limits } = this.#ledger
    const moved = idSet(ids, 11)
    database.run(
      `UPDATE OR ROLLBACK entity SET line = ?1, rank = CASE WHEN ?1 IS NULL THEN NULL ELSE ?2 + priority * ?3 END, plan = ?4, state = ?5,
       settled = ?6, generation = ?7, seq = seq + 1, epoch = epoch + ?8, attempts = ${attemptsSql[shape.attempts]},
       suspect = CASE ?8 WHEN 0 THEN 0 ELSE suspect END, wait = ?9, at = ?2, changed_at = ?10${moreSql(shape)}
       WHERE ${moved.where}`,
      shape.line,
      shape.at,
      limits.ageingMs,
      shape.plan,
      shape.state,
      shape.settled,
      shape.generation,
      shape.by === 'outside' ? 1 : 0,
      shape.wait,
      this.#now,
      ...moved.values,
    )
  }

  /**
   * Each row has data or sums of its own, and all else in common. What a machine has few of is written into the statement, as
   * fewer values are bound then for each row; what grows without bound is not, as statements are kept.
   */
  #moveWithOwn(shape: Shape, own: readonly Own[]): void {
    const { database, limits } = this.#ledger
    const rank = shape.line === null ? 'NULL' : `?4 + priority * ${limits.ageingMs}`
    const suspect = shape.by === 'outside' ? 'suspect' : '0'
    const epoch = shape.by === 'outside' ? 'epoch + 1' : 'epoch'
    const hasSums = own.some(({ sums }) => sums !== null)
    const newData = own.every(({ data }) => data !== null) ? '?2' : 'coalesce(?2, data)'
    const statement = database.statement(
      `UPDATE OR ROLLBACK entity SET line = ?5, rank = ${rank}, plan = ${shape.plan}, state = ${shape.state}, settled = ${shape.settled},
       generation = ?6, seq = seq + 1, epoch = ${epoch}, attempts = ${attemptsSql[shape.attempts]}, suspect = ${suspect},
       wait = ${shape.wait}, at = ?4, changed_at = ?3, data = ${newData}${hasSums ? ', sums = ?7' : ''}${moreSql(shape)} WHERE id = ?1`,
    )
    const { at, line, generation } = shape
    if (hasSums) for (const { id, data, sums } of own) statement.run(id, data, this.#now, at, line, generation, sums)
    else for (const { id, data } of own) statement.run(id, data, this.#now, at, line, generation)
  }

  /** Puts the row into its new state and says what that takes. */
  #shapeOf(row: EntityRow, move: Move): Shape {
    const { dictionary, lanes } = this.#ledger
    const wait = move.wait!
    row.state = dictionary.word(move.state)
    row.settled = move.settled ? 1 : 0
    row.generation = move.generation
    row.wait = waitCode(wait)
    row.at = waitAt(wait)
    if (move.by === 'lease') row.suspect = 0
    place(this.#ledger, row, lanes.byId(row.lane), 0, this.#now)
    return {
      by: move.by,
      state: row.state,
      settled: row.settled,
      generation: row.generation,
      wait: row.wait,
      at: row.at,
      attempts: move.attempts,
      line: row.line,
      plan: row.plan,
      path: dictionary.path(move.cause, move.hops),
      actor: actorText(move.actor),
      spawned: move.children.length > 0 ? move.spawned : 0,
    }
  }
}

/** What a row remembers of its own beside all that a move always writes. */
interface Own {
  readonly id: number
  readonly data: string | null
  readonly sums: string | null
}

/** How many it has spawned is all that such a row has more to it than others. */
function moreSql({ spawned }: Shape): string {
  return spawned === 0 ? '' : `, more = '${textOfMore({ spawned })}'`
}

const attemptsSql: Readonly<Record<Move['attempts'], string>> = {
  reset: '0',
  one: '1',
  back: 'max(0, attempts - 1)',
  stay: 'attempts',
}

/** Nothing changes but what every move changes (state, wait and proof), data and sums; and it may have children that appear at once. */
export function isPlainMove(move: Move): boolean {
  const { wait } = move
  return (
    move.hops.length > 0 &&
    move.by !== 'aside' &&
    !move.keep &&
    move.labels === null &&
    move.priority === null &&
    wait !== null &&
    wait.for !== 'children' &&
    (wait.for !== 'run' || wait.pool === undefined) &&
    isUnset(move.request) &&
    isUnset(move.checkpoint) &&
    isUnset(move.progress) &&
    isUnset(move.error) &&
    isUnset(move.reason) &&
    move.children.every(isPlainChild) &&
    move.staging === 'none' &&
    move.opens.length === 0 &&
    move.shuts.length === 0 &&
    move.lanes === null &&
    move.read === null &&
    move.takes.length === 0 &&
    move.gives.length === 0
  )
}

/** The row has nothing that such a move would have to look after. */
export function isPlainRow(row: EntityRow): boolean {
  return (
    row.wait !== waits.children && row.more === null && row.shares === null && row.reason === null && row.sums === null
  )
}

function isPlainChild({ key }: ChildBirth): boolean {
  return key === null
}

function without(ids: readonly number[], own: readonly Own[]): readonly number[] {
  const others = new Set(own.map(({ id }) => id))
  return ids.filter((id) => !others.has(id))
}

function isUnset(value: unknown): boolean {
  return value === undefined || value === null
}

function isSame(one: Shape, other: Shape): boolean {
  return (
    one.by === other.by &&
    one.state === other.state &&
    one.settled === other.settled &&
    one.generation === other.generation &&
    one.wait === other.wait &&
    one.at === other.at &&
    one.attempts === other.attempts &&
    one.line === other.line &&
    one.plan === other.plan &&
    one.path === other.path &&
    one.actor === other.actor &&
    one.spawned === other.spawned
  )
}
