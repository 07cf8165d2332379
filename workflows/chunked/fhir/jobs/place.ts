import type { FileHandle } from 'node:fs/promises'
import { realpath } from 'node:fs/promises'
import { type Boundaries, fail, isWithin, leadsWithin, openWithin, type StepJob } from 'sluice/chunked'
import { messageOf } from 'sluice/errors'
import type { Workshop } from './workshop.ts'

/** Why something is not what it should be: the reason is a short stable phrase, by which failures are counted. */
export interface Problem {
  readonly reason: string
  readonly message: string
}

/**
 * Where a job may read and write: what this process allows to all jobs; and to a job that brought limits of its own, these and what this
 * process allows to such jobs.
 */
export function boundariesOf(
  { roots, networkRoots }: Pick<Workshop, 'roots' | 'networkRoots'>,
  job: Pick<StepJob, 'roots'>,
): Boundaries {
  return [roots, job.roots, job.roots === null ? null : networkRoots].filter((some) => some !== null)
}

/** The place itself, without links; a problem if there is none, or if it lies outside. */
export async function realPlace(
  text: string,
  boundaries: Boundaries,
): Promise<{ readonly place: string } | { readonly problem: Problem }> {
  // Asked first: what is refused must not tell whether it exists.
  if (boundaries.length > 0 && !(await leadsWithin(text, boundaries))) return { problem: outside(text) }
  let place: string
  try {
    place = await realpath(text)
  } catch (error) {
    return { problem: accessProblem(error, text) }
  }
  return (await isWithin(place, boundaries)) ? { place } : { problem: outside(text) }
}

/** Opens what was found before, if it still lies where the job may read. */
export async function openAllowed(path: string, boundaries: Boundaries): Promise<FileHandle> {
  const handle = await openWithin(path, boundaries)
  if (handle) return handle
  const { reason, message } = outside(path)
  throw fail(reason, message)
}

export function outside(text: string): Problem {
  return { reason: 'file not allowed', message: `${text} lies outside of the folders that this job may use.` }
}

/** Errors of the file system that another attempt does not cure; others are thrown. */
export function accessProblem(error: unknown, text: string): Problem {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return { reason: 'no such file', message: `${text} does not exist.` }
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
