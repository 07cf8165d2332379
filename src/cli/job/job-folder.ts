import { mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { newFolder, written } from '../command-process.ts'

/** For tests: a folder as a user has it, where the package and zod can be imported, with a module of jobs. */
export function jobFolder(module?: string): string {
  const cwd = newFolder()
  mkdirSync(join(cwd, 'node_modules'))
  for (const name of ['sluice', 'zod']) {
    const root = dirname(fileURLToPath(import.meta.resolve(`${name}/package.json`)))
    symlinkSync(root, join(cwd, 'node_modules', name), 'dir')
  }
  if (module !== undefined) written(cwd, 'jobs.ts', module)
  return cwd
}
