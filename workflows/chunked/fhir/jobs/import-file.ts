import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import { typeName } from './resource-types.ts'

/** What all chunks of one import have from its first step. */
const whole = {
  /** Made by chance when the files were listed: names what this job keeps, also where several stores share a folder. */
  mark: z.string(),
  begun: z.number(),
}

const problem = z.strictObject({ reason: z.string(), message: z.string() })

/** A file to import. */
export const importFile = z.strictObject({
  ...whole,
  index: z.int(),
  /** For people. */
  name: z.string(),
  /** What the ids of resources without one are made from: the same whenever the same file is imported. */
  source: z.string(),
  type: typeName.nullable(),
  /** One of both. */
  url: z.string().nullable(),
  path: z.string().nullable(),
  /** Why it cannot be had; its chunk fails then. */
  problem: problem.nullable(),
})

export type ImportFile = z.infer<typeof importFile>

/** Bytes of a file from the beginning of a line to the beginning of another, or to the end. */
export const lineRange = z.strictObject({
  ...whole,
  file: z.strictObject({ index: z.int(), name: z.string(), source: z.string(), type: typeName.nullable() }),
  path: z.string(),
  /** What the file was like when it was divided: if it is another, the ranges do not fit. */
  size: z.int(),
  changedMs: z.number(),
  range: z.int(),
  from: z.strictObject({ offset: z.int(), line: z.int() }),
  to: z.int(),
  /** Of the whole content; only the last range has it. */
  sha256: z.string().nullable(),
})

export type LineRange = z.infer<typeof lineRange>

/** Where an import keeps copies of what it cannot read in place; gone when it is complete. */
export function downloadFolder(folder: string, job: number, mark: string): string {
  return join(folder, 'downloads', `${job}-${mark}`)
}

/** Where an import writes down which lines are bad, and why. */
export function errorFolder(folder: string, job: number, mark: string): string {
  return join(folder, 'errors', `${job}-${mark}`)
}

const nameMax = 300

/** Stands beside the files of an export. */
export const manifestName = 'manifest.json'

/** URLs hide keys in what is not shown of them; but two that differ there are two files. */
export function urlSource(url: string, shown: string): string {
  return `${shown.slice(0, nameMax)}#${createHash('sha256').update(url).digest('hex').slice(0, 16)}`
}

export function pathSource(path: string): string {
  return path.length <= nameMax
    ? path
    : `${nameOf(path)}#${createHash('sha256').update(path).digest('hex').slice(0, 16)}`
}

/** The end of a long path says more than its beginning. */
export function nameOf(path: string): string {
  return path.length <= nameMax ? path : `…${path.slice(-nameMax)}`
}
