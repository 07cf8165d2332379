import { isSluiceError, messageOf, SluiceError } from '../../errors.ts'

/** Primary result codes of SQLite that have an answer of their own. */
const codes = {
  busy: 5,
  locked: 6,
  readOnly: 8,
  inputOutput: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  toBig: 18,
  constraint: 19,
  mismatch: 20,
  notDatabase: 26,
} as const

/** The primary result code; null for what SQLite did not say. */
function codeOf(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return null
  return error.errcode & 0xff
}

/** Values that the database will not have (too big, of a wrong kind): the same values will be refused again. */
export function isRefusedValue(error: unknown): boolean {
  const code = codeOf(error)
  if (code === codes.constraint || code === codes.mismatch || code === codes.toBig) return true
  return error instanceof TypeError && 'code' in error && error.code === 'ERR_INVALID_ARG_TYPE'
}

/** The same, after `faultOf`. */
export function isRefusedFault(error: unknown): error is SluiceError {
  return isSluiceError(error) && isRefusedValue(error.cause)
}

/** Another connection has the file locked. */
export function isBusy(error: unknown): boolean {
  return [codes.busy, codes.locked].some((code) => code === codeOf(error))
}

/** What a person can do about an error of the database. The transaction was rolled back: nothing is half done. */
export function faultOf(error: unknown, file: string): SluiceError {
  if (isSluiceError(error)) return error
  const [code, message] = sentenceOf(codeOf(error), file, messageOf(error))
  return new SluiceError(code, message, { file, sqlite: codeOf(error) }, error)
}

function sentenceOf(code: number | null, file: string, message: string): readonly [SluiceError['code'], string] {
  switch (code) {
    case codes.full:
      return ['internal', `The disk that holds ${file} is full. Nothing was changed. Free some space, then try again.`]
    case codes.readOnly:
    case codes.cannotOpen:
      return [
        'forbidden',
        `The database ${file} cannot be opened for writing: ${message}. Check that its folder exists and that this user may write to both, or name another file.`,
      ]
    case codes.notDatabase:
      return [
        'invalid',
        `${file} is no SQLite database, or its beginning is damaged. Nothing was changed. Name another file, or restore it from a backup.`,
      ]
    case codes.corrupt:
      return [
        'invalid',
        `The database ${file} is damaged: ${message}. Stop every process that uses it and restore it from a backup.`,
      ]
    case codes.busy:
    case codes.locked:
      return [
        'internal',
        `Another process kept the database ${file} locked for too long. Nothing was changed. Try again.`,
      ]
    case codes.inputOutput:
      return [
        'internal',
        `The disk that holds ${file} failed to read or write: ${message}. Nothing was acknowledged. Check the disk, then try again.`,
      ]
    case null:
      return ['internal', message]
    default:
      return ['internal', `The database ${file} refused a statement: ${message}.`]
  }
}
