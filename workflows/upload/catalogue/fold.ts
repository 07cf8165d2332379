import type { Value } from './database.ts'
import type { FoldedName, FreshKeys } from './fresh-keys.ts'
import { insertMany } from './insert-many.ts'
import { absent } from './item-row.ts'
import type { Shelf } from './shelf.ts'

/**
 * New rows are brought over to the tables that are searched, each in that table's own order: neighbours share a page,
 * which is written once. That takes tenths of a second, so it is done in steps, each a write of its own. How far it is
 * stands in the file, written with each step: after a crash, or from another process, it goes on where it was.
 *
 * In between, rows are put and changed. New ones have higher numbers and wait for the next fold. Whoever changes a row
 * writes its search keys at once, and every step reads rows as they are then: so keys that are there already are the same,
 * hence OR IGNORE. An id stays in `fresh` until the last step, so it is always found there or in `place`.
 */
interface FoldState {
  /** All rows up to this number of arrival are folded. Those after it are new, without a gap. */
  readonly done: number
  /** The fold under way ends with this one. Equal to `done`: there is none. */
  readonly goal: number
  /** Which table is next, as its place in `folds`. */
  readonly step: number
  /** The last key of that table's part before, in JSON; null: it is not begun. */
  readonly after: string | null
}

/** A table that is searched, and where its rows come from. */
interface FoldedTable {
  readonly table: FoldedName
  readonly from: 'fresh' | 'item'
  readonly key: readonly string[]
  /** The steps in which as many rows are brought over as should wait at most. */
  readonly steps: number
}

const time = `coalesce(time, ${absent})`
const score = `coalesce(score, ${absent})`
/** Authors come in no order at all, so their rows change the most pages. A step takes 20 to 70 ms at a million rows. */
const folds: readonly FoldedTable[] = [
  { table: 'place', from: 'fresh', key: ['id'], steps: 1 },
  { table: 'by_time', from: 'item', key: ['kind', time, 'id'], steps: 1 },
  { table: 'by_score', from: 'item', key: ['kind', score, 'id'], steps: 2 },
  { table: 'by_author', from: 'item', key: ['author', time, 'id'], steps: 3 },
  { table: 'by_parent', from: 'item', key: ['parent', 'id'], steps: 1 },
]
/** Parts of a table whose keys are in hand: about a thousand rows, and one or two ms, each. */
const partsInHand = 64
/** Rows that are looked at to find the last key of a part. */
const samplesMax = 256

/** How many rows wait for a fold. */
export function freshCount(shelf: Shelf): number {
  return shelf.lastSeq() - stateOf(shelf).done
}

/** Whether a fold is under way, or so many rows wait that one should begin. */
export function isFoldDue(shelf: Shelf, freshMin: number): boolean {
  const { done, goal } = stateOf(shelf)
  return goal > done || shelf.lastSeq() - done >= freshMin
}

/** Whether rows up to this number of arrival wait for a fold. */
export function isFoldOpen(shelf: Shelf, seq: number): boolean {
  return stateOf(shelf).done < Math.min(seq, shelf.lastSeq())
}

/**
 * The next step of the fold under way, or the first of one over all new rows there are. `freshMax`: how many of them make
 * it full steps, where their keys are not in hand; such a step writes much. Within a write.
 */
export function foldStep(shelf: Shelf, freshMax: number, keys: FreshKeys | null = null): 'little' | 'much' {
  const state = stateOf(shelf)
  const begun = state.goal > state.done ? state : { ...state, goal: shelf.lastSeq(), step: 0, after: null }
  if (begun.goal === begun.done) return 'little'
  const folded = folds[begun.step]
  if (!folded) {
    setState(shelf, forgetFresh(shelf, begun))
    keys?.forget(begun.goal)
    return 'little'
  }
  const isInHand = keys?.covers(begun.done + 1, begun.goal)
  setState(
    shelf,
    isInHand ? insertPart(shelf, begun, folded, freshMax, keys!) : foldPart(shelf, begun, folded, freshMax),
  )
  return isInHand ? 'little' : 'much'
}

