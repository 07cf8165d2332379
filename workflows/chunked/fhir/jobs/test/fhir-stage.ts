import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JobDefinition } from 'sluice/chunked'
import type { JobView } from '../../../job-view.ts'
import { Stage, type StageOptions, type StoreKind } from '../../../test/stage.ts'
import { type FhirJobs, type FhirJobsOptions, fhirJobs } from '../fhir-jobs.ts'

/** The FHIR jobs on an engine, in a folder of their own. All is removed at the end. */
export class FhirStage implements AsyncDisposable {
  readonly stage: Stage
  readonly jobs: FhirJobs
  readonly folder: string

  private constructor(stage: Stage, jobs: FhirJobs, folder: string) {
    this.stage = stage
    this.jobs = jobs
    this.folder = folder
  }

  static async open(
    kind: StoreKind,
    { limits, ...options }: Omit<FhirJobsOptions, 'folder'> = {},
    stageOptions: StageOptions = {},
  ): Promise<FhirStage> {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-fhir-'))
    // Waiting costs a test time and proves nothing.
    const jobs = await fhirJobs({ folder: join(folder, 'fhir'), limits: { retryMs: 1, ...limits }, ...options })
    return new FhirStage(await Stage.open(kind, jobs.definitions, stageOptions), jobs, folder)
  }

  /** A path in the folder of this stage. */
  at(...names: readonly string[]): string {
    return join(this.folder, ...names)
  }

  job(id: string): JobDefinition {
    return this.jobs.definitions.find((definition) => definition.id === id)!
  }

  /** Runs a job to its end, and gives its report if it is completed. */
  async run<R>(id: string, parameters: unknown): Promise<JobView & { readonly report: R }> {
    return (await this.stage.run(this.job(id), parameters)) as JobView & { readonly report: R }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stage[Symbol.asyncDispose]()
    await this.jobs.stop()
    await rm(this.folder, { recursive: true, force: true })
  }
}
