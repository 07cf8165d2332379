import type { JobDefinition } from 'sluice/chunked'
import { definitionsIn } from './job-modules.ts'

/** The jobs that a process knows, and what has to be stopped when it ends. */
export interface KnownJobs {
  readonly definitions: readonly JobDefinition[]
  stop(): Promise<void>
}

export interface JobSources {
  /** What jobs keep beside the store. */
  readonly folder: string
  /** Modules of the user's. */
  readonly jobs?: readonly string[]
}

/** The jobs that come with the package, and those of the user. */
export async function knownJobs({ folder, jobs = [] }: JobSources): Promise<KnownJobs> {
  const own: JobDefinition[] = []
  for (const file of jobs) own.push(...(await definitionsIn(file)))
  const builtIn = await builtInJobs(folder)
  return { definitions: [...builtIn.definitions, ...own], stop: () => builtIn.stop() }
}

async function builtInJobs(folder: string): Promise<KnownJobs> {
  const { fhirJobs } = (await import('sluice/fhir')) as unknown as {
    fhirJobs?: (options: { readonly folder: string }) => Promise<KnownJobs>
  }
  return fhirJobs ? fhirJobs({ folder }) : { definitions: [], stop: async () => {} }
}
