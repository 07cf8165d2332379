import { InvalidArgumentError } from 'commander'
import { messageOf } from '../errors.ts'
import { parseSize } from './size.ts'

/** Readers of what is typed after an option: the value, or a sentence that names what was expected. */
export function wholeNumber(text: string): number {
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (Number.isSafeInteger(number)) return number
  throw new InvalidArgumentError('A whole number, 0 or above, was expected.')
}

/** Rows of a page: as many as the store gives at once. */
export function pageSize(text: string): number {
  const size = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (size >= 1 && size <= 1_000) return size
  throw new InvalidArgumentError('A whole number from 1 to 1,000 was expected.')
}

export function signedNumber(text: string): number {
  if (/^-?\d{1,15}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('A whole number was expected.')
}

export function share(text: string): number {
  const number = /^\d{0,3}(\.\d{1,9})?%?$/.test(text) && /\d/.test(text) ? Number.parseFloat(text) : Number.NaN
  const value = text.endsWith('%') ? number / 100 : number
  if (value >= 0 && value <= 1) return value
  throw new InvalidArgumentError('A share between 0 and 1 (or 0% and 100%) was expected.')
}

export function size(text: string): number {
  try {
    return parseSize(text)
  } catch (error) {
    throw new InvalidArgumentError(messageOf(error))
  }
}

/** A day, a moment, or seconds since 1970; given as those seconds. */
export function unixTime(text: string): number {
  if (/^\d{1,12}$/.test(text)) return Number(text)
  const time = /^\d{4}-\d{2}-\d{2}([T ][\d:.]+(Z|[+-]\d{2}:?\d{2})?)?$/.test(text)
    ? Date.parse(inUtc(text))
    : Number.NaN
  if (Number.isFinite(time)) return Math.floor(time / 1_000)
  throw new InvalidArgumentError('A time such as 2024-05-31, 2024-05-31T12:00:00Z or 1717156800 was expected.')
}

/** A moment without a zone would mean another one on every machine. */
function inUtc(text: string): string {
  const moment = text.replace(' ', 'T')
  return moment.length === 10 || /(Z|[+-]\d{2}:?\d{2})$/.test(moment) ? moment : `${moment}Z`
}

export function oneOf<T extends string>(...values: readonly T[]): (text: string) => T {
  return (text) => {
    const value = values.find((one) => one === text)
    if (value !== undefined) return value
    throw new InvalidArgumentError(`One of ${values.join(', ')} was expected.`)
  }
}

/** For options that may be given several times, or once with commas. */
export function listOf<T>(read: (text: string) => T): (text: string, before?: readonly T[]) => readonly T[] {
  return (text, before = []) => [...before, ...text.split(',').map((part) => read(part.trim()))]
}

/** Files may have commas in their names: one for each option. */
export function eachOf(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text]
}

/** `name=value`. */
export function labelValue(text: string): { readonly name: string; readonly value: string } {
  const at = text.indexOf('=')
  if (at > 0 && at < text.length - 1) return { name: text.slice(0, at), value: text.slice(at + 1) }
  throw new InvalidArgumentError('NAME=VALUE was expected.')
}
