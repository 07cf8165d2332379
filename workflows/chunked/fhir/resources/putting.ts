import { createHash } from 'node:crypto'
import { SluiceError } from 'sluice/errors'
import { type Indexed, indexVersion } from '../indexer.ts'
import { idPattern } from '../validation.ts'
import type { Database } from './database.ts'
import type { IndexRows, NumberedTerm } from './index-rows.ts'
import type { Names } from './names.ts'
import type { Origin } from './row.ts'
import { Tally } from './tally.ts'

export interface Entry {
  readonly type: string
  readonly id: string
  /** Whose it is; the same type and id may stand in several. Default: nobody's. */
  readonly collection?: string | null
  /** As it is to be stored. */
  readonly json: string
  readonly origin: Origin | null
  /** Its terms, if it is to be indexed at once. Asked only if there is something to index. */
  readonly index?: () => Indexed
}

/**
 * created: there was none of this type and id. updated: the text differs, the version has grown. unchanged: it stands
 * there with the same text; nothing was written. superseded: a later line of the same source stands there; nothing was
 * written.
 */
export const putVerdicts = ['created', 'updated', 'unchanged', 'superseded'] as const
export type PutVerdict = (typeof putVerdicts)[number]

export interface PutPlace {
  readonly database: Database
  readonly types: Names
  readonly sources: Names
  readonly collections: Names
  readonly indexRows: IndexRows
}

interface Change {
  readonly number: number
  readonly type: number
  readonly collection: number
  readonly entry: Entry
}

/** Verdicts of groups are kept for so long: a repeat after a crash comes within minutes. */
export const operationMs = 7 * 24 * 60 * 60 * 1_000
/** So many old ones are forgotten with each new one: the table keeps its size. */
const forgottenAtOnce = 4

/** Within a write: the verdicts that the group with this key was given before, if it was. */
export function earlierVerdicts(database: Database, key: string, digest: string): PutVerdict[] | null {
  const row = database.all('SELECT digest, verdicts FROM operation WHERE key = ?', [key])[0]
  // Other entries under a known key: its name was used again, and the entries count.
  if (!row || row[0] !== digest) return null
  return [...String(row[1])].map((index) => putVerdicts[Number(index)]!)
}

/** Within a write. */
export function keepVerdicts(
  database: Database,
  { key, digest, verdicts, now }: { key: string; digest: string; verdicts: readonly PutVerdict[]; now: number },
): void {
  const text = verdicts.map((verdict) => putVerdicts.indexOf(verdict)).join('')
  database.run('INSERT OR REPLACE INTO operation (key, digest, verdicts, at) VALUES (?, ?, ?, ?)', [
    key,
    digest,
    text,
    now,
  ])
  database.run('DELETE FROM operation WHERE key IN (SELECT key FROM operation WHERE at < ? ORDER BY at LIMIT ?)', [
    now - operationMs,
    forgottenAtOnce,
  ])
}

export function digestOf(entries: readonly Entry[]): string {
  const hash = createHash('sha256')
  for (const { type, id, collection, json, origin } of entries) {
    const whose = collection == null ? '' : `${JSON.stringify(collection)} `
    hash.update(`${whose}${type}/${id} ${origin?.source ?? ''}:${origin?.line ?? ''} ${json.length}\n`).update(json)
  }
  return hash.digest('hex')
}

/** Within a write. Entries count one after another, also those of the same id. */
export function putEntries(place: PutPlace, entries: readonly Entry[], now: number): PutVerdict[] {
  entries.forEach(checkEntry)
  const { database } = place
  const tally = new Tally()
  const toIndex = new Map<number, Change>()
  let last = database.number('SELECT max(number) FROM resource') ?? 0
  const verdicts = entries.map((entry): PutVerdict => {
    const { id, json, origin } = entry
    const type = place.types.give(entry.type)
    const source = origin ? place.sources.give(origin.source) : null
    const line = origin?.line ?? null
    const collection = entry.collection == null ? 0 : place.collections.give(entry.collection)
    const row = database.all(
      'SELECT number, json = ?3, source, line, indexed FROM resource WHERE type = ?1 AND id = ?2 AND collection = ?4',
      [type, id, json, collection],
    )[0]
    if (!row) {
      last += 1
      database.run(
        'INSERT INTO resource (number, type, id, version, updated, source, line, indexed, json, collection) VALUES (?, ?, ?, 1, ?, ?, ?, 0, ?, ?)',
        [last, type, id, now, source, line, json, collection],
      )
      tally.add(type, collection, 0, 1)
      if (entry.index) toIndex.set(last, { number: last, type, collection, entry })
      return 'created'
    }
    const [number, isSame, oldSource, oldLine, indexed] = row as number[]
    if (isSame === 1) {
      if (entry.index && indexed !== indexVersion) toIndex.set(number!, { number: number!, type, collection, entry })
      return 'unchanged'
    }
    if (source !== null && source === oldSource && line! < oldLine!) return 'superseded'
    database.run(
      'UPDATE resource SET version = version + 1, updated = ?, source = ?, line = ?, indexed = 0, json = ? WHERE number = ?',
      [now, source, line, json, number!],
    )
    tally.add(type, collection, indexed!, -1)
    tally.add(type, collection, 0, 1)
    if (entry.index) toIndex.set(number!, { number: number!, type, collection, entry })
    else toIndex.delete(number!)
    return 'updated'
  })
  writeIndex(place, toIndex, tally)
  tally.write(database)
  return verdicts
}

function writeIndex({ database, indexRows }: PutPlace, toIndex: ReadonlyMap<number, Change>, tally: Tally): void {
  const changes = new Map<number, readonly NumberedTerm[]>()
  for (const { number, type, entry } of toIndex.values()) {
    const indexed = entry.index!()
    // It is stored all the same; a re-index will say what is wrong with it.
    if ('fault' in indexed) continue
    changes.set(number, indexRows.numbered(type, indexed.terms))
  }
  indexRows.replace(changes)
  for (const number of changes.keys()) markIndexed(database, number, toIndex.get(number)!, tally)
}

/** Within a write. */
export function markIndexed(
  database: Database,
  number: number,
  { type, collection }: { readonly type: number; readonly collection: number },
  tally: Tally,
): void {
  const before = database.number('SELECT indexed FROM resource WHERE number = ?', [number])
  if (before === null || before === indexVersion) return
  database.run('UPDATE resource SET indexed = ? WHERE number = ?', [indexVersion, number])
  tally.add(type, collection, before, -1)
  tally.add(type, collection, indexVersion, 1)
}

const sourceCharsMax = 1_000

function checkEntry({ type, id, collection, origin }: Entry, index: number): void {
  const refuse = (what: string) => {
    throw new SluiceError('invalid', `Entry ${index} cannot be stored: ${what}. Nothing was changed.`, { index })
  }
  if (!/^[A-Za-z]{1,64}$/.test(type)) refuse(`its type must be a name; it was ${JSON.stringify(type)}`)
  if (!idPattern.test(id)) refuse(`its id must have 1 to 64 letters, digits, - and .; it was ${JSON.stringify(id)}`)
  if (collection != null && (collection.length === 0 || collection.length > sourceCharsMax)) {
    refuse(`its collection must have 1 to ${sourceCharsMax} characters; it had ${collection.length}`)
  }
  if (origin === null) return
  if (origin.source.length === 0 || origin.source.length > sourceCharsMax) {
    refuse(`its source must have 1 to ${sourceCharsMax} characters; it had ${origin.source.length}`)
  }
  if (!Number.isSafeInteger(origin.line) || origin.line < 1) refuse(`its line must be 1 or more; it was ${origin.line}`)
}
