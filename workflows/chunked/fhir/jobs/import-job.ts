import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  defineJob,
  done,
  fail,
  type JobDefinition,
  type Sink,
  type StepDetails,
  type StepOutcome,
} from 'sluice/chunked'
import { dialOutcome } from './dial-problem.ts'
import { download, forget } from './download.ts'
import { downloadFolder, errorFolder, type ImportFile, importFile, type LineRange, lineRange } from './import-file.ts'
import { importParameters } from './import-parameters.ts'
import { importRange, rangeOutcome } from './import-range.ts'
import { gather, type ImportGathered, type ImportReport, nothingGathered, reportOf } from './import-report.ts'
import { type FoundFile, listInputs } from './input-files.ts'
import { openFor } from './job-file.ts'
import { rangesOf } from './line-ranges.ts'
import { accessProblem, boundariesOf } from './place.ts'
import { damaged, isGzip, type OpenFile, plainCopy } from './plain-copy.ts'
import type { Workshop } from './workshop.ts'

/** Reads NDJSON files of FHIR resources from URLs and folders, checks every line, and stores the good ones. */
export function importJob(workshop: Workshop): JobDefinition {
  const { folder, limits, tolerance, clock } = workshop
  const retry = { attemptsMax: 6, backoff: { firstMs: limits.retryMs, maxMs: 60_000 } }
  return defineJob({
    id: 'fhir-import',
    version: 1,
    description: 'Imports NDJSON files of FHIR R4 resources from URLs, files or folders',
    parameters: importParameters,
    tolerance,
  })
    .firstStep({
      id: 'fetch-files',
      description: 'Lists the files of all inputs, and looks whether they can be had',
      output: importFile,
      weight: 0.01,
      run: async ({ job, parameters: { inputs, acceptGzip }, signal, now }, sink) => {
        const begun = now()
        await sweepDownloads(folder, begun - limits.downloadKeepMs)
        const { files, warnings } = await listInputs(inputs, acceptGzip, workshop, boundariesOf(workshop, job), signal)
        for (const warning of warnings) sink.warn(warning)
        const refusal = refusalOf(files, workshop)
        if (refusal) return refusal
        // A crash before the end of this chunk makes another mark: the first one is then known to nobody.
        const mark = Math.floor(clock.random() * 36 ** 8)
          .toString(36)
          .padStart(8, '0')
        for (const [index, file] of files.entries()) await sink.accept({ mark, begun, index, ...file })
        return done()
      },
    })
    .step({
      id: 'split-files',
      description: 'Brings a file here if it is elsewhere, and divides it into ranges of lines',
      output: lineRange,
      concurrency: 4,
      timeoutMs: 24 * 60 * 60_000,
      retry,
      weight: 0.14,
      run: (details, sink) => splitFile(details, sink, workshop),
    })
    .step({
      id: 'import-lines',
      description: 'Checks the lines of a range and stores the good ones',
      concurrency: limits.importConcurrency,
      timeoutMs: 60 * 60_000,
      retry,
      weight: 0.84,
      output: rangeOutcome,
      run: async (details, sink) => {
        const outcome = await importRange(details, workshop)
        await sink.accept(outcome)
        return done(outcome.counts.lines)
      },
    })
    .reducer<ImportGathered, ImportReport>({
      id: 'report',
      description: 'Adds up what became of all lines',
      initial: () => nothingGathered,
      consume: (gathered, outcome) => gather(gathered, outcome, limits),
      report: async (gathered, { job, parameters: { allowedErrors }, now }) => {
        const { mark, counts } = gathered
        // All ranges are settled: nobody reads the copies any more.
        if (mark !== null) await rm(downloadFolder(folder, job.id, mark), { recursive: true, force: true })
        const errors = mark === null ? null : errorFolder(folder, job.id, mark)
        if (allowedErrors !== undefined && counts.refused > allowedErrors) {
          const message = `${counts.refused} of ${counts.lines} lines are bad, and ${allowedErrors} are allowed. They are told of in ${errors}; the good ones were stored.`
          throw fail('too many bad lines', message)
        }
        return reportOf(gathered, errors, now())
      },
    }) as JobDefinition
}

