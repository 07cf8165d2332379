import { SluiceError } from 'sluice'

/** What is wrong with the content of an element: it fails of it again, however often it is tried. */
const ofContent: ReadonlySet<string> = new Set([
  'NUL byte',
  'broken JSON',
  'comment without parent',
  'control character',
  'empty element',
  'hnId is missing',
  'id and hnId differ',
  'invalid UTF-8',
  'key __proto__',
  'missing id',
  'missing type',
  'nested too deep',
  'not an object',
  'null element',
  'number beyond 2^53',
  'pollopt without poll',
  'too long',
  'type is missing or unknown',
  'unknown type',
])

export function isOfContent(reason: string): boolean {
  return ofContent.has(reason) || reason.startsWith('wrong value of ')
}

/** Of an error for which no phrase is known. */
export const unknownTrouble = 'processing failed'

/** The phrase that errors are counted by; what the error says is kept beside it. Faults of files and of the catalogue bring their own. */
export function troubleOf(error: unknown): string {
  const { reason } = error instanceof SluiceError ? error.detail : {}
  return typeof reason === 'string' ? reason : unknownTrouble
}

/** The message of an error after which nothing is tried any more. */
export function lastMessage(message: string, attempts: number): string {
  return attempts < 2 ? message : `${message.replace(/\.$/, '')}. It was tried ${attempts} times.`
}
