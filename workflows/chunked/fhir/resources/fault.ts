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
  return new SluiceError(kind, message, { file, sqlite: code }, error)
}

/** Somebody else has the lock. */
export function isBusy(error: unknown): boolean {
  return codeOf(error) === codes.busy
}

function codeOf(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return null
  return error.errcode & 0xff
}

function sentenceOf(code: number | null, file: string, message: string): readonly [SluiceError['code'], string] {
  switch (code) {
    case codes.full:
      return ['internal', `The disk that holds the resources ${file} is full. Nothing was changed. Free some space.`]
    case codes.readOnly:
    case codes.cannotOpen:
      return [
        'forbidden',
        `The resources ${file} cannot be opened for writing: ${message}. Check that the folder exists and that this user may write to both.`,
      ]
    case codes.notDatabase:
    case codes.corrupt:
      return [
        'invalid',
        `The resources ${file} are no SQLite database, or it is damaged: ${message}. Bring it back from a backup, or name another file and import again.`,
      ]
    case codes.busy:
    case codes.locked:
      return [
        'internal',
        `Another process kept the resources ${file} locked for too long. Nothing was changed. Try again.`,
      ]
    case codes.inputOutput:
      return [
        'internal',
        `The disk that holds the resources ${file} failed: ${message}. Check the disk, then try again.`,
      ]
    case null:
      return ['internal', `The resources ${file} failed: ${message}`]
    default:
      return ['internal', `The database of the resources ${file} refused a statement: ${message}.`]
  }
}
