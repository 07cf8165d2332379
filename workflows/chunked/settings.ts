import { defaultLimits, SluiceError } from 'sluice'

/** Everything has a limit. */
export interface ChunkedLimits {
  /** Warnings that a chunk keeps word for word; the rest is counted. */
  readonly warningsMax: number
  /** Characters of a warning or of a chunk's error. */
  readonly messageMax: number
  /** Bytes of a list that is gathered for one chunk, and of what one chunk gives a reducer. */
  readonly listBytesMax: number
  /** Bytes of one attachment, and how many a job has. */
  readonly attachmentBytesMax: number
  readonly attachmentsMax: number
  /** How soon another process may take up a chunk whose definition is not known here. This one leaves the job alone from then on. */
  readonly unknownMs: number
  /** Jobs whose parameters are kept at hand. */
  readonly jobsAtHand: number
  /** Outputs after which a reducer saves how far it is. */
  readonly reduceEvery: number
}

export const defaultChunkedLimits: ChunkedLimits = {
  warningsMax: 20,
  messageMax: 500,
  listBytesMax: Math.floor(defaultLimits.dataBytesMax * 0.75),
  attachmentBytesMax: 10 * 1024 ** 3,
  attachmentsMax: 100,
  unknownMs: 100,
  jobsAtHand: 200,
  reduceEvery: 10_000,
}

export function chunkedLimits(given: Partial<ChunkedLimits> = {}): ChunkedLimits {
  const faults = Object.entries(given).flatMap(([name, value]) => {
    if (!Object.hasOwn(defaultChunkedLimits, name)) return [`there is no limit ${name}`]
    return value === undefined || (Number.isFinite(value) && value > 0)
      ? []
      : [`${name} must be a number above 0; it was ${value}`]
  })
  if (faults.length > 0) throw new SluiceError('invalid', `The limits do not fit: ${faults.join('; ')}.`, { faults })
  const said = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  return { ...defaultChunkedLimits, ...said }
}
