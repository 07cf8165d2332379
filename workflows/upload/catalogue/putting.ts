import { type HNItem, itemTypes } from '../hn-item.ts'
import type { Value } from './database.ts'
import { insertMany, marks } from './insert-many.ts'
import {
  absent,
  type Candidate,
  checkEntry,
  columns,
  type Entry,
  type ItemRow,
  itemRow,
  kindOf,
  pushValues,
  withDocument,
} from './item-row.ts'
import { type Borrowed, fieldNames, fieldsOf, type Merged, mergeInto } from './merging.ts'
import { factsOf, isNewer, isStronger, versionOf } from './newness.ts'
import { plainText } from './plain-text.ts'
import type { KnownVersion, Shelf } from './shelf.ts'

/**
 * added: the first of its id. merged: newer than all that came before. duplicateOfIndex: an earlier element of the same file
 * is at least as new. duplicateOf: what another batch had put before is at least as new.
 *
 * Before: the earlier elements of the same file, and what other batches had put when the first version of this batch arrived.
 * So the verdict does not depend on the order in which the elements of a file are put, nor on how often.
 */
export type PutVerdict = 'added' | 'merged' | Duplicate
export type Duplicate = { readonly duplicateOf: number } | { readonly duplicateOfIndex: number }

export type ReadDocument = (file: number, offset: number, length: number) => HNItem

export interface PutOptions {
  readonly shelf: Shelf
  readonly withText: boolean
  readonly readDocument: ReadDocument
}

/** A row as it stands now, and as it stood in the tables when the call began. */
interface Standing {
  row: ItemRow
  readonly before: ItemRow | null
  /** Its document, once it is in hand. */
  item: HNItem | null
  /** Of a merged document that is in hand: which fields came from other versions. */
  borrowed: Borrowed
}

/** What became of each entry, and the rows that were written for them. */
export interface Put {
  readonly verdicts: PutVerdict[]
  /** In the order of arrival. */
  readonly added: readonly ItemRow[]
  /** Numbers of arrival of those that stood there before. */
  readonly changed: readonly number[]
}

/** Within a write. Entries count one after another, also those of the same id; what results is then written at once. */
export function putEntries(options: PutOptions, entries: readonly Entry[]): Put {
  const { shelf } = options
  entries.forEach(checkEntry)
  const standings = storedStandings(shelf, entries)
  const added: Standing[] = []
  const changed = new Set<Standing>()
  let seq = shelf.lastSeq()
  const verdicts: PutVerdict[] = []
  for (const entry of entries) {
    const standing = standings.get(entry.item.hnId)
    verdicts.push(verdictOf(entry, standing ? shelf.knownBefore(standing.row, entry.batch) : null))
    if (standing) {
      if (add(options, standing, entry) && standing.before) changed.add(standing)
      continue
    }
    seq += 1
    const row = itemRow(seq, entry, entry.item, { merged: false, shared: false })
    const fresh = { row, before: null, item: entry.item, borrowed: {} }
    standings.set(entry.item.hnId, fresh)
    added.push(fresh)
  }
  // What was added in this call is known as well: all of it is written, or nothing.
  const isKnown = knownParents(shelf, [...added, ...changed], standings)
  const changedInOrder = [...changed].sort((left, right) => left.row.seq - right.row.seq)
  for (const standing of changedInOrder) rewrite(options, standing, isKnown)
  writeAdded(options, added, isKnown)
  return { verdicts, added: added.map(rowNow), changed: changedInOrder.map(seqOf) }
}

function rowNow({ row }: Standing): ItemRow {
  return row
}

function seqOf({ row }: Standing): number {
  return row.seq
}

export function verdictOf({ item, earlier }: Pick<Entry, 'item' | 'earlier'>, before: KnownVersion | null): PutVerdict {
  const facts = factsOf(item)
  if (earlier && !isNewer(facts, earlier)) return { duplicateOfIndex: earlier.index }
  if (before && !isNewer(facts, before)) return { duplicateOf: before.entity }
  return earlier || before ? 'merged' : 'added'
}

