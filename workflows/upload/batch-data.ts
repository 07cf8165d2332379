import { z } from 'zod'

const time = z.number().int().nonnegative()
const count = z.number().int().nonnegative()

const failure = z.object({
  reason: z.string(),
  error: z.string().nullable(),
  /** For operators only: a view for others leaves it out. */
  stackTrace: z.string().nullable(),
  processor: z.string().nullable(),
  attempt: count,
  state: z.string(),
  failedAt: time,
  actor: z.string().nullable(),
  /** The failure told in one text: what, where, and how far the batch had come. */
  report: z.string(),
})

const sample = z.object({ itemIndex: count, hnId: z.number().nullable(), message: z.string() })

const errorSummary = z.object({
  total: count,
  /** Whether any of the failed items may be tried again, and may then succeed. */
  retryable: z.boolean().optional(),
  byReason: z.array(z.object({ reason: z.string(), count, samples: z.array(sample) })),
})

const resultSummary = z.object({
  total: count,
  completed: count,
  failed: count,
  skipped: count,
  /** Completed items that replaced an older version of themselves. */
  merged: count,
  /** Completed items whose parent has not been seen by now. */
  unresolvedLinks: count,
  seconds: z.number(),
  itemsPerSecond: z.number(),
})

/**
 * Data of an upload batch, under the names of the functional requirement. Counts in here are snapshots that processors
 * took of the tallies; what is shown to people is always read from the tallies themselves (batch-view.ts).
 */
export const batchData = z.object({
  fileName: z.string(),
  uploadedBy: z.string(),
  /** Whose it is: holds and rights go by it. */
  collection: z.string().optional(),
  sha256: z.string(),
  /** Random: tells this batch from those of all other stores. */
  identity: z.string().optional(),
  /** Number of the stored file; its items name it. */
  file: count,
  /** What was found while receiving; the init processor makes it the batch's own. */
  received: z.object({
    fileSize: count,
    md5: z.string(),
    contentType: z.string(),
    storedBytes: count,
    /** Of the file as it is stored; absent in batches from before it was kept. */
    storedSha256: z.string().optional(),
    at: time,
  }),
  fileSize: count.optional(),
  contentType: z.string().optional(),
  fileMd5Hash: z.string().optional(),
  uploadedAt: time.optional(),
  processingStartedAt: time.optional(),
  processingCompletedAt: time.nullish(),
  estimatedCompletionTime: time.nullish(),
  totalItemsInFile: count.optional(),
  itemsProcessed: count.optional(),
  itemsErrored: count.optional(),
  itemsSkipped: count.optional(),
  /** What validation found: the form of the file, and how many items lack what is required. */
  validation: z
    .object({ form: z.string().nullable(), withoutId: count, withoutType: count, fault: z.string().nullable() })
    .optional(),
  resultSummary: resultSummary.nullish(),
  errorSummary: errorSummary.nullish(),
  failure: failure.nullish(),
  retryCount: count.optional(),
  lastRetryAt: time.nullish(),
  /** Of the last retry of failed items. */
  itemRetry: z.object({ retried: count, refused: count, at: time, sentence: z.string() }).nullish(),
  /** Null: nobody is to be told. Neither sent nor waiting: every attempt failed, or another cannot help. */
  notification: z
    .object({
      sent: z.boolean(),
      waiting: z.boolean().optional(),
      /** What the last attempt that failed said. */
      error: z.string().nullable(),
      /** When it was sent or given up; while it waits, when it was asked for. */
      at: time,
      attempts: count.optional(),
    })
    .nullish(),
  /** What the last attempt threw: becomes part of the failure if no attempt succeeds. */
  lastError: z.object({ message: z.string(), stack: z.string(), processor: z.string(), attempt: count }).nullish(),
})

export type BatchData = z.infer<typeof batchData>
export type BatchFailure = z.infer<typeof failure>
export type ErrorSummary = z.infer<typeof errorSummary>
export type ResultSummary = z.infer<typeof resultSummary>

/** What was found while the file was received, as fields of the batch. */
export function metadataOf({ received }: BatchData) {
  const { at, fileSize, md5, contentType } = received
  return { uploadedAt: at, fileSize, fileMd5Hash: md5, contentType } satisfies Partial<BatchData>
}