const toldMax = 10

/** Where no file may fail, nothing is imported before all can be had. Where some may, each fails by itself. */
function refusalOf(files: readonly FoundFile[], { tolerance, limits }: Workshop): StepOutcome | null {
  if (files.length > limits.filesMax) {
    return fail('too many files', `There are ${files.length} files; up to ${limits.filesMax} are taken by one job.`)
  }
  const mayFail = 'failures' in tolerance ? tolerance.failures > 0 : tolerance.percent > 0
  const problems = files.flatMap(({ problem }) => problem ?? [])
  if (mayFail || problems.length === 0) return null
  const told = problems.slice(0, toldMax).map(({ message }) => message)
  const more = problems.length > toldMax ? [`And ${problems.length - toldMax} more.`] : []
  return fail(problems[0]!.reason, [...told, ...more, 'Nothing was imported.'].join(' '))
}

/**
 * The ranges appear with the end of this chunk, all of them or none. A crash at any point before makes the next attempt begin again
 * with what is durable: the part of a download, the whole of it, or the unpacked copy.
 */
async function splitFile(
  details: StepDetails<{ readonly acceptGzip: boolean }, ImportFile>,
  sink: Sink<LineRange>,
  workshop: Workshop,
): Promise<StepOutcome> {
  const { data, job, signal } = details
  const { mark, begun, index, name, source, type, problem } = data
  if (problem) return fail(problem.reason, problem.message)
  const open = openFor(job, mark, workshop)
  try {
    const { path, sha256 } = await plainFile(details, workshop, open)
    for await (const range of rangesOf(path, open, workshop.limits.rangeBytes, signal)) {
      if (range.sha256 !== null && sha256 !== null && range.sha256 !== sha256) {
        await forget(path)
        throw damaged(name)
      }
      await sink.accept({ mark, begun, file: { index, name, source, type }, path, ...range })
    }
    return done()
  } catch (error) {
    signal.throwIfAborted()
    const outcome = dialOutcome(error)
    if (outcome) return outcome
    // Copies may be in the hands of an attempt that lost its lease: what is wrong with them is not for good.
    if (data.path === null || (error as NodeJS.ErrnoException).path !== data.path) throw error
    const { reason, message } = accessProblem(error, name)
    return fail(reason, message)
  }
}

/** The file as lines on this machine, and its digest if somebody has said it. */
async function plainFile(
  { data, parameters, job, attempt, signal, progress }: StepDetails<{ readonly acceptGzip: boolean }, ImportFile>,
  { folder, limits, clock, dialer }: Workshop,
  open: OpenFile,
): Promise<{ readonly path: string; readonly sha256: string | null }> {
  const { mark, index, name, url } = data
  const copies = downloadFolder(folder, job.id, mark)
  const copy = join(copies, String(index).padStart(5, '0'))
  const { acceptGzip } = parameters
  const tools = { dialer: dialer(), clock, limits, acceptGzip, attempt, signal, progress }
  const found = url === null ? { path: data.path!, sha256: null } : await download(url, `${copy}.fetched`, tools)
  if (!(await isGzip(found.path, open))) return found
  const plain = `${copy}.ndjson`
  await plainCopy(found.path, plain, name, open, {
    sha256: found.sha256,
    bytesMax: limits.fileBytesMax,
    attempt,
    signal,
  })
  return { path: plain, sha256: null }
}

/** Jobs that failed keep their copies for a rerun; for so long. */
async function sweepDownloads(folder: string, before: number): Promise<void> {
  const downloads = join(folder, 'downloads')
  for (const name of await readdir(downloads).catch(() => [])) {
    const path = join(downloads, name)
    const found = await stat(path).catch(() => null)
    if (found && found.mtimeMs < before) await rm(path, { recursive: true, force: true })
  }
}
