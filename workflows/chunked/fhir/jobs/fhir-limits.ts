import { SluiceError } from 'sluice/errors'

/** Everything has a limit. */
export interface FhirLimits {
  /** Files of one import. */
  readonly filesMax: number
  /** Of one file, as it comes and unpacked. */
  readonly fileBytesMax: number
  /** Bytes of a file that are one chunk of work, up to the end of the line. */
  readonly rangeBytes: number
  /** Lines and bytes that are checked and stored together. */
  readonly groupLines: number
  readonly groupBytes: number
  /** Ranges that are worked on at once. Checking is done by one thread in each process. */
  readonly importConcurrency: number
  /** Bad lines of one range that are written down; the rest is counted. */
  readonly errorLinesMax: number
  /** Bad lines and files that a report tells of one by one. */
  readonly samplesMax: number
  readonly filesToldMax: number
  /** One request for a file, and how long a silent server is waited for. */
  readonly downloadMs: number
  readonly idleMs: number
  /** Bytes after which a download is made durable. */
  readonly saveBytes: number
  /** How often one attempt goes on after a cut connection. */
  readonly resumesMax: number
  /** The first wait after something went wrong; later ones are longer. */
  readonly retryMs: number
  /** Downloads of jobs that never ended are removed after so long. */
  readonly downloadKeepMs: number
  /** Resources in one file of an export, unless that made more files than filesMax of them. */
  readonly exportResources: number
  readonly exportFilesMax: number
  /** Resources that are indexed together. */
  readonly reindexGroup: number
}

export const defaultFhirLimits: FhirLimits = {
  filesMax: 100_000,
  fileBytesMax: 100 * 1024 ** 3,
  rangeBytes: 4 * 1024 * 1024,
  groupLines: 1_000,
  groupBytes: 1024 * 1024,
  importConcurrency: 2,
  errorLinesMax: 10_000,
  samplesMax: 20,
  filesToldMax: 100,
  downloadMs: 6 * 60 * 60_000,
  idleMs: 60_000,
  saveBytes: 16 * 1024 * 1024,
  resumesMax: 50,
  retryMs: 250,
  downloadKeepMs: 7 * 24 * 60 * 60_000,
  exportResources: 50_000,
  exportFilesMax: 500,
  reindexGroup: 1_000,
}

export function fhirLimits(given: Partial<FhirLimits> = {}): FhirLimits {
  const faults = Object.entries(given).flatMap(([name, value]) => {
    if (!Object.hasOwn(defaultFhirLimits, name)) return [`there is no limit ${name}`]
    return Number.isSafeInteger(value) && value > 0 ? [] : [`${name} must be a whole number above 0; it was ${value}`]
  })
  if (faults.length > 0) throw new SluiceError('invalid', `The limits do not fit: ${faults.join('; ')}.`, { faults })
  return { ...defaultFhirLimits, ...given }
}
