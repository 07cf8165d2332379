import type { Indexed } from '../indexer.ts'
import type { NumberedTerm } from './index-rows.ts'
import { markIndexed, type PutPlace } from './putting.ts'
import { Tally } from './tally.ts'

/** changed, unchanged: whether its terms are other than before. missing: there is no resource of this number. */
export type ReindexVerdict = 'changed' | 'unchanged' | 'missing' | { readonly failed: string }

/** Within a write. What fails stays as it was, and out of date. */
export function reindexRows(
  { database, indexRows }: PutPlace,
  numbers: readonly number[],
  index: (json: string) => Indexed,
): ReindexVerdict[] {
  const tally = new Tally()
  const types = new Map<number, { readonly type: number; readonly collection: number }>()
  const changes = new Map<number, readonly NumberedTerm[]>()
  const failed = new Map<number, string>()
  for (const number of new Set(numbers)) {
    const row = database.all('SELECT type, json, collection FROM resource WHERE number = ?', [number])[0]
    if (!row) continue
    const type = row[0] as number
    types.set(number, { type, collection: row[2] as number })
    const indexed = index(row[1] as string)
    if ('fault' in indexed) failed.set(number, indexed.fault)
    else changes.set(number, indexRows.numbered(type, indexed.terms))
  }
  const changed = indexRows.replace(changes)
  for (const number of changes.keys()) markIndexed(database, number, types.get(number)!, tally)
  tally.write(database)
  return numbers.map((number): ReindexVerdict => {
    if (!types.has(number)) return 'missing'
    const fault = failed.get(number)
    if (fault !== undefined) return { failed: fault }
    return changed.has(number) ? 'changed' : 'unchanged'
  })
}