/** How far a table is stands in memory only: after a crash it is begun anew, and what is there is passed over. */
function insertPart(
  shelf: Shelf,
  state: FoldState,
  { table, key }: FoldedTable,
  freshMax: number,
  keys: FreshKeys,
): FoldState {
  const { values, isLast } = keys.part(table, state.done + 1, state.goal, Math.ceil(freshMax / partsInHand))
  insertMany(shelf.database, 'INSERT OR IGNORE', `${shelf.prefix}${table}`, key.length + 1, values)
  return isLast ? { ...state, step: state.step + 1, after: null } : { ...state, after: null }
}

/** All new rows at once. Within a write. */
export function foldAll(shelf: Shelf): void {
  while (freshCount(shelf) > 0) foldStep(shelf, Number.POSITIVE_INFINITY)
}

/** The rows of a range of keys: in a table's own order its parts touch different pages, so they cost little more than all. */
function foldPart(
  shelf: Shelf,
  state: FoldState,
  { table, from, key, steps }: FoldedTable,
  freshMax: number,
): FoldState {
  const parts = Math.round(((state.goal - state.done) * steps) / freshMax)
  const last = parts <= 1 ? null : lastKey(shelf, state, key, parts)
  const range = rangeOf(state, key, last)
  shelf.database.run(
    `INSERT OR IGNORE INTO ${shelf.prefix}${table} SELECT ${key.join(', ')}, seq FROM ${shelf.prefix}${from}
      WHERE seq BETWEEN ? AND ? AND ${range.sql} ORDER BY ${key.map((_, index) => index + 1).join(', ')}`,
    [state.done + 1, state.goal, ...range.values],
  )
  return last ? { ...state, after: JSON.stringify(last) } : { ...state, step: state.step + 1, after: null }
}

/** Where the next part should end, by a look at a few rows. Null: it is the last one. */
function lastKey(shelf: Shelf, state: FoldState, key: readonly string[], parts: number): readonly Value[] | null {
  const rows = state.goal - state.done
  const samples = Math.min(rows, samplesMax)
  const seqs = Array.from({ length: samples }, (_, index) => state.done + 1 + Math.floor((index * rows) / samples))
  const range = rangeOf(state, key, null)
  const sql = `SELECT ${key.join(', ')} FROM ${shelf.prefix}item WHERE seq IN (SELECT value FROM json_each(?))
    AND ${range.sql} ORDER BY ${key.map((_, index) => index + 1).join(', ')} LIMIT 1 OFFSET ?`
  return shelf.database.all(sql, [JSON.stringify(seqs), ...range.values, Math.ceil(samples / parts)])[0] ?? null
}

/** Rows that have no such key, as one without an author, are in no part. */
function rangeOf({ after }: FoldState, key: readonly string[], last: readonly Value[] | null) {
  const [names, marks] = [key.join(', '), key.map(() => '?').join(', ')]
  const first = after === null ? null : (JSON.parse(after) as Value[])
  const sql = [
    `${key[0]} IS NOT NULL`,
    ...(first ? [`(${names}) > (${marks})`] : []),
    ...(last ? [`(${names}) <= (${marks})`] : []),
  ]
  return { sql: sql.join(' AND '), values: [...(first ?? []), ...(last ?? [])] }
}

function forgetFresh(shelf: Shelf, { goal }: FoldState): FoldState {
  const fresh = `DELETE FROM ${shelf.prefix}fresh`
  // Without a condition SQLite drops whole pages.
  if (goal === shelf.lastSeq()) shelf.database.run(fresh)
  else shelf.database.run(`${fresh} WHERE seq <= ?`, [goal])
  return { done: goal, goal, step: 0, after: null }
}

function stateOf({ database, prefix }: Shelf): FoldState {
  const [done, goal, step, after] = database.all(`SELECT done, goal, step, after FROM ${prefix}fold`)[0]!
  return { done: Number(done), goal: Number(goal), step: Number(step), after: after as string | null }
}

function setState({ database, prefix }: Shelf, { done, goal, step, after }: FoldState): void {
  database.run(`UPDATE ${prefix}fold SET done = ?, goal = ?, step = ?, after = ?`, [done, goal, step, after])
}
