import { readFile } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { messageOf, SluiceError } from '../errors.ts'

/** JSON that is typed, or read from a file (`@file`) or from standard input (`-`). */
export async function jsonOf(given: string, input: Readable, what: string): Promise<unknown> {
  const content =
    given === '-' ? await text(input) : given.startsWith('@') ? await readFile(given.slice(1), 'utf8') : given
  try {
    return JSON.parse(content)
  } catch (error) {
    throw new SluiceError('invalid', `${what} must be JSON, @FILE or - for standard input: ${messageOf(error, 200)}`)
  }
}
