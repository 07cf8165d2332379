import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path'
import { z } from 'zod'

/**
 * A file or folder as a parameter. A relative one is taken from where the job is started, not from where it runs. The mark `path` tells
 * the family to check it where only some folders may be used.
 */
export const path = z
  .string()
  .min(1, 'expected a path')
  .max(4_096, 'expected a path of up to 4096 characters')
  .refine((text) => !text.includes('\0'), 'expected a path without a zero character')
  .transform((text) => resolve(text))
  .meta({ path: true })

/** Sets of folders. A place is allowed if each set has a folder that holds it; without any set every place is. */
export type Boundaries = readonly (readonly string[])[]

/** Whether a place lies in these folders. It must be without links: a `realpath`. */
export async function isWithin(place: string, boundaries: Boundaries): Promise<boolean> {
  for (const roots of boundaries) {
    if (!(await isBelowOne(place, roots))) return false
  }
  return true
}

async function isBelowOne(place: string, roots: readonly string[]): Promise<boolean> {
  for (const root of roots) {
    const way = relative(await realpath(root).catch(() => resolve(root)), place)
    if (way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))) return true
  }
  return false
}

/**
 * Whether a path that need not lead anywhere yet stays in these folders: the nearest place above it that exists decides. A place that
 * cannot be resolved is not allowed, whatever the cause: an answer must not tell what exists outside.
 */
export async function leadsWithin(path: string, boundaries: Boundaries): Promise<boolean> {
  for (let above = resolve(path); ; above = dirname(above)) {
    try {
      return await isWithin(await realpath(above), boundaries)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if ((code !== 'ENOENT' && code !== 'ENOTDIR') || dirname(above) === above) return false
      // A link that leads nowhere yet may lead anywhere later.
      if ((await lstat(above).catch(() => null))?.isSymbolicLink()) return false
    }
  }
}

/**
 * Opens a file for reading, and looks where it really lies once it is open: a link that is exchanged between a check and the opening
 * leads nowhere. Null: it lies outside.
 */
export async function openWithin(path: string, boundaries: Boundaries): Promise<FileHandle | null> {
  if (boundaries.length === 0) return open(path, 'r')
  // Without waiting: a pipe would keep the caller until somebody writes to it.
  const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    if (await isHandleWithin(handle, path, boundaries)) return handle
  } catch (error) {
    await handle.close()
    throw error
  }
  await handle.close()
  return null
}

/** Whether what is open is what the path leads to, and lies in these folders. */
export async function isHandleWithin(handle: FileHandle, path: string, boundaries: Boundaries): Promise<boolean> {
  if (boundaries.length === 0) return true
  const place = await realpath(path).catch(() => null)
  if (place === null || !(await isWithin(place, boundaries))) return false
  const [own, there] = await Promise.all([handle.stat(), stat(place).catch(() => null)])
  return there !== null && isSameFile(own, there)
}

function isSameFile(one: Stats, other: Stats): boolean {
  return one.ino === other.ino && one.dev === other.dev
}
