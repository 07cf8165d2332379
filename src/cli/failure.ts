import { type ErrorCode, errorStatus, isSluiceError, messageOf } from '../errors.ts'
import { masked } from '../masked.ts'
import { plain } from './text.ts'

/** One sentence for a person, and no stack trace: whoever mistyped a name does not want to see our insides. */
export function sentenceOf(error: unknown): string {
  return plain(inOptions(masked(systemSentence(error) ?? messageOf(error)).replaceAll(/\s*\n\s*/g, ' ')), 2_000)
}

export function codeOf(error: unknown): ErrorCode {
  return isSluiceError(error) ? error.code : 'internal'
}

export function exitOf(error: unknown): number {
  return isSluiceError(error) ? errorStatus[error.code].exit : 2
}

/** Fields of the API that an option has under another name. */
const optionNames: Readonly<Record<string, string>> = {
  version: 'machine-version',
  states: 'state',
  afterSeq: 'after',
  labelName: 'label',
  labelValue: 'label',
}

/** What a server says of its parameters, in the words of the command line; what a schema says of a number, in words. */
function inOptions(message: string): string {
  return message
    .replaceAll(/\bquery ([a-z]+)\b(?=[:.])/gi, (_, field: string) => `--${optionNames[field] ?? kebab(field)}`)
    .replaceAll(/Too small: expected \w+ to be >=?\s*(-?\d+)/g, 'it must be at least $1')
    .replaceAll(/Too big: expected \w+ to be <=?\s*(-?\d+)/g, 'it must be at most $1')
}

function kebab(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** What the system says in letters, in words. */
function systemSentence(error: unknown): string | null {
  if (!(error instanceof Error) || isSluiceError(error)) return null
  const { code, path } = error as NodeJS.ErrnoException
  const name = path ?? 'A file'
  switch (code) {
    case 'ENOENT':
      return `${name} does not exist.`
    case 'EACCES':
    case 'EPERM':
      return `${name} may not be read or written by this user.`
    case 'EISDIR':
      return `${name} is a folder, not a file.`
    case 'ENOTDIR':
      return `${name} lies below something that is not a folder.`
    case 'ENOSPC':
      return `There is no room left on the disk${path ? ` for ${path}` : ''}. Nothing is lost; make room and run the same command again.`
    case 'EADDRINUSE':
      return `Something listens there already (${placeOf(error)}). Stop it, or choose another address by --listen.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `This machine has no such address (${placeOf(error)}).`
    case 'EROFS':
      return `${name} lies on a disk that is read only.`
    default:
      return null
  }
}

function placeOf(error: Error): string {
  const { address, hostname, port } = error as { address?: string; hostname?: string; port?: number }
  return [address ?? hostname ?? 'unknown', ...(port === undefined ? [] : [port])].join(':')
}
