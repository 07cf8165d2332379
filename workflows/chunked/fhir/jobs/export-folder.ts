import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Boundaries, leadsWithin } from 'sluice/chunked'
import { accessProblem, outside, type Problem } from './place.ts'

/** Stands in the folder until the manifest does. */
export const claimName = '.export-under-way'

/**
 * Takes an empty folder for one export. Two exports into one folder would write the same names; and what an earlier one left
 * would pass for a part of this one.
 */
export async function claimFolder(folder: string, boundaries: Boundaries, owner: string): Promise<Problem | null> {
  if (!(await leadsWithin(folder, boundaries))) return outside(folder)
  try {
    await mkdir(folder, { recursive: true })
    if (!(await leadsWithin(folder, boundaries))) return outside(folder)
    const claim = join(folder, claimName)
    try {
      // Whoever makes it has the folder: there is no moment between looking and taking.
      await writeFile(claim, owner, { flag: 'wx' })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      if ((await readFile(claim, 'utf8')) !== owner) return taken(folder, 'another export is, or was, writing into it')
    }
    const others = (await readdir(folder)).filter((name) => name !== claimName)
    if (others.length === 0) return null
    await rm(claim, { force: true })
    return taken(folder, `there are ${others.length} files in it, such as ${others[0]}`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
      return { reason: 'not a folder', message: `${folder} is a file; an export needs a folder.` }
    }
    return accessProblem(error, folder)
  }
}

function taken(folder: string, why: string): Problem {
  return {
    reason: 'folder not empty',
    message: `${folder} cannot be exported into: ${why}. Name another folder, or empty this one.`,
  }
}
