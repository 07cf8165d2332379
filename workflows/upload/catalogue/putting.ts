import { type HNItem, itemTypes } from '../hn-item.ts'
import type { Value } from './database.ts'
import { insertMany, marks } from './insert-many.ts'
import { absent, checkEntry, columns, type Entry, type ItemRow, itemRow, kindOf, pushValues } from './item-row.ts'
import { mergeItems } from './merging.ts'
import { factsOf, isNewer } from './newness.ts'
import { plainText } from './plain-text.ts'
import type { Shelf } from './shelf.ts'

/**
 * added: the first of its id. own: the same entity added it before, as a repeat after a crash does. merged: it was newer
 * than the stored one and took its place, now or when the same entity put it before. duplicateOf: it was not newer than
 * what that entity put; nothing was written.
 */
export type PutVerdict = 'added' | 'own' | 'merged' | { readonly duplicateOf: number }

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
    if (standing) {
      verdicts.push(putAgain(options, standing, entry, changed))
      continue
    }
    seq += 1
    const row = itemRow(seq, entry, entry.item, { merged: false, replaced: false })
    const fresh = { row, before: null, item: entry.item }
    standings.set(entry.item.hnId, fresh)
    added.push(fresh)
    verdicts.push('added')
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

/** Something is known under its id. */
function putAgain(options: PutOptions, standing: Standing, entry: Entry, changed: Set<Standing>): PutVerdict {
  const { shelf } = options
  const isOwn = standing.row.entity === entry.entity
  if (!isOwn && !isNewer(factsOf(entry.item), standing.row)) {
    const version = shelf.superseded(standing.row, entry.entity)
    return version ? repeated(version) : { duplicateOf: standing.row.entity }
  }
  if (isOwn && liesWhere(standing.row, entry)) return repeated(standing.row)
  if (!isOwn) supersede(shelf, standing.row)
  replace(options, standing, entry, isOwn)
  if (standing.before) changed.add(standing)
  return repeated(standing.row)
}

function storedStandings(shelf: Shelf, entries: readonly Entry[]): Map<number, Standing> {
  const hnIds: number[] = []
  for (const { item } of entries) hnIds.push(item.hnId)
  const seqs = shelf.locate(hnIds)
  const rows = shelf.rows([...seqs.values()])
  return new Map(rows.map((row) => [row.hnId, { row, before: row, item: null }]))
}

/** What an entity is told of a version that is part of the row, also when it puts it again. */
function repeated({ replaced }: Pick<ItemRow, 'replaced'>): PutVerdict {
  return replaced ? 'merged' : 'own'
}

function supersede({ database, prefix }: Shelf, { entity, seq, replaced }: ItemRow): void {
  database.run(`INSERT OR IGNORE INTO ${prefix}superseded (entity, seq, replaced) VALUES (?, ?, ?)`, [
    entity,
    seq,
    replaced ? 1 : 0,
  ])
}

function liesWhere(row: ItemRow, { batch, file, offset, length }: Entry): boolean {
  return row.batch === batch && row.file === file && row.offset === offset && row.length === length
}

/**
 * The newer document takes the place of the older one, and keeps what only the older one says. An entity that puts again
 * what it put itself replaces its own document, but keeps what a merge had brought into it.
 */
function replace({ shelf, readDocument }: PutOptions, standing: Standing, entry: Entry, isOwn: boolean): void {
  const { row } = standing
  let merged: HNItem | null = null
  if (!isOwn || row.merged) {
    const older =
      standing.item ??
      (row.merged ? shelf.mergedDocument(row.seq) : null) ??
      readDocument(row.file, row.offset, row.length)
    merged = mergeItems(older, entry.item)
  }
  standing.item = merged ?? entry.item
  standing.row = itemRow(row.seq, entry, standing.item, { merged: merged !== null, replaced: !isOwn || row.replaced })
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
  for (const { row, item } of added) {
    pushValues(items, row)
    fresh.push(row.hnId, row.seq)
    if (row.parent !== null && !isKnown(row.parent)) orphans.push(row.batch, row.seq, row.parent)
    if (row.merged) writeMerged(shelf, row.seq, item)
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
  const { row, item } = standing
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
  if (row.merged) writeMerged(shelf, row.seq, item)
  else if (before.merged) database.run(`DELETE FROM ${prefix}merged WHERE seq = ?`, [row.seq])
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
    [[kind, row.score ?? absent, row.hnId], 'by_score', ['kind', 'score', 'id']],
  ]
  if (row.author !== null) keys.push([[row.author, time, row.hnId], 'by_author', ['author', 'time', 'id']])
  if (row.parent !== null) keys.push([[row.parent, row.hnId], 'by_parent', ['parent', 'id']])
  return keys
}

function writeMerged({ database, prefix }: Shelf, seq: number, item: HNItem | null): void {
  database.run(`REPLACE INTO ${prefix}merged (seq, document) VALUES (?, ?)`, [seq, JSON.stringify(item)])
}

function addToTally({ database, prefix }: Shelf, type: number, count: number): void {
  if (count === 0) return
  database.run(
    `INSERT INTO ${prefix}tally (type, items) VALUES (?1, ?2) ON CONFLICT (type) DO UPDATE SET items = items + ?2`,
    [type, count],
  )
}
