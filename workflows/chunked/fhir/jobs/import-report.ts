import type { FhirLimits } from './fhir-limits.ts'
import { type BadSample, type LineCounts, noLines, sumOf, type TypeCounts } from './import-counts.ts'
import type { RangeOutcome } from './import-range.ts'

export interface FileReport extends LineCounts {
  readonly file: string
  readonly bytes: number
  /** Of the content, unpacked; null while ranges are missing. */
  readonly sha256: string | null
}

export interface ImportReport extends LineCounts {
  readonly bytes: number
  readonly seconds: number
  readonly refusedBy: Readonly<Record<string, number>>
  readonly types: Readonly<Record<string, TypeCounts>>
  readonly fileCount: number
  /** The first ones. */
  readonly files: readonly FileReport[]
  readonly errors: {
    readonly folder: string | null
    readonly fileCount: number
    /** The first ones. */
    readonly files: readonly string[]
    /** Bad lines beyond what is written down of one range. */
    readonly leftOut: number
  }
  /** The first bad lines. */
  readonly samples: readonly BadSample[]
}

/** What a reduction knows so far: bounded, however many files there are. */
export interface ImportGathered {
  readonly mark: string | null
  readonly begun: number | null
  readonly counts: LineCounts
  readonly bytes: number
  readonly refusedBy: Readonly<Record<string, number>>
  readonly types: Readonly<Record<string, TypeCounts>>
  readonly lastFile: number
  readonly fileCount: number
  readonly files: readonly FileReport[]
  readonly errorFileCount: number
  readonly errorFiles: readonly string[]
  readonly errorsLeftOut: number
  readonly samples: readonly BadSample[]
}

export const nothingGathered: ImportGathered = {
  mark: null,
  begun: null,
  counts: noLines,
  bytes: 0,
  refusedBy: {},
  types: {},
  lastFile: -1,
  fileCount: 0,
  files: [],
  errorFileCount: 0,
  errorFiles: [],
  errorsLeftOut: 0,
  samples: [],
}

/** Ranges come file by file, in the order in which files were divided. */
export function gather(before: ImportGathered, outcome: RangeOutcome, limits: FhirLimits): ImportGathered {
  const isNew = outcome.fileIndex !== before.lastFile
  const fileCount = before.fileCount + (isNew ? 1 : 0)
  const types = { ...before.types }
  for (const [type, counts] of Object.entries(outcome.types)) types[type] = sumOf(types[type] ?? {}, counts)
  return {
    mark: outcome.mark,
    begun: outcome.begun,
    counts: sumOf(before.counts, outcome.counts),
    bytes: before.bytes + outcome.bytes,
    refusedBy: sumOf(before.refusedBy, outcome.refusedBy),
    types,
    lastFile: outcome.fileIndex,
    fileCount,
    files: fileCount > limits.filesToldMax ? before.files : filesWith(before.files, outcome, isNew),
    errorFileCount: before.errorFileCount + (outcome.errors === null ? 0 : 1),
    errorFiles: [...before.errorFiles, ...(outcome.errors === null ? [] : [outcome.errors])].slice(
      0,
      limits.filesToldMax,
    ),
    errorsLeftOut: before.errorsLeftOut + outcome.errorsLeftOut,
    samples: [...before.samples, ...outcome.samples].slice(0, limits.samplesMax),
  }
}

function filesWith(files: readonly FileReport[], outcome: RangeOutcome, isNew: boolean): readonly FileReport[] {
  const last = isNew ? null : (files.at(-1) ?? null)
  const file: FileReport = {
    file: outcome.file,
    ...sumOf<keyof LineCounts>(last ? countsOf(last) : noLines, outcome.counts),
    bytes: (last?.bytes ?? 0) + outcome.bytes,
    sha256: outcome.sha256,
  }
  return [...(last ? files.slice(0, -1) : files), file]
}

function countsOf({ file: _file, bytes: _bytes, sha256: _sha256, ...counts }: FileReport): LineCounts {
  return counts
}

export function reportOf(gathered: ImportGathered, errorFolder: string | null, now: number): ImportReport {
  const { counts, bytes, begun, refusedBy, types, fileCount, files, errorFileCount, errorFiles, samples } = gathered
  return {
    ...counts,
    bytes,
    seconds: begun === null ? 0 : (now - begun) / 1_000,
    refusedBy,
    types,
    fileCount,
    files,
    errors: {
      folder: errorFileCount === 0 ? null : errorFolder,
      fileCount: errorFileCount,
      files: errorFiles,
      leftOut: gathered.errorsLeftOut,
    },
    samples,
  }
}
