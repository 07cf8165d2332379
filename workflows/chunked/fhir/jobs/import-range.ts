import { join } from 'node:path'
import { fail, type StepDetails } from 'sluice/chunked'
import { z } from 'zod'
import type { ImportAnswer } from '../desk/wire.ts'
import type { Issue } from '../issue.ts'
import { type Line, type LineBatch, readLines } from '../ndjson.ts'
import { BadLines } from './bad-lines.ts'
import { badSample, type LineCounts, lineCounts, noLines, sumOf, type TypeCounts, typeCounts } from './import-counts.ts'
import { errorFolder, type LineRange } from './import-file.ts'
import { openFor } from './job-file.ts'
import { stateOf } from './line-ranges.ts'
import { accessProblem } from './place.ts'
import type { OpenFile } from './plain-copy.ts'
import type { Workshop } from './workshop.ts'

/** What a range of lines came to. */
export const rangeOutcome = z.strictObject({
  mark: z.string(),
  begun: z.number(),
  file: z.string(),
  fileIndex: z.int(),
  bytes: z.int(),
  sha256: z.string().nullable(),
  counts: lineCounts,
  types: z.record(z.string(), typeCounts),
  refusedBy: z.record(z.string(), z.int()),
  samples: z.array(badSample),
  /** The name of the file that tells of its bad lines. */
  errors: z.string().nullable(),
  errorsLeftOut: z.int(),
})

export type RangeOutcome = z.infer<typeof rangeOutcome>

/** Bad lines that one range tells its reducer about. */
const samplesOfRange = 5
const sampleChars = 300
const noAnswer: ImportAnswer = { verdicts: [], refused: [], types: {} }

/**
 * Checks and stores the lines of a range, group by group. What is counted is what the desk says of each group, and it says the
 * same however often the group comes. A crash
 * - before a group is stored: the next attempt stores it;
 * - after a group is stored, before its counts are kept: counts are kept with the end of the chunk only. The next attempt hands the
 *   group over again, under the same key, and is told what the lost one was told: created stays created, nothing is written;
 * - between the file of bad lines and the end of the chunk: the next attempt writes the same file in its place;
 * - of another process that holds this chunk still, and writes on: its groups have the same keys.
 * The key is the chunk's, not its generation's: when a person runs a failed range again, what was stored before counts as it was.
 */
export async function importRange(
  details: StepDetails<{ readonly index: boolean }, LineRange>,
  workshop: Workshop,
): Promise<RangeOutcome> {
  const { desk, folder, limits, lineBytesMax } = workshop
  const { data, parameters, job, chunk, attempt, signal, progress } = details
  const { mark, begun, file, range, from, to, sha256 } = data
  const name = `${String(file.index).padStart(5, '0')}-${String(range).padStart(5, '0')}.ndjson`
  const errorPath = join(errorFolder(folder, job.id, mark), name)
  const bad = new BadLines(errorPath, file.name, attempt, limits.errorLinesMax)
  const tally = new RangeTally(file.name)
  let offset = from.offset
  try {
    for await (const batch of linesOf(data, openFor(job, mark, workshop), {
      lineBytesMax,
      linesMax: limits.groupLines,
      bytesMax: limits.groupBytes,
    })) {
      signal.throwIfAborted()
      const lines = batch.lines.flatMap((line) => ('text' in line ? [{ line: line.line, text: line.text }] : []))
      const { type, source } = file
      const key = `${mark}:${chunk.id}:${offset}`
      const group = {
        source,
        reading: mark,
        key,
        index: parameters.index,
        collection: job.collection,
        lines,
        ...(type === null ? {} : { type }),
      }
      const answer = lines.length === 0 ? noAnswer : await desk.import(group)
      for (const one of refusedOf(batch, answer)) {
        tally.refuse(one)
        await bad.add({ line: one.line.line, offset: one.line.offset, issues: one.issues })
      }
      tally.add(batch, answer)
      offset = batch.next.offset
      progress({ lines: tally.counts.lines })
    }
    const errors = await bad.publish(signal)
    const { counts, types, refusedBy, samples } = tally
    const bytes = to - from.offset
    const told = { counts, types, refusedBy, samples, errors, errorsLeftOut: bad.leftOut }
    return { mark, begun, file: file.name, fileIndex: file.index, bytes, sha256, ...told }
  } finally {
    await bad.discard()
  }
}

async function* linesOf(
  { path, size, changedMs, from, to }: LineRange,
  open: OpenFile,
  limits: { readonly lineBytesMax: number; readonly linesMax: number; readonly bytesMax: number },
): AsyncGenerator<LineBatch> {
  const handle = await open(path).catch((error: unknown) => {
    // An outcome says all that there is to say.
    if (!(error instanceof Error)) throw error
    const { reason, message } = accessProblem(error, path)
    throw fail(reason, `${message} It was there when the job began; start another job.`)
  })
  try {
    const state = await stateOf(handle)
    if (state.size !== size || state.changedMs !== changedMs) {
      throw fail('file changed', `${path} was changed after it had been divided into ranges. Start another job for it.`)
    }
    if (to <= from.offset) return
    const stream = handle.createReadStream({
      start: from.offset,
      end: to - 1,
      autoClose: false,
      highWaterMark: 256 * 1024,
    })
    yield* readLines(stream as AsyncIterable<Buffer>, { from, ...limits })
  } finally {
    await handle.close()
  }
}

interface RefusedLine {
  readonly line: Line
  readonly issues: readonly Issue[]
}

/** Those that could not be read and those that the desk refused, in the order of the file. */
function refusedOf({ lines }: LineBatch, { refused }: ImportAnswer): RefusedLine[] {
  const byLine = new Map(refused.map(({ line, issues }) => [line, issues]))
  return lines.flatMap((line) => {
    const issues = 'problem' in line ? [{ path: '', ...line.problem }] : byLine.get(line.line)
    return issues ? [{ line, issues }] : []
  })
}

class RangeTally {
  readonly #file: string
  counts: LineCounts = noLines
  readonly types: Record<string, TypeCounts> = {}
  readonly refusedBy: Record<string, number> = {}
  readonly samples: RangeOutcome['samples'] = []

  constructor(file: string) {
    this.#file = file
  }

  add({ lines, blank }: LineBatch, { types }: ImportAnswer): void {
    this.counts = sumOf<keyof LineCounts>(this.counts, { lines: lines.length, blank })
    for (const [type, counts] of Object.entries(types)) {
      this.counts = sumOf<keyof LineCounts>(this.counts, counts)
      this.types[type] = sumOf(this.types[type] ?? { created: 0, updated: 0, unchanged: 0, superseded: 0 }, counts)
    }
  }

  /** A line is counted by the first of its issues. */
  refuse({ line: { line }, issues }: RefusedLine): void {
    const { code, path, message } = issues[0]!
    this.counts = sumOf<keyof LineCounts>(this.counts, { refused: 1 })
    this.refusedBy[code] = (this.refusedBy[code] ?? 0) + 1
    if (this.samples.length >= samplesOfRange) return
    const cut = (text: string) => text.slice(0, sampleChars)
    this.samples.push({ file: this.#file, line, code, message: cut(message), path: cut(path) })
  }
}
