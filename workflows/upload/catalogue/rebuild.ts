import { SluiceError } from 'sluice/errors'
import type { Database } from './database.ts'
import { foldAll } from './fold.ts'
import { dropSet, prefixes, renameSet, tableSet, textTable } from './schema.ts'
import { Shelf } from './shelf.ts'
import { isTextKept, textSetting } from './text-setting.ts'

/**
 * A rebuild fills a second set of tables beside the current one, which is searched and written as before until the new set
 * takes its place in one transaction. The number of the rebuild stands in the file: as long as it does, every process puts
 * into both sets, so nothing that arrives meanwhile is missing at the end. A crash leaves the current set as it was;
 * whoever begins anew drops what is left of the other.
 */
const underWay = 'rebuild'
/** The number of the last rebuild that began. */
const lastBegun = 'rebuilds'

/** The sets that a put writes to: the first one gives the verdicts. Within a write. */
export function writtenShelves(database: Database, current: Shelf): Shelf[] {
  return database.setting(underWay) === null ? [current] : [current, new Shelf(database, prefixes.next)]
}

/** Gives the number of the rebuild: it can be finished only as long as nobody began another. */
export function beginRebuild(database: Database, textIndex: boolean): number {
  return database.write(() => {
    const number = Number(database.setting(lastBegun) ?? 0) + 1
    database.set(lastBegun, String(number))
    database.set(underWay, String(number))
    database.exec(dropSet(prefixes.next))
    database.exec(tableSet(prefixes.next))
    if (textIndex) database.exec(textTable(prefixes.next))
    database.set(textSetting(prefixes.next), textIndex ? 'on' : 'off')
    return number
  })
}

export function finishRebuild(database: Database, number: number): void {
  database.write(() => {
    checkUnderWay(database, number)
    const next = new Shelf(database, prefixes.next)
    foldAll(next)
    database.exec(dropSet(prefixes.current))
    database.exec(renameSet(isTextKept(next)))
    database.set(textSetting(prefixes.current), database.setting(textSetting(prefixes.next)))
    database.set(textSetting(prefixes.next), null)
    database.set(underWay, null)
  })
}

/** The current set stays. Nothing happens if the rebuild was over. */
export function abandonRebuild(database: Database, number: number): void {
  database.write(() => {
    if (database.setting(underWay) !== String(number)) return
    database.exec(dropSet(prefixes.next))
    database.set(textSetting(prefixes.next), null)
    database.set(underWay, null)
  })
}

function checkUnderWay(database: Database, number: number): void {
  if (database.setting(underWay) === String(number)) return
  throw new SluiceError(
    'conflict',
    `This rebuild of the catalogue ${database.file} cannot be finished: another one began after it. Nothing was changed. Begin anew if the other one does not end.`,
    { file: database.file },
  )
}
