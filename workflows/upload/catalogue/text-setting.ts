import { SluiceError } from 'sluice/errors'
import { type Prefix, textTable } from './schema.ts'
import type { Shelf } from './shelf.ts'

/**
 * Whether texts are indexed stands in the file, since it is true of its rows, not of whoever has it open:
 * on: of all rows. off: of none. partial: rows were put while it was off, so what a search found would not be all.
 */
const textStates = ['on', 'off', 'partial'] as const
type TextState = (typeof textStates)[number]

/** The name under which it stands. */
export function textSetting(prefix: Prefix): string {
  return `${prefix}text`
}

/** When a catalogue is opened: one without rows takes the setting as its own; one with rows keeps what is true of them. */
export function settleText(shelf: Shelf, wanted: boolean): void {
  const { database, prefix } = shelf
  const isSettled = () => textState(shelf) === (wanted ? 'on' : 'off') || shelf.lastSeq() > 0
  if (database.read(isSettled)) return
  database.write(() => {
    // Another process may have been first.
    if (isSettled()) return
    database.exec(`DROP TABLE IF EXISTS ${prefix}words`)
    if (wanted) database.exec(textTable(prefix))
    database.set(textSetting(prefix), wanted ? 'on' : 'off')
  })
}

/** Whether this put writes texts. Within a write. */
export function textForWriting(shelf: Shelf, wanted: boolean): boolean {
  const state = textState(shelf)
  // Without this row's text the index is not whole any more: whoever searches must be told.
  if (state === 'on' && !wanted) shelf.database.set(textSetting(shelf.prefix), 'partial')
  return state === 'on' && wanted
}

/** Throws unless every row's text can be searched. */
export function assertText(shelf: Shelf, wanted: boolean): void {
  const state = textState(shelf)
  if (state === 'on') return
  const { file } = shelf.database
  const why =
    state === 'off'
      ? 'its rows were put without their texts'
      : 'some of its rows were put without their texts, while the text index was off'
  const how = wanted ? 'Rebuild the catalogue.' : 'Turn the text index on (textIndex: true) and rebuild the catalogue.'
  throw new SluiceError('conflict', `The catalogue ${file} cannot be searched by text: ${why}. ${how}`, {
    file,
    field: 'text',
    textIndex: state,
  })
}

/** Whether there is a table of words, be it whole or not. */
export function isTextKept(shelf: Shelf): boolean {
  return textState(shelf) !== 'off'
}

function textState(shelf: Shelf): TextState {
  const stated = shelf.database.setting(textSetting(shelf.prefix))
  return textStates.find((state) => state === stated) ?? 'off'
}
