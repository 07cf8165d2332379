import { SluiceError } from 'sluice'
import { z } from 'zod'

/** What a user may set of the family; all of it has a default. */
export interface UploadLimits {
  /** Size of an uploaded file, received and inflated. */
  readonly fileBytesMax: number
  readonly itemBytesMax: number
  readonly depthMax: number
  /** A batch or an item that failed so often is not retried any more. */
  readonly retriesMax: number
  /** How long after its last failure a batch or an item may be retried. */
  readonly retryWindowMs: number
  /** Elements that are extracted, and items that are looked at, in one group. */
  readonly groupMax: number
  /** Samples that an error summary keeps of each reason. */
  readonly samplesMax: number
}

export const defaultUploadLimits: UploadLimits = {
  fileBytesMax: 10 * 1024 ** 3,
  itemBytesMax: 1024 ** 2,
  depthMax: 32,
  retriesMax: 3,
  retryWindowMs: 24 * 3_600_000,
  groupMax: 1_000,
  samplesMax: 3,
}

const positive = z.number().int().positive()
const schema = z.strictObject({
  fileBytesMax: positive,
  itemBytesMax: positive,
  depthMax: positive.max(1_000),
  retriesMax: z.number().int().nonnegative(),
  retryWindowMs: positive,
  groupMax: positive.max(1_000),
  samplesMax: z.number().int().nonnegative().max(20),
})

export function uploadLimits(given: Partial<UploadLimits> = {}): UploadLimits {
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  const parsed = schema.safeParse({ ...defaultUploadLimits, ...set })
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'limits'}: ${issue.message}`)
  throw new SluiceError('invalid', `The limits of uploads do not fit: ${faults.join('; ')}.`, { faults })
}
