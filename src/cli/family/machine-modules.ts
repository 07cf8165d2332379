import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { messageOf, SluiceError } from '../../errors.ts'
import type { Implementation } from '../../implementation.ts'

/** The machines in a module of the user's: what implement() returned, as default or as `implementations`; one, or a list. */
export async function implementationsIn(file: string): Promise<readonly Implementation[]> {
  const { default: whole, implementations } = await moduleOf(file)
  const given = [whole, implementations].filter((value) => value !== undefined)
  if (given.length === 0) {
    throw invalid(
      file,
      'exports no machines. Export what implement() returned, or a list of it, as default or as `implementations`',
    )
  }
  const values = given.flatMap((value): readonly unknown[] => (Array.isArray(value) ? value : [value]))
  if (values.length === 0) throw invalid(file, 'exports an empty list of machines')
  const faults = values.flatMap((value, index) =>
    isImplementation(value) ? [] : [`machines[${index}] was not made by implement()`],
  )
  if (faults.length > 0) throw invalid(file, `does not export machines: ${faults.join('; ')}`)
  // The same list is often exported under both names.
  return [...new Set(values as readonly Implementation[])]
}

async function moduleOf(file: string): Promise<{ readonly default?: unknown; readonly implementations?: unknown }> {
  const path = resolve(file)
  if (!existsSync(path)) throw new SluiceError('not_found', `The module of machines ${file} does not exist.`, { file })
  if (statSync(path).isDirectory()) throw invalid(file, 'is a folder; name a file')
  try {
    return await import(pathToFileURL(path).href)
  } catch (error) {
    throw invalid(file, `could not be loaded: ${messageOf(error).replace(/\.$/, '')}`, error)
  }
}

function isImplementation(value: unknown): value is Implementation {
  if (typeof value !== 'object' || value === null) return false
  const { machine, processors, criteria, assigns } = value as Record<string, unknown>
  const { name, version, edges } = (machine ?? {}) as Record<string, unknown>
  const areBound = [processors, criteria, assigns].every((bound) => typeof bound === 'object' && bound !== null)
  return typeof name === 'string' && typeof version === 'number' && Array.isArray(edges) && areBound
}

function invalid(file: string, why: string, cause?: unknown): SluiceError {
  return new SluiceError('invalid', `The module of machines ${file} ${why}.`, { file }, cause)
}
