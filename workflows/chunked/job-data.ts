import { z } from 'zod'

/** How many chunks may fail before the job does. */
export const tolerance = z.union([
  z.strictObject({ failures: z.int().min(0) }),
  z.strictObject({ percent: z.number().min(0).max(100) }),
])

export type Tolerance = z.infer<typeof tolerance>

const planStep = z.strictObject({
  id: z.string(),
  gated: z.boolean(),
  /** For a step that polls: how long after its birth a chunk is first looked at. */
  pollAfterMs: z.number().nullable(),
  /** Label of its chunks, if their number at work is limited. */
  limit: z.string().nullable(),
  weight: z.number().nullable(),
})

/**
 * What a job was started with: its rules do not change under it, and any process can judge it, also one that does not know its
 * definition.
 */
export const plan = z.strictObject({
  steps: z.array(planStep).min(1),
  reducer: z.string().nullable(),
  reducerWeight: z.number().nullable(),
  tolerance,
  /** Whether somebody wants to be told of this end. */
  tells: z.strictObject({ completed: z.boolean(), failed: z.boolean() }),
})

export type Plan = z.infer<typeof plan>

export const attachment = z.strictObject({
  name: z.string(),
  contentType: z.string().nullable(),
  bytes: z.int(),
  sha256: z.string(),
})

export type Attachment = z.infer<typeof attachment>

export const jobData = z.strictObject({
  definition: z.string(),
  version: z.int(),
  parameters: z.unknown(),
  /** Where secrets stand in the parameters: views hide them. Absent: none is known. */
  secrets: z.array(z.array(z.string())).optional(),
  plan,
  /** Label: whose it is. Holds and rights go by it. */
  collection: z.string().nullable(),
  /** Steps may use files and folders below these only; absent: any. The job keeps them, so that every worker knows. */
  roots: z.array(z.string()).optional(),
  attachments: z.array(attachment),
  /** Where the attachments lie; a label, so that nothing is removed that a job still names. */
  attachmentFolder: z.string().nullable(),
  /** The first step that is not complete: gates up to here are open. Null: not begun, or all are complete. */
  currentStep: z.string().nullable(),
  startTime: z.number().nullable(),
  endTime: z.number().nullable(),
  /** When each step became the current one. */
  stepTimes: z.record(z.string(), z.number()),
  /** Failures that have been seen and are within the tolerance. */
  toleratedFailures: z.int(),
  errorMessage: z.string().nullable(),
  report: z.unknown(),
  /** How the last rerun began: chunks by verdict. */
  rerun: z.record(z.string(), z.int()).nullable(),
  /** What became of the completion or error handler. */
  handler: z.strictObject({ key: z.string(), at: z.number(), error: z.string().nullable() }).nullable(),
})

export type JobData = z.infer<typeof jobData>
