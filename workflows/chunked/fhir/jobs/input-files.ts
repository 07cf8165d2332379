import { constants } from 'node:fs'
import { access, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Boundaries } from 'sluice/chunked'
import { dialErrorDetail, display } from 'sluice/dial'
import { messageOf } from 'sluice/errors'
import { dialProblem } from './dial-problem.ts'
import { type ImportFile, manifestName, nameOf, pathSource, urlSource } from './import-file.ts'
import type { ImportInput } from './import-parameters.ts'
import { accessProblem, type Problem, realPlace } from './place.ts'
import type { Workshop } from './workshop.ts'

export type FoundFile = Pick<ImportFile, 'name' | 'source' | 'type' | 'url' | 'path' | 'problem'>

export interface Listing {
  readonly files: readonly FoundFile[]
  readonly warnings: readonly string[]
}

const ndjsonName = /\.(ndjson|jsonl)(\.gz)?$/i
const headsAtOnce = 16
const headMs = 30_000

/** All files of all inputs, in order, each with what keeps it from being read. */
export async function listInputs(
  inputs: readonly ImportInput[],
  acceptGzip: boolean,
  workshop: Workshop,
  boundaries: Boundaries,
  signal: AbortSignal,
): Promise<Listing> {
  const listings: Listing[] = []
  for (let at = 0; at < inputs.length; at += headsAtOnce) {
    signal.throwIfAborted()
    const group = inputs.slice(at, at + headsAtOnce)
    listings.push(
      ...(await Promise.all(group.map((input) => listInput(input, acceptGzip, workshop, boundaries, signal)))),
    )
  }
  return { files: listings.flatMap(({ files }) => files), warnings: listings.flatMap(({ warnings }) => warnings) }
}

async function listInput(
  input: ImportInput,
  acceptGzip: boolean,
  workshop: Workshop,
  boundaries: Boundaries,
  signal: AbortSignal,
): Promise<Listing> {
  const { url, file, folder } = input
  const type = input.type ?? null
  if (url !== undefined) {
    const shown = display(url)
    const problem = await urlProblem(url, acceptGzip, workshop, signal)
    return { files: [{ name: shown, source: urlSource(url, shown), type, url, path: null, problem }], warnings: [] }
  }
  if (file !== undefined) return { files: [await localFile(file, type, workshop, boundaries)], warnings: [] }
  return listFolder(folder!, type, workshop, boundaries)
}

/** Only what lies in the folder itself and is called NDJSON. */
async function listFolder(
  folder: string,
  type: string | null,
  workshop: Workshop,
  boundaries: Boundaries,
): Promise<Listing> {
  const found = await realPlace(folder, boundaries)
  if ('problem' in found) return { files: [unreadable(folder, type, found.problem)], warnings: [] }
  let names: readonly string[]
  try {
    names = (await readdir(found.place)).filter((name) => !name.startsWith('.')).sort()
  } catch (error) {
    return { files: [unreadable(folder, type, folderProblem(error, folder))], warnings: [] }
  }
  const wanted = names.filter((name) => ndjsonName.test(name))
  const files: FoundFile[] = []
  for (const name of wanted) files.push(await localFile(join(folder, name), type, workshop, boundaries))
  const others = names.filter((name) => !ndjsonName.test(name) && name !== manifestName).length
  const warnings = [
    ...(wanted.length === 0
      ? [`There are no files in ${nameOf(folder)} that end with .ndjson or .jsonl (or these with .gz).`]
      : []),
    ...(others > 0 && wanted.length > 0 ? [`${others} other files in ${nameOf(folder)} were passed over.`] : []),
  ]
  return { files, warnings }
}

function folderProblem(error: unknown, folder: string): Problem {
  if ((error as NodeJS.ErrnoException).code !== 'ENOTDIR') return accessProblem(error, folder)
  return { reason: 'not a folder', message: `${folder} is a file; name it as file, not as folder.` }
}

async function localFile(
  file: string,
  type: string | null,
  { limits }: Workshop,
  boundaries: Boundaries,
): Promise<FoundFile> {
  const found = await realPlace(file, boundaries)
  if ('problem' in found) return unreadable(file, type, found.problem)
  const { place } = found
  const problem = await readingProblem(place, limits.fileBytesMax)
  return { name: nameOf(place), source: pathSource(place), type, url: null, path: place, problem }
}

async function readingProblem(place: string, bytesMax: number): Promise<Problem | null> {
  try {
    const stats = await stat(place)
    // Anything else, a pipe for one, might never end.
    if (!stats.isFile()) {
      const message = `${place} is ${stats.isDirectory() ? 'a folder; name it as folder, not as file' : 'no plain file'}.`
      return { reason: 'not a file', message }
    }
    if (stats.size > bytesMax) return tooBig(place, bytesMax)
    await access(place, constants.R_OK)
    return null
  } catch (error) {
    return accessProblem(error, place)
  }
}

export function tooBig(place: string, bytesMax: number): Problem {
  return { reason: 'file too big', message: `${place} has more than the ${bytesMax} bytes that are taken.` }
}

function unreadable(place: string, type: string | null, problem: Problem): FoundFile {
  return { name: nameOf(place), source: pathSource(place), type, url: null, path: place, problem }
}

/**
 * What can be known before anything is fetched: whether the guard lets it pass, and whether it is too big. What a server answers
 * to a HEAD otherwise proves little: some allow a signed URL to be fetched and nothing else, some are down for a moment.
 */
async function urlProblem(
  url: string,
  acceptGzip: boolean,
  { dialer, limits }: Workshop,
  signal: AbortSignal,
): Promise<Problem | null> {
  try {
    const { fileBytesMax: bytesMax } = limits
    await dialer().head(url, { timeoutMs: headMs, idleMs: headMs, bytesMax, acceptGzip, signal })
    return null
  } catch (error) {
    signal.throwIfAborted()
    const detail = dialErrorDetail(error)
    if (detail === null) throw error
    const isGone = detail.status === 404 || detail.status === 410
    if (detail.retryable || (detail.reason === 'status' && !isGone)) return null
    if (detail.reason === 'closed' || detail.reason === 'encoding' || detail.reason === 'protocol') return null
    return dialProblem(detail, messageOf(error))
  }
}
