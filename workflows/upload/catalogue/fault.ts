import { isSluiceError, messageOf, SluiceError } from 'sluice/errors'

/** Primary result codes of SQLite that have an answer of their own. */
const codes = {
  busy: 5,
  locked: 6,
  readOnly: 8,
  inputOutput: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  notDatabase: 26,
}

/** What a person can do about an error of the database. The transaction was rolled back: nothing is half done. */
export function faultOf(error: unknown, file: string): SluiceError {
  if (isSluiceError(error)) return error
  const code = codeOf(error)
  const [kind, message] = sentenceOf(code, file, messageOf(error))
  return new SluiceError(kind, message, { reason: reasonOf(code), file, sqlite: code }, error)
}

/** Somebody else has the lock. */
export function isBusy(error: unknown): boolean {
  return codeOf(error) === codes.busy
}

function codeOf(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return null
  return error.errcode & 0xff
}

/** A short phrase: items that fail of it are counted by it. */
function reasonOf(code: number | null): string {
  switch (code) {
    case codes.full:
      return 'disk is full'
    case codes.readOnly:
    case codes.cannotOpen:
      return 'catalogue cannot be written'
    case codes.notDatabase:
    case codes.corrupt:
      return 'catalogue is damaged'
    case codes.busy:
    case codes.locked:
      return 'catalogue is locked'
    default:
      return 'catalogue failed'
  }
}

function sentenceOf(code: number | null, file: string, message: string): readonly [SluiceError['code'], string] {
  switch (code) {
    case codes.full:
      return ['internal', `The disk that holds the catalogue ${file} is full. Nothing was changed. Free some space.`]
    case codes.readOnly:
    case codes.cannotOpen:
      return [
        'forbidden',
        `The catalogue ${file} cannot be opened for writing: ${message}. Check that its folder exists and that this user may write to both.`,
      ]
    case codes.notDatabase:
    case codes.corrupt:
      return [
        'invalid',
        `The catalogue ${file} is no SQLite database, or it is damaged: ${message}. Move it away and rebuild it; the stored files hold all that it knows.`,
      ]
    case codes.busy:
    case codes.locked:
      return [
        'internal',
        `Another process kept the catalogue ${file} locked for too long. Nothing was changed. Try again.`,
      ]
    case codes.inputOutput:
      return [
        'internal',
        `The disk that holds the catalogue ${file} failed: ${message}. Check the disk, then try again.`,
      ]
    case null:
      return ['internal', `The catalogue ${file} failed: ${message}`]
    default:
      return ['internal', `The catalogue ${file} refused a statement: ${message}.`]
  }
}
