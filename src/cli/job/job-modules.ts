import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { JobDefinition } from 'sluice/chunked'
import { messageOf, SluiceError } from '../../errors.ts'

/** The definitions in a module of the user's: its default export, or what it exports as `jobs`; one, or a list. */
export async function definitionsIn(file: string): Promise<readonly JobDefinition[]> {
  const { default: whole, jobs } = await moduleOf(file)
  const given = [whole, jobs].filter((value) => value !== undefined)
  if (given.length === 0) {
    throw invalid(file, 'exports no jobs. Export a definition, or a list of them, as default or as `jobs`')
  }
  const values = given.flatMap((value): readonly unknown[] => (Array.isArray(value) ? value : [value]))
  if (values.length === 0) throw invalid(file, 'exports an empty list of jobs')
  const faults = values.flatMap((value, index) => faultOf(value).map((fault) => `jobs[${index}] ${fault}`))
  if (faults.length > 0) throw invalid(file, `does not export jobs: ${faults.join('; ')}`)
  // The same list is often exported under both names.
  return [...new Set(values as readonly JobDefinition[])]
}

async function moduleOf(file: string): Promise<{ readonly default?: unknown; readonly jobs?: unknown }> {
  const path = resolve(file)
  if (!existsSync(path)) throw new SluiceError('not_found', `The module of jobs ${file} does not exist.`, { file })
  if (statSync(path).isDirectory()) throw invalid(file, 'is a folder; name a file')
  try {
    return await import(pathToFileURL(path).href)
  } catch (error) {
    // A definition that is not sound says by itself what is wrong with it.
    throw invalid(file, `could not be loaded: ${messageOf(error).replace(/\.$/, '')}`, error)
  }
}

/** What keeps a value from being a definition; nothing if it is one. */
function faultOf(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [`is ${value === null ? 'null' : `a ${typeof value}`}`]
  const { id, version, steps, parameters, firstStep } = value as Record<string, unknown>
  if (typeof firstStep === 'function' && steps === undefined) return ['has no step; go on with firstStep']
  const isOne =
    typeof id === 'string' &&
    typeof version === 'number' &&
    Array.isArray(steps) &&
    typeof (parameters as { safeParse?: unknown } | undefined)?.safeParse === 'function'
  return isOne ? [] : ['was not made by defineJob']
}

function invalid(file: string, why: string, cause?: unknown): SluiceError {
  return new SluiceError('invalid', `The module of jobs ${file} ${why}.`, { file }, cause)
}
