import { type Context, SluiceError } from 'sluice'
import type { ChunkData } from './chunk-data.ts'
import type { Attachment, JobData } from './job-data.ts'
import { leavesOf, namedSecrets } from './redaction.ts'
import type { StepJob } from './step.ts'

/** What steps need of their job. None of it ever changes, so a chunk does not have to read its job's row each time. */
export interface JobAtHand {
  readonly job: StepJob
  readonly attachments: readonly Attachment[]
  readonly attachmentFolder: string | null
  /** Values that no message may hold. */
  readonly secrets: readonly string[]
}

/** The jobs that were needed last. */
export class JobsAtHand {
  readonly #jobs = new Map<number, JobAtHand>()
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  find(id: number | null): JobAtHand | undefined {
    return id === null ? undefined : this.#jobs.get(id)
  }

  async load(context: Context<ChunkData>): Promise<JobAtHand> {
    const parent = await context.parent()
    if (!parent) throw new SluiceError('not_found', `The job of chunk ${context.entity.id} is gone.`)
    const data = JSON.parse(parent.data) as JobData
    const { definition, version, parameters, collection, roots = null, attachments, attachmentFolder } = data
    const job: JobAtHand = {
      job: { id: parent.id, definition, version, parameters, collection, roots },
      attachments,
      attachmentFolder,
      secrets: [...(data.secrets ?? []).flatMap((path) => textsAt(parameters, path)), ...namedSecrets(parameters)],
    }
    this.#jobs.delete(parent.id)
    this.#jobs.set(parent.id, job)
    const oldest = this.#jobs.keys().next()
    if (this.#jobs.size > this.#max && !oldest.done) this.#jobs.delete(oldest.value)
    return job
  }
}

/** A path to an object stands for all that is in it. */
function textsAt(value: unknown, path: readonly string[]): readonly string[] {
  let found = value
  for (const key of path) found = (found as Readonly<Record<string, unknown>> | null | undefined)?.[key]
  return leavesOf(found).map(({ text }) => text)
}