/** Whether the row or its document changes when this version is put. */
export function changes(
  row: ItemRow,
  { item, ...place }: Omit<Candidate, 'earlier'>,
  borrowedOf: () => Borrowed,
): boolean {
  const version = versionOf({ ...factsOf(item), ...place })
  const fields = fieldsOf(item)
  if (isStronger(version, row) || row.fields === null || (fields & ~row.fields) !== 0) return true
  if (!row.merged) return false
  const borrowed = borrowedOf()
  return fieldNames.some((name, place) => {
    const giver = borrowed[name]
    return giver !== undefined && (fields & (1 << place)) !== 0 && isStronger(version, giver)
  })
}

/** Adds a version to what is known under its id. False: nothing changed. */
function add(options: PutOptions, standing: Standing, entry: Entry): boolean {
  const { shelf } = options
  const { row } = standing
  const version = versionOf({ ...factsOf(entry.item), batch: entry.batch, offset: entry.offset })
  const stands = isStronger(version, row)
  if (!stands && !changes(row, entry, () => borrowedOf(shelf, standing))) return false
  const replacesAll = stands && row.fields !== null && (row.fields & ~fieldsOf(entry.item)) === 0
  const { item, borrowed } = replacesAll
    ? { item: entry.item, borrowed: {} }
    : mergeInto(storedDocument(options, standing), versionOf(row), entry.item, version)
  standing.item = item
  standing.borrowed = borrowed
  const merged = Object.keys(borrowed).length > 0
  if (!stands) {
    standing.row = withDocument(row, item, merged)
    return true
  }
  const shared = row.shared || row.batch !== entry.batch
  if (shared) shelf.keepKnown(row, entry.batch)
  standing.row = itemRow(row.seq, entry, item, { merged, shared })
  return true
}

function storedDocument({ shelf, readDocument }: PutOptions, standing: Standing): Merged {
  const { row } = standing
  standing.borrowed = borrowedOf(shelf, standing)
  standing.item ??=
    (row.merged ? shelf.mergedDocument(row.seq) : null) ?? readDocument(row.file, row.offset, row.length)
  return { item: standing.item, borrowed: standing.borrowed }
}

function borrowedOf(shelf: Shelf, { row, item, borrowed }: Standing): Borrowed {
  return item || !row.merged ? borrowed : shelf.borrowed(row.seq)
}

function storedStandings(shelf: Shelf, entries: readonly Entry[]): Map<number, Standing> {
  const hnIds: number[] = []
  for (const { item } of entries) hnIds.push(item.hnId)
  const seqs = shelf.locate(hnIds)
  const rows = shelf.rows([...seqs.values()])
  return new Map(rows.map((row) => [row.hnId, { row, before: row, item: null, borrowed: {} }]))
}

function knownParents(
  shelf: Shelf,
  written: readonly Standing[],
  standings: ReadonlyMap<number, Standing>,
): (hnId: number) => boolean {
  const asked = new Set<number>()
  for (const { row } of written) if (row.parent !== null && !standings.has(row.parent)) asked.add(row.parent)
  const found = shelf.locate([...asked])
  return (hnId) => standings.has(hnId) || found.has(hnId)
}

function writeAdded(
  { shelf, withText }: PutOptions,
  added: readonly Standing[],
  isKnown: (hnId: number) => boolean,
): void {
  const { database, prefix } = shelf
  const items: Value[] = []
  const fresh: Value[] = []
  const orphans: Value[] = []
  const tally = new Array<number>(itemTypes.length).fill(0)
  for (const { row, item, borrowed } of added) {
    pushValues(items, row)
    fresh.push(row.hnId, row.seq)
    if (row.parent !== null && !isKnown(row.parent)) orphans.push(row.batch, row.seq, row.parent)
    if (row.merged) writeMerged(shelf, row.seq, item, borrowed)
    tally[itemTypes.indexOf(row.type)]! += 1
  }
  insertMany(database, 'INSERT', `${prefix}item (${columns.join(', ')})`, columns.length, items)
  insertMany(database, 'INSERT', `${prefix}fresh (id, seq)`, 2, fresh)
  insertMany(database, 'INSERT', `${prefix}orphan (batch, seq, parent)`, 3, orphans)
  tally.forEach((count, type) => {
    addToTally(shelf, type, count)
  })
  if (!withText) return
  const sql = `INSERT INTO ${prefix}words (rowid, title, text) VALUES (?, ?, ?)`
  for (const { row, item } of added) {
    if (item!.title || item!.text) database.run(sql, [row.seq, plainText(item!.title), plainText(item!.text)])
  }
}

