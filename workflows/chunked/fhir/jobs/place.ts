import { realpath } from 'node:fs/promises'
import { dirname, isAbsolute, relative, resolve } from 'node:path'
import { messageOf } from 'sluice/errors'
import { z } from 'zod'

/** A file or folder as a parameter. A relative one is taken from where the job is started, not from where it runs. */
export const path = z
  .string()
  .min(1, 'expected a path')
  .max(4_096, 'expected a path of up to 4096 characters')
  .refine((text) => !text.includes('\0'), 'expected a path without a zero character')
  .transform((text) => resolve(text))

/** Why something is not what it should be: the reason is a short stable phrase, by which failures are counted. */
export interface Problem {
  readonly reason: string
  readonly message: string
}

/** The place itself, without links; a problem if there is none, or if it lies outside of the roots. */
export async function realPlace(
  text: string,
  roots: readonly string[] | null,
): Promise<{ readonly place: string } | { readonly problem: Problem }> {
  let place: string
  try {
    place = await realpath(text)
  } catch (error) {
    return { problem: accessProblem(error, text) }
  }
  return (await isAllowed(place, roots)) ? { place } : { problem: outside(text) }
}

/** For something that may not be there yet: the nearest folder above that is there decides. */
export async function futurePlace(text: string, roots: readonly string[] | null): Promise<Problem | null> {
  for (let above = text; ; above = dirname(above)) {
    const found = await realPlace(above, roots)
    if ('place' in found) return null
    if (found.problem.reason !== noSuch || dirname(above) === above) return found.problem
  }
}

async function isAllowed(place: string, roots: readonly string[] | null): Promise<boolean> {
  if (roots === null) return true
  for (const root of roots) {
    const way = relative(await realpath(root).catch(() => root), place)
    if (way === '' || (!way.startsWith('..') && !isAbsolute(way))) return true
  }
  return false
}

const noSuch = 'no such file'

function outside(text: string): Problem {
  return { reason: 'file not allowed', message: `${text} lies outside of the folders that jobs may use.` }
}

/** Errors of the file system that another attempt does not cure; others are thrown. */
export function accessProblem(error: unknown, text: string): Problem {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return { reason: noSuch, message: `${text} does not exist.` }
    case 'EACCES':
    case 'EPERM':
      return { reason: 'file not readable', message: `${text} may not be read by this process: ${messageOf(error)}.` }
    case 'ELOOP':
    case 'ENAMETOOLONG':
    case 'EISDIR':
      return { reason: 'not a file', message: `${text} cannot be read: ${messageOf(error)}.` }
    default:
      throw error
  }
}