/** A row that stood in the tables before: also its search keys are written at once, as a fold looks at new rows only. */
function rewrite({ shelf, withText }: PutOptions, standing: Standing, isKnown: (hnId: number) => boolean): void {
  const { database, prefix } = shelf
  const { row, item, borrowed } = standing
  const before = standing.before!
  const values: Value[] = []
  pushValues(values, row)
  database.run(`REPLACE INTO ${prefix}item (${columns.join(', ')}) VALUES (${marks(columns.length)})`, values)
  for (const [key, table, names] of searchKeys(before)) {
    database.run(`DELETE FROM ${prefix}${table} WHERE ${names.map((name) => `${name} = ?`).join(' AND ')}`, key)
  }
  for (const [key, table, names] of searchKeys(row)) {
    database.run(
      `INSERT OR IGNORE INTO ${prefix}${table} (${names.join(', ')}, seq) VALUES (${marks(key.length + 1)})`,
      [...key, row.seq],
    )
  }
  database.run(`DELETE FROM ${prefix}orphan WHERE batch = ? AND seq = ?`, [before.batch, row.seq])
  if (row.parent !== null && !isKnown(row.parent)) {
    database.run(`INSERT INTO ${prefix}orphan (batch, seq, parent) VALUES (?, ?, ?)`, [row.batch, row.seq, row.parent])
  }
  if (row.merged) writeMerged(shelf, row.seq, item, borrowed)
  else if (before.merged) {
    database.run(`DELETE FROM ${prefix}merged WHERE seq = ?`, [row.seq])
    database.run(`DELETE FROM ${prefix}borrowed WHERE seq = ?`, [row.seq])
  }
  if (row.type !== before.type) {
    addToTally(shelf, itemTypes.indexOf(before.type), -1)
    addToTally(shelf, itemTypes.indexOf(row.type), 1)
  }
  if (!withText) return
  database.run(`DELETE FROM ${prefix}words WHERE rowid = ?`, [row.seq])
  database.run(`INSERT INTO ${prefix}words (rowid, title, text) VALUES (?, ?, ?)`, [
    row.seq,
    plainText(item!.title),
    plainText(item!.text),
  ])
}

type SearchKey = readonly [key: Value[], table: string, names: readonly string[]]

function searchKeys(row: ItemRow): SearchKey[] {
  const kind = kindOf(row.type, row.parent !== null)
  const time = row.time ?? absent
  const keys: SearchKey[] = [
    [[kind, time, row.hnId], 'by_time', ['kind', 'time', 'id']],
    [[kind, row.documentScore ?? absent, row.hnId], 'by_score', ['kind', 'score', 'id']],
  ]
  if (row.author !== null) keys.push([[row.author, time, row.hnId], 'by_author', ['author', 'time', 'id']])
  if (row.parent !== null) keys.push([[row.parent, row.hnId], 'by_parent', ['parent', 'id']])
  return keys
}

function writeMerged({ database, prefix }: Shelf, seq: number, item: HNItem | null, borrowed: Borrowed): void {
  database.run(`REPLACE INTO ${prefix}merged (seq, document) VALUES (?, ?)`, [seq, JSON.stringify(item)])
  database.run(`REPLACE INTO ${prefix}borrowed (seq, sources) VALUES (?, ?)`, [seq, JSON.stringify(borrowed)])
}

function addToTally({ database, prefix }: Shelf, type: number, count: number): void {
  if (count === 0) return
  database.run(
    `INSERT INTO ${prefix}tally (type, items) VALUES (?1, ?2) ON CONFLICT (type) DO UPDATE SET items = items + ?2`,
    [type, count],
  )
}
